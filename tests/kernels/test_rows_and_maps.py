"""Reductions, softmaxes, normalisations, pooling and movement over sizes of zero, one and primes, on fresh random data."""
import math

import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import assert_close, compare
from support.models import model_of
from support.plans import Plan

SHAPES = [(1,), (7,), (1, 1), (3, 5), (2, 13, 1), (5, 1, 17), (2, 3, 4, 5), (1, 16, 7, 7), (3, 0, 2)]


def data(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elementwise_chain(shape, seed):
    nodes = [
        helper.make_node("Erf", ["x"], ["a"]),
        helper.make_node("Mul", ["a", "w"], ["b"]),
        helper.make_node("Add", ["b", "x"], ["c"]),
        helper.make_node("Clip", ["c"], ["d"]),
        helper.make_node("Sigmoid", ["d"], ["y"]),
    ]
    compare(nodes, {"x": data(shape, seed)}, {"w": data(shape[-1:], seed + 1)})


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s], ids=str)
def test_reductions(op, shape, seed):
    for axes in {(0,), (len(shape) - 1,), tuple(range(len(shape)))}:
        compare([helper.make_node(op, ["x"], ["y"], axes=list(axes), keepdims=len(axes) % 2)], {"x": data(shape, seed)}, {})


@pytest.mark.parametrize("divide", [True, False])
def test_gelu_in_parts(divide, seed):
    """x / 2 * (1 + erf(x / sqrt(2))) as models spell it: near to float64, and nothing is left of it far below 0."""
    far = [-np.inf, -1e38, -1e9, -100, -20, -6, 6, 100, 1e9, 1e38, np.inf, np.nan, 0.0, -0.0, 1e-30, -1e-42]
    x = np.concatenate([np.float32(far), 3 * data(997, seed)])
    nodes = [
        helper.make_node("Div" if divide else "Mul", ["x", "root"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"] if divide else ["one", "b"], ["c"]),
        helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]
    root = np.sqrt(2) if divide else np.sqrt(0.5)
    weights = {"root": np.float32(root), "one": np.float32(1), "half": np.float32(0.5)}
    got = fathom.Session(fathom.compile(model_of(nodes, {"x": x}, weights))).run(None, {"x": x})[0]
    exact = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        want = exact / 2 * (1 + np.array([math.erf(v) for v in exact / np.sqrt(2)]))
    assert_close(got, want, "sum")
    np.testing.assert_array_equal(got[1:6], 0)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("knob", ["interleaved", "tables"])
def test_knobs_of_maps(knob, tmp_path, seed):
    """Vectors along pixels of three channels, or along the channels; places that are looked up, or computed."""
    if knob == "interleaved":
        nodes, inputs, weights = [helper.make_node("Mul", ["x", "s"], ["y"])], {"x": data((5, 40, 3), seed), "s": data((5, 40, 1), seed + 1)}, {}
    else:
        nodes = [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")]
        inputs, weights = {"x": data((2, 3, 5, 40), seed)}, {"s": np.float32([1, 1, 1, 1.4])}
    model = model_of(nodes, inputs, weights)
    plan = Plan.of(model).with_knobs({knob: 0}).save(tmp_path)
    assert fathom.compile(model, emit="asm", plan=plan) != fathom.compile(model, emit="asm")
    compare(nodes, inputs, weights, plan=plan)


@pytest.mark.parametrize("order", ["channels", "pixels"])
def test_sums_of_many_pixels_round_little(order, seed):
    """A chain of 4,096 sums would lose about 13 bits in the worst case and three on average; sums of rows lose far less."""
    values = np.random.default_rng(seed).random((2, 64, 64, 64), np.float32)
    axes = [2, 3] if order == "channels" else [1, 2]
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=axes, keepdims=0)
    got = fathom.Session(fathom.compile(model_of([node], {"x": values}, {}))).run(None, {"x": values})[0]
    want = values.mean(axis=tuple(axes), dtype=np.float64)
    assert np.sqrt(np.mean((got / want - 1) ** 2)) < 2e-7


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(op, shape, seed):
    for axis in {0, len(shape) - 1}:
        alone = "the only element of its row is 1 whatever it was" if shape[axis] == 1 else None
        compare([helper.make_node(op, ["x"], ["y"], axis=axis)], {"x": 5 * data(shape, seed)}, {}, same_for_all_inputs=alone)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e30])
def test_logarithms_of_large_elements(offset, seed):
    """Their differences are exact: what is lost is lost in the input."""
    values = (np.random.default_rng(seed).standard_normal((7, 50)) + offset).astype(np.float32)
    node = helper.make_node("LogSoftmax", ["x"], ["y"])
    got = fathom.Session(fathom.compile(model_of([node], {"x": values}, {}))).run(None, {"x": values})[0]
    exact = values.astype(np.float64) - values.max(-1, keepdims=True)
    want = exact - np.log(np.exp(exact).sum(-1, keepdims=True))
    assert_close(got, want, "sum")


@pytest.mark.parametrize("shape", [(3, 5), (5, 1, 17), (2, 7, 131)], ids=str)
def test_layer_norm(shape, seed):
    weights = {"scale": data(shape[-1:], seed + 1), "bias": data(shape[-1:], seed + 2)}
    compare([helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"])], {"x": data(shape, seed)}, weights)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("channels", [1, 5, 16, 67])
def test_pool_after_conv(op, channels, seed):
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node(op, ["c"], ["y"], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=1),
    ]
    compare(nodes, {"x": data((2, 3, 11, 8), seed)}, {"w": data((channels, 3, 3, 3), seed + 1)})


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 7, 1)], ids=str)
def test_movement(shape, seed):
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 0, 1]),
        helper.make_node("Reshape", ["t", "flat"], ["r"]),
        helper.make_node("Concat", ["r", "r"], ["c"], axis=0),
        helper.make_node("Slice", ["c", "start", "end", "axis", "step"], ["y"]),
    ]
    integers = {"flat": [-1], "start": [1], "end": [np.iinfo(np.int64).max], "axis": [0], "step": [2]}
    compare(nodes, {"x": data(shape, seed)}, {name: np.array(value, np.int64) for name, value in integers.items()})


@pytest.mark.parametrize("index", [[0, -1, 2], [[1], [0]], 3])
def test_gather(index, seed):
    compare([helper.make_node("Gather", ["x", "i"], ["y"], axis=1)], {"x": data((2, 5, 3), seed), "i": np.array(index, np.int64)}, {})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("size, kernel, stride", [(1, 2, 2), (1, 3, 3), (2, 3, 3), (4, 3, 3)])
def test_pooling_whose_only_window_ends_behind_the_image(random, op, size, kernel, stride):
    node = helper.make_node(op, ["x"], ["y"], kernel_shape=[kernel] * 2, strides=[stride] * 2, ceil_mode=1)
    compare([node], {"x": random.standard_normal((2, 3, size, size)).astype(np.float32)}, {})


def test_a_row_may_be_longer_than_a_task():
    """A schedule counts the elements of a task, and a row may have more than it can say. Nothing is run: it would take gigabytes."""
    nodes = [helper.make_node("DequantizeLinear", ["x", "scale"], ["y"])]
    model = model_of(nodes, {"x": np.zeros((1, 4), np.uint8)}, {"scale": np.float32(0.5)}, opset=17)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2**31 - 1
    grain = Plan.of(model, target="x86-64-v3").values("grain")
    assert grain and all(0 < each <= 2**30 for each in grain)
    assert "scf.for" in fathom.compile(model, emit="loops", target="x86-64-v3")
