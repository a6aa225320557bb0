"""Calls with hostile sizes, indices and descriptions of tensors give ONNX Runtime's answer or an error, never a memory error.

A program of its own makes the calls, with a runtime built with the address and undefined-behaviour sanitizers and all memory between pages
that may not be touched. FATHOM_TEST_SEED repeats a test, FATHOM_TEST_CALLS makes it longer."""
import os
import random as system_random
import resource
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hostile_models import MODELS, B, F, I

import fathom
from support.compare import assert_close

CALLS = int(os.environ.get("FATHOM_TEST_CALLS", 12000))
RUNNER = Path(os.environ.get("FATHOM_HOSTILE_RUNNER", Path(__file__).parents[2] / "build-asan/bin/hostile_runner"))
DTYPES = {F: np.float32, I: np.int64, B: np.bool_}
LOW, HIGH = -(2**63), 2**63 - 1
HUGE = [LOW, LOW + 1, -(2**62), -(2**46), -(2**31) - 1, -(2**31), 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**46, 2**46 + 1, 2**61, 2**62, HIGH - 1, HIGH]
# Loops run as often as they are told to: a huge count is a long run, not a mistake.
COUNTS = {"m", "least"}
# Complaints of ONNX Runtime about the size of a result, which may be right all the same, as where it has no elements.
REFERENCE_LIMITS = ["allocate memory", "exceeds the supported maximum"]


class Given:
    """What a call says of an input: the numbers need not agree with each other."""

    def __init__(self, array):
        self.dtype = {np.dtype(v): k for k, v in DTYPES.items()}[array.dtype]
        self.dims, self.data, self.expected = list(array.shape), array.tobytes(), (self.dtype, array.ndim)

    def lie(self, random):
        kind = random.integers(6)
        if kind == 0:
            self.dtype = int(random.choice([-1, 0, 1, 2, 6, 7, 8, 9, 10, 16, 99, 2**31 - 1]))
        elif kind == 1:
            self.dims = self.dims[1:] if self.dims and random.integers(2) else [1, *self.dims]
        elif kind == 2:
            self.data = self.data[: random.integers(len(self.data) + 1)]
        elif self.dims:
            axis = random.integers(len(self.dims))
            self.dims[axis] = int(random.choice([-1, 0, 0, 1, 4] + HUGE)) if kind < 5 else self.dims[axis] + int(random.integers(-2, 3))

    def array(self):
        """The tensor that is described, or None where there is none."""
        if (self.dtype, len(self.dims)) != self.expected or not all(0 <= size < 2**31 for size in self.dims):
            return None
        count = int(np.prod([1, *self.dims], dtype=object))
        if count * np.dtype(DTYPES[self.dtype]).itemsize > len(self.data):
            return None
        return np.frombuffer(self.data, DTYPES[self.dtype], count).reshape(self.dims)

    def __repr__(self):
        array = self.array()
        return f"{array.tolist()}" if array is not None and 0 < array.size < 9 else f"({self.dtype}, {self.dims}, {len(self.data)} bytes)"


def shaped(data, dtype, dims):
    """The tensor, or None where NumPy has none: it refuses some huge sizes beside a size of zero."""
    try:
        return np.frombuffer(data, dtype).reshape(dims)
    except ValueError:
        assert 0 in dims, dims
        return None


class Runner:
    """The program that makes the calls."""

    def __init__(self, artifacts, log):
        options = {"ASAN_OPTIONS": "allocator_may_return_null=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        self.log = log
        self.process = subprocess.Popen([RUNNER, *artifacts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("wb"), env=os.environ | options)

    def read(self, form):
        size = struct.calcsize("=" + form)
        data = self.process.stdout.read(size)
        if len(data) < size:
            pytest.fail(f"the runner ended with {self.process.wait()}\n{self.log.read_text()[-6000:]}")
        return struct.unpack("=" + form, data)

    def call(self, model, context, inputs):
        """The outputs, or the number of the error and its message."""
        words = [struct.pack("=ii", model, context)]
        for given in inputs:
            words += [struct.pack(f"=iiq{len(given.dims)}q", given.dtype, len(given.dims), len(given.data), *given.dims), given.data]
        try:
            self.process.stdin.write(b"".join(words))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        (code,) = self.read("i")
        if code:
            (length,) = self.read("i")
            return code, self.read(f"{length}s")[0].decode()
        outputs = []
        for _ in range(len(list(MODELS.values())[model].graph.output)):
            dtype, rank = self.read("ii")
            dims = self.read(f"{rank}q")
            size = 0 if 0 in dims else int(np.prod([1, *dims])) * np.dtype(DTYPES[dtype]).itemsize
            outputs.append(shaped(self.read(f"{size}s")[0], DTYPES[dtype], dims))
        return outputs

    def end(self):
        """All must be well to the end: memory that nobody freed counts too."""
        self.process.stdin.close()
        assert self.process.wait() == 0, self.log.read_text()[-6000:]


def integers(random, name, shape):
    if name in COUNTS:
        return np.array(int(random.choice([-5, 0, 1, 2, 7, LOW, -(2**46)])))
    kind = random.integers(5)
    if kind == 4:
        return random.integers(-1, 2, shape)
    small = random.integers(-9 if kind else 0, 10, shape)
    if kind < 2:
        return small
    wild = np.array(random.choice(np.array(HUGE, object), shape), np.int64).reshape(shape)
    return np.where(random.random(shape) < 0.5, wild, small)


def inputs_for(proto, random):
    sizes, inputs = {}, {}
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        choices = [0, 1, 2, 3, 5, 7, 13]
        shape = [dim.dim_value if not dim.dim_param else sizes.setdefault(dim.dim_param, int(random.choice(choices))) for dim in tensor.shape.dim]
        if tensor.elem_type == I:
            array = integers(random, value.name, tuple(shape))
            # Lengths that go with the axis they divide hardly ever come by chance.
            if value.name == "l" and len(shape) == 1 and shape[0] and random.integers(3) == 0:
                array = random.multinomial(sizes["b"], np.full(shape[0], 1 / shape[0]))
        else:
            array = (4 * random.standard_normal(shape)).astype(np.float32)
            array = array > 0 if tensor.elem_type == B else array
        inputs[value.name] = Given(np.asarray(array, DTYPES[tensor.elem_type]).reshape(shape))
    if random.integers(8) == 0:
        inputs[str(random.choice(list(inputs)))].lie(random)
    return inputs


def any_size(proto):
    """Options that let the named sizes be 0, too."""
    names = {dim.dim_param for value in proto.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    return [f"{name}=0..{2**31 - 1}" for name in sorted(names)]


def compare(name, feed, got, reference):
    # ONNX Runtime takes the largest integer for the start when a slice goes backwards.
    if name == "slice" and feed["q"][1] in (HIGH, 2**31 - 1):
        return
    # ONNX does not say what a mask longer than the axis selects.
    if name == "compress" and len(feed["m"]) > feed["x"].shape[1]:
        return
    if name == "range":
        # Exactly: ONNX Runtime computes in doubles.
        want = [np.array(range(*(int(feed[name]) for name in "pqr")), np.int64)]
    else:
        try:
            want = reference.run(None, feed)
        except Exception as error:
            # It refuses huge sizes, or indices that nothing is read at, also where the result has no elements.
            is_right = not any(array.size for array in got) or any(limit in str(error) for limit in REFERENCE_LIMITS)
            assert is_right, f"an answer where ONNX Runtime says: {error}"
            return
    for x, y in zip(got, want, strict=True):
        # What no iteration gave has no sizes; ONNX does not say which.
        if name == "loop stack" and len(y) == 0 == len(x):
            continue
        assert_close(x, y, "sum", name)


@pytest.fixture
def little_memory():
    """A huge tensor is an error of ONNX Runtime and not a machine out of memory."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    yield lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, limits[1]))
    resource.setrlimit(resource.RLIMIT_AS, limits)


def make_call(runner, index, inputs, context, reference):
    """Whether there was an answer, which then was right."""
    name = list(MODELS)[index]
    got = runner.call(index, context, inputs.values())
    feed = {key: given.array() for key, given in inputs.items()}
    if isinstance(got, tuple):
        assert got[0] != 7001, got[1]
        return False
    assert all(array is not None for array in feed.values()), "an answer to a tensor that cannot be"
    if all(array is not None for array in got):
        compare(name, feed, got, reference)
    return True


def test_hostile_calls(tmp_path, little_memory, capsys):
    seed = int(os.environ.get("FATHOM_TEST_SEED", system_random.SystemRandom().randrange(1 << 31)))
    with capsys.disabled():
        print(f"{CALLS} calls; repeat with FATHOM_TEST_SEED={seed}")
    assert RUNNER.exists(), f"{RUNNER} is missing: ./dev test asan-calls builds it"
    names, references, artifacts = list(MODELS), [], []
    for i, proto in enumerate(MODELS.values()):
        references.append(onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]))
        artifacts.append(tmp_path / f"{i}.fathom")
        fathom.compile(proto, artifacts[-1], dim=any_size(proto))
    runner = Runner(artifacts, tmp_path / "runner.txt")
    little_memory()
    answers = dict.fromkeys(MODELS, 0)
    for call in range(CALLS):
        random = np.random.default_rng([seed, call])
        index = call % len(names)
        inputs = inputs_for(MODELS[names[index]], random)
        try:
            answers[names[index]] += make_call(runner, index, inputs, int(random.integers(2)), references[index])
        except BaseException:
            print(f"call {call} of seed {seed}: {names[index]} {inputs}")
            raise
    runner.end()
    print(f"answers: {answers}")
    assert all(answers.values()), f"some models answered no call: {answers}"
