"""The program that measures kernels does so on either architecture, without anything of the compiler."""
import subprocess

import pytest
from support import emulation
from support.tool import ROOT


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_measures_kernels(architecture, tmp_path):
    kernels = tmp_path / "kernels.so"
    compiler = emulation.prefix_of(architecture) + "gcc"
    emulation.command(compiler, "-shared", "-fPIC", "-O1", "-w", "-I", ROOT / "runtime", ROOT / "tests/unit/measure/kernels/kernels.c", "-o", kernels)
    code = kernels.read_bytes()
    text = b"group\nthreads 2\nruns 3\nseconds 1\nhang 3\ncompare 1e-3\n"
    for symbol in ("copy", "crash", "hang", "wrong", "nobody"):
        text += f"kernel {symbol} 64 4096\nobject {len(code)}\n".encode() + code
        text += b"buffer 256 float32 read\nbuffer 256 float32 written\nsymbol 10\n"
    done = subprocess.run(emulation.program(architecture, "fathom-measure"), input=text + b"measure\n", capture_output=True)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == "fathom-measure 1" and lines[-1] == "done"
    found = dict(line.split()[1:3] for line in lines if line.startswith("kernel "))
    assert found == {"0": "ok", "1": "crashed", "2": "hung", "3": "wrong", "4": "refused"}


@pytest.mark.parametrize("text, answer", [
    ("", None),
    ("measure\n", "error not a group: 'measure'"),
    ("group\nthreads none\n", "error not understood: 'threads none'"),
    ("group\nbuffer 4 float32 read\n", "error not understood: 'buffer 4 float32 read'"),
    ("group\nkernel k 1 0\nbuffer 4 number read\n", "error not understood: 'buffer 4 number read'"),
    ("group\nkernel k 1 0\nobject 10\nshort", "error not understood: 'object 10'"),
    ("group\nthreads 1\n", "error the group has no end"),
    ("group\nmeasure\n", "done"),
])
def test_says_what_it_does_not_understand(text, answer):
    done = subprocess.run(emulation.program(emulation.HOST, "fathom-measure"), input=text, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines == ["fathom-measure 1"] + ([answer] if answer else [])
    assert done.returncode == (1 if answer and answer.startswith("error") else 0)
