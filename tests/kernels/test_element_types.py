"""Operators with elements of every type that ONNX allows them, against ONNX Runtime, or ONNX's reference where it has no kernel."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fathom

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def run_both(node, arrays, constants=()):
    """The outputs of Fathom, with arrays or with what is named constant, and of another."""
    info = helper.make_tensor_value_info
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
    inputs = [info(name, kinds[name], array.shape) for name, array in arrays.items() if name not in constants]
    weights = [numpy_helper.from_array(arrays[name], name) for name in constants]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], weights)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    feeds = {name: array for name, array in arrays.items() if name not in constants}
    try:
        want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    except Exception:  # no kernel for the type
        want = ReferenceEvaluator(model).run(None, feeds)[0]
    return fathom.Session(fathom.compile(model)).run(None, feeds)[0], np.asarray(want)


def numbers(random, shape, kind):
    return random.integers(0 if kind.startswith("u") else -9, 60, shape).astype(kind)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("few", [2, 3, 4])
def test_few_columns(kind, few, random):
    """Rows as short as the colours of a pixel, which are stored interleaved."""
    arrays = {"x": numbers(random, (64, few), kind), "z": numbers(random, (few,), kind)}
    for op in ("Add", "Mul") if kind in ("int32", "uint32", "int64", "uint64") else ("Add",):
        for constants in ((), ("z",)):
            got, want = run_both(helper.make_node(op, ["x", "z"], ["y"]), arrays, constants)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    index = {"x": numbers(random, (5, few), kind), "i": random.integers(-5, 5, 33)}
    got, want = run_both(helper.make_node("Gather", ["x", "i"], ["y"]), index)
    np.testing.assert_array_equal(got, want)
    got, want = run_both(helper.make_node("Transpose", ["x"], ["y"]), {"x": numbers(random, (few, 37), kind)})
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_roots_and_logarithms(kind, axis, random):
    """Integers have them in double precision, cut off."""
    x = random.integers(1, 50, (6, 7)).astype(kind)
    exact = x.astype(np.float64)
    for op, value in {
        "ReduceL2": np.sqrt((exact**2).sum(axis, keepdims=True)),
        "ReduceLogSum": np.log(exact.sum(axis, keepdims=True)),
        "ReduceLogSumExp": np.log(np.exp(exact).sum(axis, keepdims=True)),
    }.items():
        for axes in (np.array([axis]), None):
            arrays = {"x": x, "a": np.array([axis])}
            node = helper.make_node(op, ["x", "a"], ["y"])
            info = helper.make_tensor_value_info
            element = helper.np_dtype_to_tensor_dtype(x.dtype)
            inputs = [info("x", element, x.shape)] + ([] if axes is not None else [info("a", onnx.TensorProto.INT64, [1])])
            weights = [numpy_helper.from_array(axes, "a")] if axes is not None else []
            model = helper.make_model(helper.make_graph([node], "g", inputs, [info("y", element, None)], weights),
                                      opset_imports=[helper.make_opsetid("", 21)], ir_version=10)  # fmt: skip
            feeds = {info.name: arrays[info.name] for info in model.graph.input}
            got = fathom.Session(fathom.compile(model)).run(None, feeds)[0]
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, np.trunc(value + 1e-12))


def test_large_unsigned_root():
    """The sum of squares is beyond what a signed integer holds."""
    x = np.array([[60000, 2000]], np.uint32)
    got, want = run_both(helper.make_node("ReduceL2", ["x"], ["y"]), {"x": x})
    np.testing.assert_array_equal(got, [[60033]])


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("constants", [["a"], []])
def test_roots_of_squares_beyond_the_type(dtype, constants):
    """The sum of squares has left the type's range, its root has not; of axes that are known, or of the run."""
    x = np.array([[40000, 30000, 20000], [50000, 1, 40000]], dtype)
    got, _ = run_both(helper.make_node("ReduceL2", ["x", "a"], ["y"]), {"x": x, "a": np.array([1])}, constants)
    np.testing.assert_array_equal(got, np.sqrt((x.astype(float) ** 2).sum(1, keepdims=True)).astype(dtype))
