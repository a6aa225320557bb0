"""Small models made on the spot, run by Fathom and by ONNX Runtime."""
import os
import pathlib
import random
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from bounds import assert_within
from fathom.compare import tolerance as allowed
from onnx import TensorProto, helper, numpy_helper

import fathom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cross"))
import targets  # noqa: E402

targets.install()

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def make_model(nodes, inputs, weights, outputs=("y",)):
    """A model of these nodes; inputs and weights are arrays by name."""
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, [numpy_helper.from_array(w, n) for n, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def reference(model):
    """Runs the model by ONNX Runtime."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def other_inputs(inputs, scale):
    """Different numbers of the same kind: floats change, integers, which may be indices or sizes, only where there is nothing else."""
    floats = any(array.dtype.kind == "f" for array in inputs.values())

    def other(array):
        if array.dtype.kind == "f":
            return np.asarray(array * scale + 0.3, array.dtype)
        return array if floats else np.flip(array).copy() if array.ndim else np.asarray(array + 1)

    return {name: other(array) for name, array in inputs.items()}


def assert_inputs_matter(run, inputs, expected, allowed):
    """A comparison that the outputs of any input would pass shows nothing: those of another input differ by more than is allowed."""
    if not any(want.size for want in expected) or not any(array.size for array in inputs.values()):
        return

    def is_apart(got, want):
        return got.shape != want.shape or bool((np.abs(got.astype(np.float64) - want.astype(np.float64)) > allowed(want)).any())

    # Some may be of no effect: a ReLU can leave nothing of several in a row.
    scales = (-0.7, -5, 5, -50, 50)
    apart = (any(is_apart(got, want) for got, want in zip(run(other_inputs(inputs, scale)), expected, strict=True)) for scale in scales)
    assert any(apart), "six inputs give outputs that the tolerance cannot tell apart"


def compare(nodes, inputs, weights, outputs=("y",), tolerance=2e-5, same_for_all_inputs=None, **options):
    """Runs the model at one and two threads and compares with ONNX Runtime; the same bits at both. Another input gives outputs further apart
    than the tolerance, unless `same_for_all_inputs` says why not. Options are those of fathom.compile.

    Elements are as large as those beside them (fathom.compare.tolerance); a single product or convolution keeps its bounds.
    """
    model = make_model(nodes, inputs, weights, outputs)
    run = reference(model)
    expected = run(inputs)
    artifact = fathom.compile(model, **options)
    one, two = (fathom.Session(artifact, threads=threads).run(None, inputs) for threads in (1, 2))
    for got, other, want in zip(one, two, expected, strict=True):
        assert got.tobytes() == other.tobytes(), "results depend on the thread count"
        assert got.shape == want.shape and got.dtype == want.dtype
        assert_close(got, want, tolerance)
    if len(nodes) == 1 and nodes[0].op_type in ("MatMul", "Gemm", "Conv") and "plan" not in options:
        assert_within(one[0], nodes[0], [(inputs | weights)[name] for name in nodes[0].input], **options)
    if not same_for_all_inputs:
        assert_inputs_matter(run, inputs, expected, lambda want: permitted(np.abs(want), tolerance))


def permitted(magnitude, tolerance):
    return np.maximum(allowed(magnitude, 1e-3, tolerance, negligible=0.1), 1e-6 * tolerance)


def assert_close(got, want, tolerance):
    """NaN and infinities agree, and all others as far as fathom.compare says, where few elements may be the small end of large ones."""
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    gap = np.abs(np.where(finite, got, 0).astype(np.float64) - np.where(finite, want, 0))
    excess = gap / permitted(np.abs(np.where(finite, want, 0)), tolerance)
    assert excess.max(initial=0) <= 1, f"{excess.max():.2f} times the tolerance at {np.unravel_index(excess.argmax(), excess.shape)}"


def round_trip(proto, folder, **options):
    """Files of a model's plan and artifact; the plan, given back, makes the same artifact. Options are those of fathom.compile."""
    plan, artifact, again = folder / "plan", folder / "first.fathom", folder / "second.fathom"
    fathom.compile(proto, output=str(plan), emit="plan", **options)
    fathom.compile(proto, output=str(artifact), **options)
    kept = {name: value for name, value in options.items() if name in ("fp", "target")}
    fathom.compile(proto, output=str(again), plan=str(plan), **kept)
    assert artifact.read_bytes() == again.read_bytes()
    return plan, artifact


def is_aarch64(plan):
    """Whether that is what a plan is for."""
    return re.search(r"(?m)^target: +'?aarch64", plan) is not None


@pytest.fixture
def pinned(request):
    """The test compiles for a CPU that is the same on every machine of the architecture: what it says of schedules holds on all."""
    if "both" in request.fixturenames:
        yield
        return
    with targets.default(targets.of_tests()) as target:
        yield target


@pytest.fixture(params=targets.BOTH)
def both(request):
    """The test compiles for both architectures, whatever this machine is."""
    with targets.default(request.param) as target:
        yield target


def pytest_collection_modifyitems(config, items):
    targets.sample(config, items)


@pytest.fixture
def seed(request):
    """A fresh seed for every run, printed with a failure; FATHOM_TEST_SEED repeats one."""
    value = int(os.environ.get("FATHOM_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={value}")
    return value


@pytest.fixture(name="random")
def numbers(seed):
    """Random numbers that are fresh in every run."""
    return np.random.default_rng(seed)
