"""Every class of kernels on a device with OpenCL, PoCL's, against ONNX's reference."""
import os
import tempfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from simt import assert_close, node, random, save, values
from support import models

import fathom

# Programs that were built before are taken from a cache, which must not outlive the compiler that made their source.
os.environ.setdefault("POCL_CACHE_DIR", tempfile.mkdtemp(prefix="pocl-"))


def session_of(tmp_path, nodes, inputs, outputs, weights=()):
    """The model, and a session of it on the device."""
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(weights).items()]
    path = save(tmp_path, nodes, inputs, outputs, weights)
    fathom.compile(path, tmp_path / "model.fathom", target="opencl")
    return onnx.load(path), fathom.Session(tmp_path / "model.fathom")


def like_reference(tmp_path, nodes, inputs, outputs, weights=(), sizes=None, given=None, ulps=4):
    proto, session = session_of(tmp_path, nodes, inputs, outputs, weights)
    numbers = random()
    arrays = {name: values(kind, tuple((sizes or {}).get(d, d) for d in dims), numbers) for name, (kind, dims) in inputs.items()} | (given or {})
    [want], [got] = ReferenceEvaluator(proto).run(None, arrays), session.run(None, arrays)
    assert_close(got, want, ulps)


AXES = {"ReduceSum": [1], "ReduceMean": [0, 2], "ReduceMax": [2], "ReduceMin": [0], "ReduceProd": [1], "ReduceL1": [0, 1, 2], "ReduceL2": [2],
        "ReduceLogSum": [0], "ReduceLogSumExp": [1, 2], "ReduceSumSquare": [2]}  # fmt: skip


@pytest.mark.parametrize("shape", [[3, 5, 7], [1, 1, 1], [2, 600, 3]])
@pytest.mark.parametrize("op", AXES)
def test_reduces(tmp_path, op, shape):
    nodes = [node("Abs", ["x"], "a"), node(op, ["a", "axes"], "r", keepdims=len(op) % 2), node("Neg", ["r"], "y")]
    like_reference(tmp_path, nodes, {"x": ("f", shape)}, {"y": "f"}, {"axes": np.array(AXES[op], "l")}, ulps=200)


@pytest.mark.parametrize("kind", ["i", "l"])
def test_reduces_integers(tmp_path, kind):
    nodes = [node("ReduceSum", ["x", "axes"], "y")]
    like_reference(tmp_path, nodes, {"x": (kind, [3, 50, 7])}, {"y": kind}, {"axes": np.array([1], "l")})


def test_reduces_nothing(tmp_path):
    like_reference(tmp_path, [node("ReduceSum", ["x", "axes"], "y")], {"x": ("f", [3, 0, 7])}, {"y": "f"}, {"axes": np.array([1], "l")})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_finds_extremes(tmp_path, op, last):
    nodes = [node(op, ["x"], "y", axis=1, select_last_index=last)]
    like_reference(tmp_path, nodes, {"x": ("b", [5, 31, 3])}, {"y": "l"}, given={"x": np.arange(465).reshape(5, 31, 3).astype("b") % 7})


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 2])
def test_normalises_rows(tmp_path, op, axis):
    like_reference(tmp_path, [node(op, ["x"], "y", axis=axis)], {"x": ("f", [5, 3, 33])}, {"y": "f"}, ulps=16)


def test_normalises_layers(tmp_path):
    nodes = [node("LayerNormalization", ["x", "s", "b"], "y", axis=1)]
    like_reference(tmp_path, nodes, {"x": ("f", [7, 3, 11]), "s": ("f", [3, 11]), "b": ("f", [3, 11])}, {"y": "f"}, ulps=64)


@pytest.mark.parametrize("op, attributes", [
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}), ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 3], "ceil_mode": 1}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}), ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    ("LpPool", {"kernel_shape": [2, 3], "p": 2}), ("GlobalAveragePool", {}),
])
def test_pools(tmp_path, op, attributes):
    like_reference(tmp_path, [node(op, ["x"], "y", **attributes)], {"x": ("f", [2, 3, 9, 11])}, {"y": "f"}, ulps=16)


@pytest.mark.parametrize("attributes", [{}, {"exclusive": 1}, {"reverse": 1}])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(tmp_path, attributes, axis):
    nodes = [node("CumSum", ["x", "axis"], "y", **attributes)]
    like_reference(tmp_path, nodes, {"x": ("f", [7, 13])}, {"y": "f"}, {"axis": np.array(axis, "l")}, ulps=64)


def test_scans_along_an_axis_of_run_time(tmp_path):
    like_reference(tmp_path, [node("CumSum", ["x", "axis"], "y")], {"x": ("d", [7, 13]), "axis": ("l", [])}, {"y": "d"}, given={"axis": np.array(1)}, ulps=64)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenates(tmp_path, axis):
    shapes = [[3, 5, 7] for _ in range(3)]
    for shape, size in zip(shapes, (1, 4, 2)):
        shape[axis] = size
    nodes = [node("Concat", ["a", "b", "c"], "t", axis=axis), node("Relu", ["t"], "y")]
    like_reference(tmp_path, nodes, dict(zip("abc", (("f", shape) for shape in shapes))), {"y": "f"})


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_scatters(tmp_path, reduction):
    nodes = [node("ScatterElements", ["x", "i", "u"], "y", axis=1, reduction=reduction)]
    given = {"i": np.array([[0, -1, 3], [2, 2, 1]])} if reduction == "add" else {"i": np.array([[0, -1, 3], [2, 4, 1]])}
    like_reference(tmp_path, nodes, {"x": ("f", [2, 5]), "i": ("l", [2, 3]), "u": ("f", [2, 3])}, {"y": "f"}, given=given)
    nodes = [node("ScatterND", ["x", "i", "u"], "y", reduction=reduction)]
    like_reference(tmp_path, nodes, {"x": ("f", [5, 4, 3]), "i": ("l", [2, 1]), "u": ("f", [2, 4, 3])}, {"y": "f"}, given={"i": np.array([[3], [1]])})


def test_scatter_reports_an_index_outside(tmp_path):
    nodes = [node("ScatterElements", ["x", "i", "u"], "y")]
    inputs = {"x": ("f", [2, 5]), "i": ("l", [1, 3]), "u": ("f", [1, 3])}
    _, session = session_of(tmp_path, nodes, inputs, {"y": "f"})
    with pytest.raises(fathom.Error, match="an index is outside"):
        session.run(None, {"x": np.ones((2, 5), "f"), "i": np.array([[0, 2, 1]]), "u": np.ones((1, 3), "f")})


def test_sorts(tmp_path):
    nodes = [helper.make_node("TopK", ["x", "k"], ["y", ""], name="top", axis=0)]
    like_reference(tmp_path, nodes, {"x": ("f", [17, 3])}, {"y": "f"}, {"k": np.array([5], "l")})


@pytest.mark.parametrize("a, b", [
    ([5, 7], [7, 3]), ([1, 1], [1, 1]), ([33, 1100], [1100, 5]), ([3, 5, 7], [7, 9]), ([2, 1, 5, 7], [3, 7, 9]), ([7], [7, 3]), ([5, 7], [7]), ([2, 3, 1, 4], [2, 3, 4, 1]),
    ([3, 0], [0, 4]),
])
def test_multiplies(tmp_path, a, b):
    like_reference(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", a), "b": ("f", b)}, {"y": "f"}, ulps=2000)


def test_multiplies_with_fused_ops(tmp_path):
    nodes = [node("MatMul", ["a", "b"], "p"), node("Add", ["p", "c"], "s"), node("Tanh", ["s"], "y")]
    like_reference(tmp_path, nodes, {"a": ("f", [6, 9]), "b": ("f", [9, 10]), "c": ("f", [10])}, {"y": "f"}, ulps=64)


def test_multiplies_sizes_of_run_time(tmp_path):
    for n in (1, 6, 31):
        like_reference(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", ["n", 7]), "b": ("f", [7, 5])}, {"y": "f"}, sizes={"n": n}, ulps=64)


@pytest.mark.parametrize("kind", ["d", "i"])
def test_multiplies_other_types(tmp_path, kind):
    like_reference(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": (kind, [5, 7]), "b": (kind, [7, 3])}, {"y": kind}, ulps=64)


@pytest.mark.parametrize("x, w, attributes", [
    ([2, 3, 9, 11], [5, 3, 3, 2], {"pads": [1, 0, 1, 1], "strides": [2, 1]}), ([1, 4, 7, 7], [8, 4, 1, 1], {}), ([1, 4, 9, 9], [6, 2, 3, 3], {"group": 2, "dilations": [2, 1]}),
    ([2, 6, 8, 5], [6, 1, 3, 3], {"group": 6, "pads": [1, 1, 1, 1]}), ([1, 2, 13], [3, 2, 5], {"pads": [2, 2]}), ([1, 2, 4, 5, 6], [3, 2, 2, 3, 2], {"pads": [1, 1, 1, 0, 0, 0]}),
    ([1, 70, 5, 5], [3, 70, 3, 3], {"pads": [1, 1, 1, 1]}), ([1, 1, 1, 1], [1, 1, 1, 1], {}),
])
def test_convolves(tmp_path, x, w, attributes):
    nodes = [node("Conv", ["x", "w", "b"], "c", **attributes), node("Relu", ["c"], "y")]
    like_reference(tmp_path, nodes, {"x": ("f", x), "w": ("f", w), "b": ("f", [w[0]])}, {"y": "f"}, ulps=2000)


@pytest.mark.parametrize("attributes", [{"strides": [2, 2]}, {"pads": [1, 1, 1, 1], "strides": [1, 2]}])
def test_convolves_transposed(tmp_path, attributes):
    nodes = [node("ConvTranspose", ["x", "w", "b"], "y", **attributes)]
    like_reference(tmp_path, nodes, {"x": ("f", [2, 3, 4, 5]), "w": ("f", [3, 4, 3, 3]), "b": ("f", [4])}, {"y": "f"}, ulps=64)


def test_computes_16_bit_floats(tmp_path):
    """Rounded after each op, as ONNX's reference does."""
    nodes = [node("Add", ["x", "z"], "s"), node("Mul", ["s", "x"], "p"), node("Exp", ["p"], "y")]
    like_reference(tmp_path, nodes, {"x": ("e", [3, 37]), "z": ("e", [37])}, {"y": "e"})
    like_reference(tmp_path, [node("MatMul", ["x", "z"], "y")], {"x": ("e", [3, 37]), "z": ("e", [37, 4])}, {"y": "e"})


@pytest.mark.parametrize("bits, zeros", [(4, True), (4, False), (8, True)])
def test_multiplies_small_integers(tmp_path, bits, zeros):
    numbers = np.random.default_rng(3)
    n, k, block = 5, 48, 16
    weight = numbers.integers(0, 256, (n, k // block, block * bits // 8)).astype("B")
    scales = numbers.normal(size=(n * k // block)).astype("f")
    zero = numbers.integers(0, 256, n * ((k // block * bits + 7) // 8)).astype("B")
    constants = [numpy_helper.from_array(array, name) for name, array in {"w": weight, "s": scales, "z": zero}.items()]
    nodes = [node("MatMulNBits", ["x", "w", "s", *(["z"] if zeros else [])], "y", K=k, N=n, bits=bits, block_size=block, domain="com.microsoft")]

    def unpacked(bytes):
        return bytes if bits == 8 else np.stack([bytes & 15, bytes >> 4], -1).reshape(*bytes.shape[:-1], -1)

    def expected(x):
        shift = unpacked(zero.reshape(n, -1))[:, : k // block, None].astype("d") if zeros else 1 << (bits - 1)
        matrix = (unpacked(weight).astype("d") - shift) * scales.reshape(n, -1, 1)
        return x @ matrix.reshape(n, k).T

    proto = models.model(nodes, [("x", TensorProto.FLOAT, ["n", k])], [("y", TensorProto.FLOAT)], constants if zeros else constants[:2], opset=21, domains={"com.microsoft": 1})
    fathom.compile(proto, tmp_path / "model.fathom", target="opencl")
    session = fathom.Session(tmp_path / "model.fathom")
    for rows in (1, 5):
        x = numbers.normal(size=(rows, k)).astype("f")
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-5, atol=1e-5 * np.abs(scales).max() * k)


ROWS = {"ReduceSum": {}, "ReduceMean": {}, "ReduceMax": {}, "ReduceL2": {}, "ReduceLogSumExp": {}, "Softmax": {"axis": 1}, "LogSoftmax": {"axis": 1}, "Hardmax": {"axis": 1}}


@pytest.mark.parametrize("length", [33, 777, 1500])
@pytest.mark.parametrize("op", ROWS)
def test_shares_rows(tmp_path, op, length):
    """The items of a group have a row together, of known length or of one that a run says."""
    isReduction = op.startswith("Reduce")
    nodes = [node(op, ["x", "axes"] if isReduction else ["x"], "r", **ROWS[op]), node("Neg", ["r"], "y")]
    weights = {"axes": np.array([1], "l")} if isReduction else {}
    like_reference(tmp_path, nodes, {"x": ("f", [5, length])}, {"y": "f"}, weights, ulps=400)
    if length == 33:
        for sizes in ({"n": 3, "m": 70}, {"n": 1, "m": 1}):
            like_reference(tmp_path, nodes, {"x": ("f", ["n", "m"])}, {"y": "f"}, weights, sizes=sizes, ulps=400)


@pytest.mark.parametrize("shape", [[4, 300], [3, 2, 5, 64]])
def test_shares_rows_of_layers(tmp_path, shape):
    nodes = [node("LayerNormalization", ["x", "s", "b"], "l", axis=-1), node("Add", ["l", "x"], "y")]
    like_reference(tmp_path, nodes, {"x": ("f", shape), "s": ("f", shape[-1:]), "b": ("f", shape[-1:])}, {"y": "f"}, ulps=400)
