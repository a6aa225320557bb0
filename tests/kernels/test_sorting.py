"""TopK and Unique on fresh random data with many ties, against ONNX Runtime; NaN, where that gives no fixed order, against numpy."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import fathom

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "int8": TensorProto.INT8}


def model_of(node, inputs, wanted=None):
    """A model of one node that gives some of the node's outputs, or all."""
    wanted = wanted or [name for name in node.output if name]
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype.name], [None] * array.ndim) for name, array in inputs.items()]
    results = [helper.make_tensor_value_info(name, TYPES[inputs["x"].dtype.name] if name == "y" else TensorProto.INT64, None) for name in wanted]
    graph = helper.make_graph([node], "g", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def same(node, inputs, more=(), wanted=None):
    """Compares on these inputs and, with the same artifact, on further ones."""
    model = model_of(node, inputs, wanted)
    session = fathom.Session(fathom.compile(model))
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in [inputs, *more]:
        for got, want in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def few_values(rng, shape, dtype):
    return rng.integers(0, 7, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("wanted", [["y", "i"], ["y"], ["i"]], ids=["both", "values", "indices"])
def test_top_k(wanted, dtype, seed):
    rng = np.random.default_rng(seed)
    for shape, axis in [((1,), 0), ((7,), 0), ((131,), -1), ((3, 17), 1), ((17, 3), 0), ((2, 5, 3), 1)]:
        for largest in (0, 1):
            size = shape[axis]
            feeds = [{"x": few_values(rng, shape, dtype), "k": np.array([k])} for k in sorted({0, 1, 2, size // 2, size - 1, size} & set(range(size + 1)))]
            same(helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=axis, largest=largest), feeds[0], feeds[1:], wanted)


def test_top_k_of_many(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 20011)).astype(np.float32)
    same(helper.make_node("TopK", ["x", "k"], ["y", "i"]), {"x": x, "k": np.array([20011])}, [{"x": x, "k": np.array([100])}])


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_takes_nan_for_the_greatest(largest, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, 41).astype(np.float32)
    x[rng.choice(41, 7, replace=False)] = np.nan
    model = model_of(helper.make_node("TopK", ["x", "k"], ["y", "i"], largest=largest), {"x": x, "k": np.array([1])})
    session = fathom.Session(fathom.compile(model))
    order = np.argsort(np.where(np.isnan(x), np.inf, x) * (-1 if largest else 1), kind="stable")
    for k in (1, 7, 8, 35, 41):
        values, indices = session.run(None, {"x": x, "k": np.array([k])})
        np.testing.assert_array_equal(indices, order[:k])
        np.testing.assert_array_equal(values, x[order[:k]])


@pytest.mark.parametrize("sorted_", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
def test_unique(dtype, sorted_, seed):
    rng = np.random.default_rng(seed)
    node = helper.make_node("Unique", ["x"], ["y", "i", "j", "n"], sorted=sorted_)
    for rank in (1, 2):
        feeds = [{"x": few_values(rng, shape * rank, dtype)} for shape in [(1,), (2,), (7,), (13,), (31,)]]
        same(node, feeds[0], feeds[1:])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("sorted_", [0, 1])
def test_unique_rows(sorted_, axis, seed):
    rng = np.random.default_rng(seed)
    node = helper.make_node("Unique", ["x"], ["y", "i", "j", "n"], sorted=sorted_, axis=axis)
    for shapes in [[(1, 1), (11, 2), (2, 11), (37, 1)], [(1, 1, 1), (5, 5, 1), (2, 17, 1), (1, 3, 19)]]:
        feeds = [{"x": rng.integers(0, 2, shape).astype(np.float32)} for shape in shapes]
        same(node, feeds[0], feeds[1:])


@pytest.mark.parametrize("wanted", [["y"], ["i"], ["j"], ["n"], ["y", "j"], ["j", "n"]], ids=",".join)
@pytest.mark.parametrize("sorted_", [0, 1])
def test_unique_with_some_outputs(sorted_, wanted, seed):
    rng = np.random.default_rng(seed)
    node = helper.make_node("Unique", ["x"], ["y", "i", "j", "n"], sorted=sorted_)
    same(node, {"x": few_values(rng, 29, "float32")}, [{"x": few_values(rng, 1, "float32")}], wanted)


def test_unique_takes_nan_for_one_value():
    x = np.array([2, np.nan, 1, np.nan, 2], np.float32)
    model = model_of(helper.make_node("Unique", ["x"], ["y", "i", "j", "n"]), {"x": x})
    for got, want in zip(fathom.Session(fathom.compile(model)).run(None, {"x": x}), np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(got, want)
