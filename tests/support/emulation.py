"""Runs artifacts for CPUs that this machine is not, under qemu's user-mode emulation.

After `install`, fathom.Session takes artifacts for any architecture: one that this CPU cannot run is run by the program `serve` of
`tests/cross`, emulated. Nothing else changes, so that every test can be made one of another target.

Needs qemu-user and the other architecture's C++ compiler, which `./dev test` installs.
"""
import fcntl
import functools
import os
import platform
import shutil
import struct
import subprocess
import tempfile
import types

import pytest

import fathom
import fathom.model
from fathom import _runtime
from fathom.errors import raise_status
from support.tool import BUILD, ROOT

HERE = ROOT / "tests" / "cross"
HOST = platform.machine()
# By the number that an ELF file has for it.
ARCHITECTURES = {62: "x86_64", 183: "aarch64"}
UNSUPPORTED_CPU = "F5001"


def command(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"


def prefix_of(architecture):
    """What the names of an architecture's compilers begin with."""
    return f"{architecture}-linux-gnu-" if architecture != HOST else ""


@functools.cache
def program(architecture, name, cpu="max"):
    """The words that start a program of this folder for an architecture and its emulated CPU; it is built first."""
    prefix = prefix_of(architecture)
    for tool in (prefix + "g++", f"qemu-{architecture}"):
        assert shutil.which(tool), f"{tool} is missing; ./dev test installs it"
    folder = BUILD / "cross" / architecture
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests may run beside this one
        command("cmake", "-S", HERE, "-B", folder, "-G", "Ninja", f"-DCMAKE_C_COMPILER={prefix}gcc", f"-DCMAKE_CXX_COMPILER={prefix}g++")
        command("cmake", "--build", folder, "--target", name)
    libraries = ["-L", f"/usr/{architecture}-linux-gnu"] if prefix else []
    return [f"qemu-{architecture}", "-cpu", cpu, *libraries, str(folder / name)]


def architecture_of(path):
    """Of an artifact; the host's where the file is none, so that the runtime says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return HOST
    known = head.startswith(b"\x7fELF") and len(head) == 20
    return ARCHITECTURES.get(struct.unpack("<H", head[18:20])[0], HOST) if known else HOST


STRING = 8  # ONNX's number of the type


class EmulatedModel:
    """What fathom._runtime.Model and a Runner of it are, in a process of another architecture."""

    def __init__(self, path, architecture, threads=1, cpu="max"):
        path = os.fsdecode(path)
        self._arguments, self._is_lent, self._asked = (path, architecture), False, threads
        self._cpu = cpu
        # What is open here has another number there.
        if path.startswith("/proc/self/fd/"):
            path = path.replace("self", str(os.getpid()), 1)
        self._said = tempfile.TemporaryFile()
        words = [*program(architecture, "serve", cpu), path, str(threads)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        self._status()
        self._status()
        self._manifest, self._threads = self._text().decode(), self._number()
        self._inputs = [self._tensor() for _ in range(self._number())]
        self._outputs = [self._tensor() for _ in range(self._number())]
        self._symbols = [(self._text().decode(), self._number(), self._number()) for _ in range(self._number())]
        # It has no access to the texts of this one.
        if any(tensor["dtype_code"] == STRING for tensor in self._inputs + self._outputs):
            pytest.skip("strings are not passed to an emulated program")

    def runner(self, threads, device, stream, limit):
        """A process has one context: itself, or another process."""
        if self._is_lent or threads != self._asked:
            return EmulatedModel(*self._arguments, threads, self._cpu)
        self._is_lent = True
        return self

    def __del__(self):
        process = getattr(self, "_process", None)
        if process:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def limit(self):
        return 1

    def _get(self, count):
        data = self._process.stdout.read(count)
        if len(data) != count:
            self._said.seek(0)
            code = self._process.wait()
            raise AssertionError(f"the emulated program ended with {code}: {self._said.read().decode()}")
        return data

    def _number(self):
        return struct.unpack("<q", self._get(8))[0]

    def _numbers(self, count):
        return list(struct.unpack(f"<{count}q", self._get(8 * count)))

    def _text(self):
        return self._get(self._number())

    def _status(self):
        if number := self._number():
            message, node, is_index = self._text().decode(), self._text().decode(), self._number()
            raise_status(number, message, node, bool(is_index))

    def _tensor(self):
        name, dtype, code, rank = self._text().decode(), self._text().decode(), self._number(), self._number()
        dims, symbols = self._numbers(rank), [self._text().decode() for _ in range(rank)]
        shape = tuple(size if size >= 0 else symbol or None for size, symbol in zip(dims, symbols))
        return dict(name=name, dtype=dtype, dtype_code=code, shape=shape, alias=self._number())

    def _ask(self, *parts):
        for part in parts:
            self._process.stdin.write(struct.pack("<q", part) if isinstance(part, int) else part)
        self._process.stdin.flush()

    def inputs(self):
        return self._inputs

    def outputs(self):
        return self._outputs

    def aliases(self):
        return [tensor["alias"] for tensor in self._outputs]

    def symbols(self):
        return self._symbols

    def manifest(self):
        return self._manifest

    def threads(self):
        return self._threads

    def output_dims(self, input_dims):
        if [len(dims) for dims in input_dims] != [len(tensor["shape"]) for tensor in self._inputs]:
            raise ValueError("a shape has the wrong rank")
        self._ask(1, *(size for dims in input_dims for size in dims))
        self._status()
        return [self._numbers(len(tensor["shape"])) for tensor in self._outputs]

    def run(self, inputs, input_dims, outputs, output_dims):
        unknown = [-1 in dims for dims in output_dims]
        self._ask(2, *(size for dims in input_dims for size in dims), *(len(data) for data in inputs), *(data.tobytes() for data in inputs))
        self._ask(*(size for dims in output_dims for size in dims), *(-1 if is_unknown else len(data) for data, is_unknown in zip(outputs, unknown)))
        self._status()
        made = []
        for data, dims, is_unknown in zip(outputs, output_dims, unknown):
            found, result = self._numbers(len(dims)), self._text()
            if is_unknown:
                made.append((found, result))
            else:
                data[:] = memoryview(result)
        return made


    def run_arrays(self, inputs, outputs):
        flat = [[array.reshape(-1).view("u1") for array in arrays] for arrays in (inputs, outputs)]
        self.run(flat[0], [list(array.shape) for array in inputs], flat[1], [list(array.shape) for array in outputs])


def load(path):
    architecture = architecture_of(path)
    if architecture == HOST:
        try:
            return _runtime.Model(path)
        except fathom.Error as error:
            if error.code != UNSUPPORTED_CPU or "needs CPU features" not in str(error):
                raise
    return EmulatedModel(path, architecture)


def session(artifact, threads, architecture, cpu="max"):
    """A session that is emulated, whatever this machine is."""
    native = fathom.model._runtime
    fathom.model._runtime = types.SimpleNamespace(Model=lambda path: EmulatedModel(path, architecture, cpu=cpu))
    try:
        return fathom.Session(artifact, threads)
    finally:
        fathom.model._runtime = native


def install():
    """Makes fathom.Session run artifacts of every architecture."""
    fathom.model._runtime = types.SimpleNamespace(Model=load, check=_runtime.check)
