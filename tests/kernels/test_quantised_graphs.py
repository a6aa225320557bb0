"""Random quantised graphs in strict mode: bit by bit what ONNX's reference evaluator computes; and scales and sums that are none."""
import numpy as np
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import fathom
from support import quantised
from support.compare import run
from support.models import model, node


@pytest.mark.parametrize("seed", range(210))
def test_equals_the_reference(seed):
    graph = quantised.Graph(seed)
    [got] = run(fathom.compile(graph.proto, fp="strict"), graph.inputs)
    [want] = ReferenceEvaluator(graph.proto).run(None, graph.inputs)
    assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


def test_graphs_are_of_all_kinds():
    """Or the test above would show less than it says: ways of writing, ends of the range, empty tensors, results that differ."""
    graphs = [quantised.Graph(seed) for seed in range(120)]
    ways = {graph.way: [other for other in graphs if other.way == graph.way] for graph in graphs}
    assert set(ways) == set(quantised.WAYS) and all(len(of) >= 15 for of in ways.values())
    kinds = {each.op_type for graph in graphs for each in graph.proto.graph.node}
    assert {"Conv", "MatMul", "Gemm", "QLinearConv", "QLinearMatMul", "MatMulInteger", "DynamicQuantizeLinear", "MaxPool", "AveragePool", "Add"} <= kinds
    zeros = {(int(zero), zero.dtype.name) for graph in graphs for zero in graph.weights.values() if zero.ndim == 0 and zero.dtype in quantised.BYTES}
    assert {(0, "uint8"), (255, "uint8"), (-128, "int8"), (127, "int8")} <= zeros
    assert any(graph.is_empty for graph in graphs)
    results = [ReferenceEvaluator(graph.proto).run(None, graph.inputs)[0] for graph in graphs if not graph.is_empty]
    assert sum(len(np.unique(result)) > 4 for result in results) > len(results) / 2
    assert any(result.dtype.kind in "iu" and (result == np.iinfo(result.dtype).max).any() for result in results)


SCALES = ["x_scale", "w_scale", "y_scale"]


def linear_product(**given):
    random = np.random.default_rng(3)
    weights = {"x_scale": np.float32(0.1), "xz": np.uint8(3), "w": quantised.numbers(random, np.int8, (6, 3)), "w_scale": np.float32(0.02), "wz": np.int8(0),
               "y_scale": np.float32(0.3), "yz": np.uint8(9)} | given
    nodes = [node("QLinearMatMul", "x x_scale xz w w_scale wz y_scale yz", "y", name="product")]
    return model(nodes, [("x", TensorProto.UINT8, [5, 6])], [("y", TensorProto.UINT8)], weights), {"x": quantised.numbers(random, np.uint8, (5, 6))}


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_that_is_no_number(scale):
    with pytest.raises(fathom.Error, match="F1004.*'product'.*scale is no number") as raised:
        fathom.compile(linear_product(**{scale: np.float32(np.nan)})[0])
    assert "quantise the model again" in raised.value.hint


def test_a_scale_of_zero():
    """Numbers are divided by that of the result; by another one they become zeros."""
    with pytest.raises(fathom.Error, match="F1004.*'product'.*the result's scale is zero"):
        fathom.compile(linear_product(y_scale=np.float32(0))[0])
    for scale in SCALES[:2]:
        proto, inputs = linear_product(**{scale: np.float32(0)})
        for fp in ("fast", "strict"):
            assert (run(fathom.compile(proto, fp=fp), inputs)[0] == 9).all()


@pytest.mark.parametrize("fp", ["fast", "strict"])
@pytest.mark.parametrize("scale", SCALES)
def test_a_negative_scale(scale, fp):
    proto, inputs = linear_product(**{scale: np.float32(-0.07)})
    assert np.array_equal(run(fathom.compile(proto, fp=fp), inputs)[0], ReferenceEvaluator(proto).run(None, inputs)[0])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("count", [0, 2])
def test_a_scale_of_another_shape(scale, count):
    with pytest.raises(fathom.Error, match="F1008.*'product'"):
        fathom.compile(linear_product(**{scale: np.full(count, 0.1, np.float32)})[0])


@pytest.mark.parametrize("value, words", [(0, "is zero"), (np.nan, "is no number")])
def test_channels_of_quantisations(value, words):
    """The channel is named, and a scale by which nothing is divided may be zero."""
    scale = np.asarray([0.1, 0.2, value, 0.3], np.float32)
    quantise = [node("QuantizeLinear", "x s", "y", axis=1, name="to_bytes")]
    with pytest.raises(fathom.Error, match=f"F1004.*'to_bytes'.*the scale of channel 2 {words}"):
        fathom.compile(model(quantise, [("x", TensorProto.FLOAT, [3, 4])], [("y", TensorProto.UINT8)], {"s": scale}))
    proto = model([node("DequantizeLinear", "x s", "y", axis=1, name="to_floats")], [("x", TensorProto.UINT8, [3, 4])], [("y", TensorProto.FLOAT)], {"s": scale})
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    if value == 0:
        assert np.array_equal(run(fathom.compile(proto), {"x": x})[0], x * scale)
    else:
        with pytest.raises(fathom.Error, match="F1004.*'to_floats'.*channel 2"):
            fathom.compile(proto)


@pytest.mark.parametrize("fp", ["fast", "strict"])
@pytest.mark.parametrize("scale", [-0.03, 0])
def test_odd_scales_around_a_convolution(scale, fp):
    """Negative ones turn what is largest around, and zero makes all equal."""
    random = np.random.default_rng(5)
    x, w = quantised.numbers(random, np.uint8, (1, 8, 7, 7)), quantised.numbers(random, np.int8, (16, 8, 3, 3))
    nodes = [node("DequantizeLinear", "x s z", "xd"), node("DequantizeLinear", "w ws", "wd"), node("Conv", "xd wd", "c"), node("Relu", "c", "y")]
    proto = model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)],
                  {"s": np.float32(scale), "z": np.uint8(128), "w": w, "ws": np.float32(0.01)})
    wide = model([node("Conv", "x w", "c"), node("Relu", "c", "y")], [("x", TensorProto.DOUBLE), ("w", TensorProto.DOUBLE)], [("y", TensorProto.DOUBLE)])
    factors = {"x": (x.astype(np.float64) - 128) * float(np.float32(scale)), "w": w * float(np.float32(0.01))}
    [want], [got] = ReferenceEvaluator(wide).run(None, factors), run(fathom.compile(proto, fp=fp), {"x": x})
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


# The deepest sum whose every result 32 bits hold, and deeper ones.
@pytest.mark.parametrize("depth", [65793, 65794, 140003])
@pytest.mark.parametrize("weight", [127, -128])
@pytest.mark.parametrize("fp", ["fast", "strict"])
def test_sums_at_their_largest(depth, weight, fp):
    """Of the largest factors. Sums that 32 bits would not hold are of floats, each of which may round."""
    x, w = np.full((2, depth), 255, np.uint8), np.full((depth, 3), weight, np.int8)
    exact = x.astype(np.int64) @ w.astype(np.int64)
    nodes = [node("DequantizeLinear", "x s", "xd"), node("DequantizeLinear", "w s", "wd"), node("MatMul", "xd wd", "y")]
    proto = model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)], {"s": np.float32(0.5), "w": w})
    [got] = run(fathom.compile(proto, fp=fp), {"x": x})
    assert np.abs(got - exact * 0.25).max() <= depth * 2.0**-24 * np.abs(exact * 0.25).max()
    y_scale = np.float32(np.abs(exact).max() / 100)
    nodes = [node("QLinearMatMul", "x one xz w one wz ys yz", "y")]
    proto = model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT8)],
                  {"one": np.float32(1), "xz": np.uint8(0), "w": w, "wz": np.int8(0), "ys": y_scale, "yz": np.int8(0)})
    [got] = run(fathom.compile(proto, fp=fp), {"x": x})
    assert np.array_equal(got, np.rint(exact / float(y_scale)))


@pytest.mark.parametrize("depth", [65794, 140003])
def test_deep_sums_of_32_bits(depth):
    """ONNX says that a sum must fit. One that does is exact, whatever lies on its way; x has both ends."""
    random = np.random.default_rng(depth)
    x, w = quantised.numbers(random, np.uint8, (3, depth)), quantised.numbers(random, np.int8, (depth, 5))
    x[0], w[:, 0] = 255, np.where(np.arange(depth) < depth // 2, 127, -128)
    exact = x.astype(np.int64) @ w.astype(np.int64)
    assert np.abs(exact).max() < 2**31 <= 255 * 128 * depth
    proto = model([node("MatMulInteger", "x w", "y")], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)], {"w": w})
    for fp in ("fast", "strict"):
        assert np.array_equal(run(fathom.compile(proto, fp=fp), {"x": x})[0], exact)


@pytest.mark.parametrize("scale", [1e-17, 3e17])
@pytest.mark.parametrize("largest", [1e-36, 1e-3, 1.0, 1e3, 1e25])
def test_scales_of_images_in_weights(scale, largest):
    """A scale goes into the weights of single channels only where their product holds: a zero stays one, and what is tiny is not lost."""
    random = np.random.default_rng(7)
    x, w = quantised.numbers(random, np.uint8, (1, 5, 9, 9)), (random.uniform(-1, 1, (5, 1, 3, 3)) * largest).astype(np.float32)
    x[0, 0] = 17
    nodes = [node("DequantizeLinear", "x s z", "xd"), node("Conv", "xd w", "y", group=5)]
    proto = model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)], {"s": np.float32(scale), "z": np.uint8(17), "w": w})
    wide = model([node("Conv", "x w", "y", group=5)], [("x", TensorProto.DOUBLE), ("w", TensorProto.DOUBLE)], [("y", TensorProto.DOUBLE)])
    factors = {"x": ((x.astype(np.float32) - 17) * np.float32(scale)).astype(np.float64), "w": w.astype(np.float64)}
    [want], [bound] = (ReferenceEvaluator(wide).run(None, each) for each in (factors, {name: np.abs(value) for name, value in factors.items()}))
    [got] = run(fathom.compile(proto), {"x": x})
    overflows = bound > np.finfo(np.float32).max
    assert not np.isnan(got[~overflows]).any() and (got[0, 0] == 0).all()
    allowed = 16 * np.finfo(np.float32).eps * bound + 9 * np.finfo(np.float32).tiny
    assert (np.abs(got.astype(np.float64) - want) <= allowed)[~overflows].all()
