"""Quantised products and convolutions with constant weights: sums as they are in 64-bit integers, and what becomes of them."""
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import fathom
from support import models
from support.compare import run
from support.models import node, prime
from support.plans import Plan

BYTES = {"uint8": np.uint8, "int8": np.int8}
SEEDS = range(4)


def numbers(random, dtype, *shape):
    """Of the whole range, its ends often."""
    info = np.iinfo(dtype)
    array = random.integers(info.min, info.max + 1, shape)
    ends = random.random(shape)
    return np.where(ends < 0.05, info.min, np.where(ends > 0.95, info.max, array)).astype(dtype)


def zero_point(random, dtype):
    info = np.iinfo(dtype)
    return np.asarray(random.choice([info.min, info.max, 0, int(random.integers(info.min, info.max + 1))]), dtype)


def exact_conv(x, w, attributes):
    """In double precision, which holds every sum."""
    bare = models.model([node("Conv", "x w", "y", **attributes)], [("x", TensorProto.DOUBLE), ("w", TensorProto.DOUBLE)],
                        [("y", TensorProto.DOUBLE)])
    return ReferenceEvaluator(bare).run(None, {"x": x.astype(np.float64), "w": w.astype(np.float64)})[0]


def assert_rounded(got, exact, zero):
    """Numbers are as near as any are; a product in single precision may round either way where two are as near."""
    info = np.iinfo(got.dtype)
    error = np.abs(np.clip(exact + float(zero), info.min, info.max) - got.astype(np.float64))
    bad = error > 0.5 + 2.0**-20 * (np.abs(exact) + 1)
    assert got.shape == exact.shape and not bad.any(), f"{got[bad][:5]} for {exact[bad][:5]}"


class Convolution:
    """Of random sizes; the seed is in the name of the test."""

    def __init__(self, seed, group=1, signed_weights=True):
        self.random = random = np.random.default_rng(seed)
        self.dtype = BYTES[random.choice(list(BYTES))]
        kernel = [int(random.choice([1, 1, 2, 3])) for _ in range(2)]
        self.attributes = {
            "strides": [int(s) for s in random.integers(1, 3, 2)], "dilations": [int(s) for s in random.integers(1, 3, 2)],
            "pads": [int(p) for p in random.integers(0, 3, 4)], "group": group, "kernel_shape": kernel}
        channels, outputs = (group * 4, group * prime(random)) if group > 1 else (prime(random), prime(random, least=2))
        self.x = numbers(random, self.dtype, int(random.integers(1, 3)), channels, prime(random, least=7), prime(random, least=7))
        self.zero = zero_point(random, self.dtype)
        self.w = numbers(random, np.int8 if signed_weights else np.uint8, outputs, channels // group, *kernel)
        self.w_zero = np.asarray(0 if signed_weights else 128, self.w.dtype)
        self.sums = exact_conv(self.x.astype(np.int64) - int(self.zero), self.w.astype(np.int64) - int(self.w_zero), self.attributes)


def quantised(x, scale, zero):
    """Floats that are quantised to exactly these numbers."""
    return ((x.astype(np.float32) - np.float32(zero)) * np.float32(scale)).astype(np.float32)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("per_channel", [False, True])
def test_convolution_between_quantisations(seed, group, per_channel):
    case = Convolution(seed, group)
    outputs = case.w.shape[0]
    x_scale, y_scale = np.float32(0.02), np.float32(0.11 * np.sqrt(case.w[0].size))
    w_scale = case.random.uniform(0.01, 0.03, outputs if per_channel else ()).astype(np.float32)
    bias = case.random.integers(-9999, 9999, outputs).astype(np.int32)
    b_scale = np.asarray(x_scale * w_scale, np.float32)
    y_zero = zero_point(case.random, case.dtype)
    w_zero = np.zeros(w_scale.shape, np.int8)
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"),
        node("DequantizeLinear", "w ws wz", "wd", axis=0), node("DequantizeLinear", ["b", "bs"], "bd", axis=0),
        node("Conv", "xd wd bd", "c", **case.attributes), node("QuantizeLinear", "c ys yz", "y"),
    ]
    x = quantised(case.x, x_scale, case.zero)
    proto = models.model(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype)))],
                         {"xs": x_scale, "xz": case.zero, "w": case.w, "ws": w_scale, "wz": w_zero, "b": bias, "bs": b_scale,
                          "ys": y_scale, "yz": y_zero})
    by_channel = np.broadcast_to(w_scale.astype(np.float64), (outputs,)).reshape(1, -1, 1, 1)
    exact = (case.sums + bias.reshape(1, -1, 1, 1)) * float(x_scale) * by_channel / float(y_scale)
    [got] = run(fathom.compile(proto), {"x": x})
    assert_rounded(got, exact, y_zero)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("zero_is", ["any", "none", "least"])
@pytest.mark.parametrize("has_other", [False, True])
def test_single_channels_between_quantisations(seed, zero_is, has_other):
    """An image of bytes that the convolution widens itself, and perhaps another reader; zeros around it are zero points."""
    random = np.random.default_rng(seed)
    dtype = BYTES[random.choice(list(BYTES))]
    channels, least = prime(random, least=2), np.iinfo(dtype).min
    zero = {"any": zero_point(random, dtype), "none": np.asarray(0, dtype), "least": np.asarray(least, dtype)}[zero_is]
    kernel = [int(random.choice([1, 2, 3, 5])) for _ in range(2)]
    attributes = {"strides": [int(s) for s in random.integers(1, 3, 2)], "pads": [int(p) for p in random.integers(0, 3, 4)],
                  "dilations": [int(s) for s in random.integers(1, 3, 2)], "group": channels, "kernel_shape": kernel}
    image = numbers(random, dtype, int(random.integers(1, 3)), channels, prime(random, least=11), prime(random, least=11))
    w, x_scale = random.standard_normal((channels, 1, *kernel)).astype(np.float32), np.float32(0.02)
    nodes = [node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"), node("Conv", "xd w", "y", **attributes),
             node("Neg", "xd", "other")]
    x = quantised(image, x_scale, zero)
    outputs = [("y", TensorProto.FLOAT), ("other", TensorProto.FLOAT)]
    if not has_other:
        nodes.pop(), outputs.pop()
    proto = models.model(nodes, [("x", TensorProto.FLOAT, x.shape)], outputs, {"xs": x_scale, "xz": zero, "w": w})
    exact, bound = (exact_conv(a, b, attributes) for a, b in ((x, w), (np.abs(x), np.abs(w))))
    got, *other = run(fathom.compile(proto), {"x": x})
    assert (np.abs(got - exact) <= 8 * np.finfo(np.float32).eps * bound).all()
    for values in other:
        np.testing.assert_array_equal(values, -x)


@pytest.mark.parametrize("target", ["x86-64-v3", "cascadelake", "neoverse-n1"])
def test_bytes_between_convolutions_stay_bytes(target):
    """What a convolution of single channels reads is stored as bytes, and widened in its kernel."""
    random = np.random.default_rng(3)
    scale, zero = np.float32(0.1), np.uint8(0)
    nodes = [node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "xd"), node("DequantizeLinear", "w s", "wd"),
             node("Conv", "xd wd", "c"), node("QuantizeLinear", "c s z", "cq"), node("DequantizeLinear", "cq s z", "cd"),
             node("Conv", "cd d", "y", group=16, pads=[1, 1, 1, 1])]
    weights = {"s": scale, "z": zero, "w": numbers(random, np.int8, 16, 8, 1, 1), "d": random.standard_normal((16, 1, 3, 3)).astype(np.float32)}
    proto = models.model(nodes, [("x", TensorProto.FLOAT, [1, 8, 12, 12])], [("y", TensorProto.FLOAT)], weights)
    kernels = Plan(fathom.compile(proto, emit="plan", target=target)).kernels
    [single] = [kernel for kernel in kernels if "class:           depthwise" in kernel]
    assert "- y.numbers" in single
    assert not any("y.numbers" in kernel for kernel in kernels if kernel is not single)


@pytest.mark.parametrize("target", ["x86-64-v3", "neoverse-n1"])
def test_bytes_to_widen_are_in_memory(target, tmp_path):
    """A plan's kernel that makes them itself is refused."""
    nodes = [node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "xd"), node("Conv", "xd d", "y", group=8)]
    weights = {"s": np.float32(0.1), "z": np.uint8(0), "d": models.floats(np.random.default_rng(3), 8, 1, 3, 3)}
    proto = models.model(nodes, [("x", TensorProto.FLOAT, [1, 8, 12, 12])], [("y", TensorProto.FLOAT)], weights)
    plan = Plan.of(proto, target=target)
    others = [kernel for kernel in plan.kernels if "- xq\n" not in kernel]
    assert len(others) == len(plan.kernels) - 1
    joined = [kernel.replace("      - y.numbers\n", "      - xq\n      - y.numbers\n") for kernel in others]
    with pytest.raises(fathom.Error, match="F1009.*'y' widens an image of bytes from memory"):
        plan.with_kernels(joined).compile(proto, tmp_path, target=target)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_scales_along_each_axis_of_weights(axis):
    """As many as there are output channels, whose they are along the first axis only."""
    random = np.random.default_rng(axis)
    x, w = numbers(random, np.uint8, 1, 3, 7, 7), numbers(random, np.int8, 3, 3, 3, 3)
    x_scale, w_scale = np.float32(0.02), np.asarray([0.01, 0.02, 0.03], np.float32)
    nodes = [node("DequantizeLinear", "x xs xz", "xd"), node("DequantizeLinear", ["w", "ws"], "wd", axis=axis), node("Conv", "xd wd", "y")]
    proto = models.model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)],
                         {"xs": x_scale, "xz": np.uint8(7), "w": w, "ws": w_scale})
    along = [3 if d == axis else 1 for d in range(4)]
    want = exact_conv(x.astype(np.int64) - 7, w * w_scale.astype(np.float64).reshape(along), {}) * float(x_scale)
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("signed_weights", [True, False])
def test_integer_convolution(seed, signed_weights):
    case = Convolution(seed, signed_weights=signed_weights)
    proto = models.model([node("ConvInteger", "x w xz wz", "y", **case.attributes)],
                         [("x", helper.np_dtype_to_tensor_dtype(case.x.dtype), case.x.shape)], [("y", TensorProto.INT32)],
                         {"w": case.w, "xz": case.zero, "wz": case.w_zero})
    [got] = run(fathom.compile(proto), {"x": case.x})
    assert got.dtype == np.int32 and np.array_equal(got, case.sums)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fp", ["fast", "strict"])
def test_linear_convolution(seed, fp):
    case = Convolution(seed)
    outputs = case.w.shape[0]
    weights = {"xs": np.float32(0.02), "xz": case.zero, "w": case.w, "ws": case.random.uniform(0.01, 0.03, outputs).astype(np.float32),
               "wz": np.zeros(outputs, np.int8), "ys": np.float32(0.11 * np.sqrt(case.w[0].size)), "yz": zero_point(case.random, case.dtype),
               "b": case.random.integers(-9999, 9999, outputs).astype(np.int32)}
    element = helper.np_dtype_to_tensor_dtype(case.x.dtype)
    proto = models.model([node("QLinearConv", "x xs xz w ws wz ys yz b", "y", **case.attributes)],
                         [("x", element, case.x.shape)], [("y", element)], weights)
    [got] = run(fathom.compile(proto, fp=fp), {"x": case.x})
    if fp == "strict":
        [want] = ReferenceEvaluator(proto).run(None, {"x": case.x})
        assert got.dtype == want.dtype and np.array_equal(got, want)
    scale = 0.02 * weights["ws"].astype(np.float64).reshape(1, -1, 1, 1) / float(weights["ys"])
    assert_rounded(got, (case.sums + weights["b"].reshape(1, -1, 1, 1)) * scale, weights["yz"])


def test_whole_factor_behind_sums():
    """Where folding finds a size, the passes go over the graph once more: weights are quads of bytes by then, and no numbers."""
    random = np.random.default_rng(5)
    x, w = numbers(random, np.uint8, 1, 4, 5, 5), numbers(random, np.int8, 3, 4, 3, 3)
    nodes = [
        node("ConvInteger", "x w", "c"), node("Mul", "c factor", "m"), node("NonZero", "mask", "found"), node("Shape", "found", "sizes"),
        node("Slice", "sizes one two", "count"), node("ConstantOfShape", "count", "zeros"), node("Cast", "zeros", "whole", to=TensorProto.INT32),
        node("ReduceSum", "whole", "zero"), node("Add", "m zero", "y"),
    ]
    proto = models.model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)],
                         {"w": w, "factor": np.int32(3), "mask": np.asarray([1, 0, 1], np.float32), "one": np.asarray([1]), "two": np.asarray([2])})
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.array_equal(got, 3 * exact_conv(x, w, {}))


class Product:
    def __init__(self, seed, depth=None, leading=None):
        self.random = random = np.random.default_rng(seed)
        self.dtype = BYTES[random.choice(list(BYTES))]
        depth = depth or prime(random)
        leading = leading if leading is not None else [prime(random) for _ in range(random.integers(1, 4))]
        self.x = numbers(random, self.dtype, *leading, depth)
        self.w = numbers(random, np.int8, depth, prime(random, least=2))
        self.zero = zero_point(random, self.dtype)
        self.sums = (self.x.astype(np.int64) - int(self.zero)) @ self.w.astype(np.int64)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", [None, "named"])
def test_integer_product(seed, sizes):
    case = Product(seed)
    shape = [*(f"n{d}" for d in range(case.x.ndim - 1)), case.x.shape[-1]] if sizes else case.x.shape
    proto = models.model([node("MatMulInteger", "x w xz", "y")], [("x", helper.np_dtype_to_tensor_dtype(case.x.dtype), shape)],
                         [("y", TensorProto.INT32)], {"w": case.w, "xz": case.zero})
    [got] = run(fathom.compile(proto), {"x": case.x})
    assert got.dtype == np.int32 and np.array_equal(got, case.sums)


@pytest.mark.parametrize("depth", [1, 3, 4, 5, 127, 1024, 4099])
def test_sums_of_extreme_factors(depth):
    """Of the largest products of either sign, which 16 bits do not hold two of."""
    x = np.full((3, depth), 255, np.uint8)
    w = np.stack([np.full(depth, 127), np.full(depth, -128), np.arange(depth) % 2 * 255 - 128], 1).astype(np.int8)
    proto = models.model([node("MatMulInteger", "x w", "y")], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)], {"w": w})
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.array_equal(got, x.astype(np.int64) @ w.astype(np.int64))


@pytest.mark.parametrize("depth", [1, 2, 63, 256])
def test_weights_of_seven_bits(depth):
    """Two products with them, also with 255, fit 16 bits, and no more than that."""
    random = np.random.default_rng(depth)
    w = random.integers(-64, 65, (depth, 40)).astype(np.int8)
    w[:, 0], w[:, 1] = 64, -64
    x = numbers(random, np.uint8, 17, depth)
    x[0] = 255
    proto = models.model([node("MatMulInteger", "x w", "y")], [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.INT32)], {"w": w})
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.array_equal(got, x.astype(np.int64) @ w.astype(np.int64))


@pytest.mark.parametrize("leading", [[0], [2, 0, 3]])
def test_empty_product(leading):
    case = Product(3, depth=5, leading=leading)
    proto = models.model([node("MatMulInteger", "x w xz", "y")], [("x", helper.np_dtype_to_tensor_dtype(case.x.dtype), case.x.shape)],
                         [("y", TensorProto.INT32)], {"w": case.w, "xz": case.zero})
    [got] = run(fathom.compile(proto), {"x": case.x})
    assert got.shape == case.sums.shape and got.dtype == np.int32


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fp", ["fast", "strict"])
def test_linear_product(seed, fp):
    case = Product(seed)
    element = helper.np_dtype_to_tensor_dtype(case.x.dtype)
    weights = {"xs": np.float32(0.02), "xz": case.zero, "w": case.w, "ws": np.float32(0.013), "wz": np.int8(0),
               "ys": np.float32(0.11 * np.sqrt(len(case.w))), "yz": zero_point(case.random, case.dtype)}
    proto = models.model([node("QLinearMatMul", "x xs xz w ws wz ys yz", "y")], [("x", element, case.x.shape)], [("y", element)], weights)
    [got] = run(fathom.compile(proto, fp=fp), {"x": case.x})
    if fp == "strict":
        [want] = ReferenceEvaluator(proto).run(None, {"x": case.x})
        assert got.dtype == want.dtype and np.array_equal(got, want)
    assert_rounded(got, case.sums * (0.02 * 0.013 / float(weights["ys"])), weights["yz"])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_product_between_quantisations(seed, op):
    case = Product(seed, leading=[5])
    x_scale, columns = np.float32(0.02), case.w.shape[1]
    w_scale = case.random.uniform(0.01, 0.03, columns).astype(np.float32)
    y_scale, y_zero = np.float32(0.11 * np.sqrt(len(case.w))), zero_point(case.random, case.dtype)
    bias = case.random.standard_normal(columns).astype(np.float32)
    transposed = op == "Gemm"
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"),
        node("DequantizeLinear", "w ws wz", "wd", axis=0 if transposed else 1),
        node("Gemm", "xd wd b", "c", transB=1) if transposed else node("MatMul", "xd wd", "m"),
        *([] if transposed else [node("Add", "m b", "c")]),
        node("Relu", "c", "r"), node("QuantizeLinear", "r ys yz", "y"),
    ]
    x = quantised(case.x, x_scale, case.zero)
    proto = models.model(nodes, [("x", TensorProto.FLOAT, x.shape)], [("y", helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype)))],
                         {"xs": x_scale, "xz": case.zero, "w": case.w.T.copy() if transposed else case.w, "ws": w_scale,
                          "wz": np.zeros(columns, np.int8), "b": bias, "ys": y_scale, "yz": y_zero})
    exact = np.maximum(case.sums * float(x_scale) * w_scale.astype(np.float64) + bias, 0) / float(y_scale)
    [got] = run(fathom.compile(proto), {"x": x})
    assert_rounded(got, exact, y_zero)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("op", ["Conv", "Gemm"])
def test_sums_that_do_not_fit_beside_the_bias(op, sign):
    """A quantiser clips numbers of a bias whose scale is too small for it."""
    x, w = np.full((3, 8), 255, np.uint8), np.full((5, 8), sign * 127, np.int8)
    bias = np.full(5, sign * (2**31 - 1), np.int32)
    exact = (x.astype(np.int64) @ w.astype(np.int64).T + bias) * 0.25
    if op == "Conv":
        x, w, exact = x.reshape(3, 8, 1, 1), w.reshape(5, 8, 1, 1), exact.reshape(3, 5, 1, 1)
    nodes = [node("DequantizeLinear", "x s", "xd"), node("DequantizeLinear", "w s", "wd"), node("DequantizeLinear", "b bs", "bd"),
             node("Conv", "xd wd bd", "y") if op == "Conv" else node("Gemm", "xd wd bd", "y", transB=1)]
    proto = models.model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)],
                         {"s": np.float32(0.5), "bs": np.float32(0.25), "w": w, "b": bias})
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.abs(got - exact).max() <= 1e-6 * np.abs(exact).max()


def test_bias_with_scales_along_rows():
    """As many as there are columns, and equal to those of the sums: still not theirs."""
    x, w, bias = np.arange(16, dtype=np.uint8).reshape(2, 8), np.ones((2, 8), np.int8), np.full((2, 2), 1000, np.int32)
    w_scale = np.asarray([1, 2], np.float32)
    nodes = [node("DequantizeLinear", "x s", "xd"), node("DequantizeLinear", "w ws", "wd", axis=0),
             node("DequantizeLinear", "b bs", "bd", axis=0), node("Gemm", "xd wd bd", "y", transB=1)]
    proto = models.model(nodes, [("x", TensorProto.UINT8, x.shape)], [("y", TensorProto.FLOAT)],
                         {"s": np.float32(0.5), "ws": w_scale, "bs": w_scale / 2, "w": w, "b": bias})
    want = x.astype(np.float64) @ w.T * 0.5 * w_scale + bias * (w_scale / 2).reshape(2, 1)
    [got] = run(fathom.compile(proto), {"x": x})
    assert np.abs(got - want).max() <= 1e-6 * np.abs(want).max()


def test_numbers_move_without_being_dequantised():
    """A pool and a reshape between two convolutions of one scale: what is between them is of bytes."""
    random = np.random.default_rng(7)
    w, v = (numbers(random, np.int8, 8, 8, 3, 3) for _ in range(2))
    scales = {"s": np.float32(0.05), "z": np.uint8(0), "ws": np.float32(0.01), "wz": np.int8(0), "w": w, "v": v}
    nodes = [
        node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "xd"), node("DequantizeLinear", "w ws wz", "wd"),
        node("Conv", "xd wd", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"), node("QuantizeLinear", "r s z", "rq"),
        node("DequantizeLinear", "rq s z", "rd"), node("MaxPool", "rd", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("QuantizeLinear", "p s z", "pq"), node("DequantizeLinear", "pq s z", "pd"), node("DequantizeLinear", "v ws wz", "vd"),
        node("Conv", "pd vd", "y", pads=[1, 1, 1, 1]),
    ]
    proto = models.model(nodes, [("x", TensorProto.FLOAT, [1, 8, 12, 12])], [("y", TensorProto.FLOAT)], scales)
    x = random.standard_normal((1, 8, 12, 12)).astype(np.float32)
    q = np.clip(np.rint(x / np.float32(0.05)), 0, 255)
    padded = {"pads": [1, 1, 1, 1]}
    first = np.clip(np.rint(exact_conv(q, w, padded) * np.float64(np.float32(0.05) * np.float32(0.01) / np.float32(0.05))), 0, 255)
    pooled = first.reshape(1, 8, 6, 2, 6, 2).max((3, 5))
    [got] = run(fathom.compile(proto), {"x": x})
    want = exact_conv(pooled, v, padded) * 0.05 * 0.01
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def whole_numbers(seed):
    """A random chain of operators on whole numbers, and an input: convolutions and a product, each requantised."""
    random = np.random.default_rng(seed)
    dtype = BYTES[random.choice(list(BYTES))]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, weights, name, channels, size = [], {}, "x", prime(random), int(random.integers(5, 9))
    shape = [int(random.integers(1, 3)), channels, size, size]
    scale, zero = np.float32(0.05), zero_point(random, dtype)

    def requantised(kind, w, depth, **attributes):
        nonlocal name, scale, zero
        at = len(nodes)
        result = np.float32(random.uniform(0.5, 2) * scale * np.sqrt(depth)), zero_point(random, dtype)
        w_scale = np.float32(random.uniform(0.01, 0.03))
        values = [scale, zero, w, w_scale, np.int8(0), *result]
        names = [f"c{at}_{i}" for i in range(len(values))]
        weights.update(zip(names, values, strict=True))
        nodes.append(node(kind, [name, *names], [f"v{at}"], **attributes))
        name, (scale, zero) = f"v{at}", result

    for _ in range(int(random.integers(1, 4))):
        outputs, kernel = prime(random, least=2), int(random.integers(1, 4))
        w = numbers(random, np.int8, outputs, channels, kernel, kernel)
        requantised("QLinearConv", w, w[0].size, pads=[kernel // 2] * 4, kernel_shape=[kernel, kernel])
        channels, size = outputs, size + 2 * (kernel // 2) - kernel + 1
        if random.random() < 0.4:
            nodes.append(node("Transpose", [name], [f"p{len(nodes)}"], perm=[0, 1, 3, 2]))
            name = nodes[-1].output[0]
    depth = channels * size * size
    weights["flat"] = np.asarray([0, depth], np.int64)
    nodes.append(node("Reshape", [name, "flat"], ["rows"]))
    name = "rows"
    requantised("QLinearMatMul", numbers(random, np.int8, depth, prime(random, least=2)), depth)
    nodes[-1].output[0] = "y"
    return models.model(nodes, [("x", element, shape)], [("y", element)], weights), {"x": numbers(random, dtype, *shape)}


@pytest.mark.parametrize("seed", range(8))
def test_whole_numbers_equal_the_reference(seed):
    """Bit by bit, through several operators."""
    proto, inputs = whole_numbers(seed)
    [got], [want] = run(fathom.compile(proto, fp="strict"), inputs), ReferenceEvaluator(proto).run(None, inputs)
    assert got.dtype == want.dtype and np.array_equal(got, want)
