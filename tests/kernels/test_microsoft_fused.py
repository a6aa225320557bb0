"""Operators of domain com.microsoft that are several in one, or quantised ones, against ONNX Runtime."""
import math

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close
from support.models import floats

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
         "int8": TensorProto.INT8}


def check(op, inputs, outputs=("float32",), steps=0, family="product", constant=(), **attributes):
    """One node with these inputs, of which None is absent and some are constants. Quantised results may differ by so many steps."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    given = {name: array for i, (name, array) in enumerate(zip(names, inputs)) if name and i not in constant}
    results = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, name=op, domain="com.microsoft", **attributes)], op,
        [helper.make_tensor_value_info(name, TYPES[str(array.dtype)], [f"{name}_{d}" if d == 0 and array.ndim > 1 else size
                                                                       for d, size in enumerate(array.shape)])
         for name, array in given.items()],
        [helper.make_tensor_value_info(name, TYPES[kind], None) for name, kind in zip(results, outputs)],
        [numpy_helper.from_array(inputs[i], names[i]) for i in constant])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1  # some quantise what each thread has by itself
    expected = onnxruntime.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    for got, want in zip(fathom.Session(fathom.compile(proto)).run(None, given), expected.run(None, given), strict=True):
        assert got.dtype == want.dtype
        assert len(np.unique(want)) > 1 or want.size == 1
        if want.dtype.kind == "f":
            assert_close(got, want, family, data=1.0)
        else:
            assert got.shape == want.shape
            assert np.abs(got.astype(int) - want.astype(int)).max() <= steps


ACTIVATIONS = [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
               ("HardSigmoid", [0.3, 0.4])]


@pytest.mark.parametrize("activation, numbers", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("added", [False, True])
def test_fused_conv(added, activation, numbers, random):
    attributes = {"activation": activation, "pads": [1, 0, 1, 0], "strides": [2, 1]}
    if numbers:
        attributes["activation_params"] = numbers
    inputs = [floats(random, 2, 3, 7, 5), floats(random, 4, 3, 3, 3), floats(random, 4)]
    if added:
        inputs.append(floats(random, 2, 4, 4, 3))
    check("FusedConv", inputs, **attributes)


def test_fused_gemm(random):
    inputs = [floats(random, 7, 5), floats(random, 23, 5), floats(random, 23)]
    check("FusedGemm", inputs, activation="Relu", transB=1, alpha=0.5, beta=2.0)
    check("FusedGemm", inputs, activation="LeakyRelu", activation_alpha=0.1, transB=1)


def test_unknown_activation(random):
    with pytest.raises(fathom.Error, match="activation 'Sine'"):
        check_compile = helper.make_model(helper.make_graph(
            [helper.make_node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft", activation="Sine")], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4]),
             helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 1, 3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
        fathom.compile(check_compile)


def test_embeddings(random):
    ids = random.integers(0, 13, (3, 7)).astype(np.int32)
    segments = random.integers(0, 2, (3, 7)).astype(np.int32)
    mask = (random.random((3, 7)) < 0.6).astype(np.int32)
    mask[0] = 0
    mask[0, 0] = mask[1, :2] = 1
    tables = [floats(random, 13, 8), floats(random, 11, 8), floats(random, 2, 8)]
    scale, bias = floats(random, 8), floats(random, 8)
    kinds = ("float32", "int32", "float32")
    check("EmbedLayerNormalization", [ids, segments, *tables, scale, bias, mask], kinds, epsilon=1e-5)
    check("EmbedLayerNormalization", [ids, None, *tables[:2], None, scale, bias, mask], kinds, epsilon=1e-5)


def quantized(random, *shape, kind=np.uint8):
    info = np.iinfo(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


def scale(value):
    return np.array(value, np.float32)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_quantized_binary(op, kind, random):
    zero = quantized(random, kind=kind)
    a, b = quantized(random, 3, 5, 7, kind=kind), quantized(random, 7, kind=kind)
    check(op, [a, scale(0.02), zero, b, scale(0.03), zero, scale(0.05), zero], (np.dtype(kind).name,), steps=1)


@pytest.mark.parametrize("op, attributes", [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.2})])
def test_quantized_unary(op, attributes, random):
    x = quantized(random, 5, 31)
    check(op, [x, scale(0.04), np.full((), 120, np.uint8), scale(0.03), np.full((), 3, np.uint8)], ("uint8",),
          steps=1, **attributes)


@pytest.mark.parametrize("last", [0, 1])
def test_quantized_pooling(last, random):
    x = quantized(random, 2, 7, 5, 3) if last else quantized(random, 2, 3, 7, 5)
    rest = [scale(0.04), np.full((), 100, np.uint8), scale(0.03), np.full((), 90, np.uint8)]
    check("QLinearGlobalAveragePool", [x, *rest], ("uint8",), steps=1, channels_last=last)
    check("QLinearAveragePool", [x, *rest], ("uint8",), steps=1, channels_last=last, kernel_shape=[3, 2], strides=[2, 1])


def test_quantized_concat(random):
    zero = np.full((), 7, np.uint8)
    parts = [quantized(random, 2, 3), scale(0.02), zero, quantized(random, 2, 5), scale(0.05), zero]
    check("QLinearConcat", [scale(0.04), zero, *parts], ("uint8",), steps=1, axis=1)


@pytest.mark.parametrize("biased", [False, True])
def test_integer_products(biased, random):
    a, b = quantized(random, 7, 13), quantized(random, 13, 5, kind=np.int8)
    zero, other = np.full((), 99, np.uint8), np.full((), -3, np.int8)
    bias = floats(random, 5) if biased else None
    check("MatMulIntegerToFloat", [a, b, scale(0.02), scale(0.03), zero, other, bias])
    check("MatMulIntegerToFloat", [a, b, scale(0.02), np.abs(floats(random, 5)) + 0.01, zero, None, bias])
    check("DynamicQuantizeMatMul", [floats(random, 7, 13), b, scale(0.03), other, bias], family="network")


@pytest.mark.parametrize("result", ["float32", "uint8"])
def test_quantized_gemm(result, random):
    a, b = quantized(random, 7, 13), quantized(random, 5, 13)
    inputs = [a, scale(0.02), np.full((), 99, np.uint8), b, scale(0.03), np.full((), 120, np.uint8),
              random.integers(-1000, 1000, 5).astype(np.int32)]
    if result == "uint8":
        inputs += [scale(0.5), np.full((), 128, np.uint8)]
    check("QGemm", inputs, (result,), steps=1, transB=1, alpha=1.0)


@pytest.mark.parametrize("op, attributes", [("Trilu", {"upper": 0}), ("TransposeMatMul", {"transA": 1})])
def test_other_names(op, attributes, random):
    check(op, [floats(random, 5, 4)] + [floats(random, 5, 3)] * (op == "TransposeMatMul"), **attributes)


def run(op, inputs, outputs=1, **attributes):
    """What Fathom makes of a node that ONNX Runtime has no code for on CPUs."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    given = {name: array for name, array in zip(names, inputs) if name}
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, name=op, domain="com.microsoft", **attributes)], op,
        [helper.make_tensor_value_info(name, TYPES[str(array.dtype)], array.shape) for name, array in given.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return fathom.Session(fathom.compile(helper.make_model(graph, opset_imports=opsets, ir_version=10))).run(None, given)


def gelu(x, fast=False):
    x = x.astype(np.float64)
    if fast:
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


def close(got, want):
    assert_close(got, want, "product", data=1.0)


def test_biases(random):
    x, b, skip = floats(random, 2, 7, 6), floats(random, 6), floats(random, 2, 7, 6)
    close(run("BiasAdd", [x, b, skip])[0], x + b + skip)
    close(run("BiasSplitGelu", [x, b])[0], (x + b)[..., :3] * gelu((x + b)[..., 3:]))
    w = floats(random, 6, 5)
    close(run("GemmFastGelu", [x, w, floats(random, 5) * 0])[0], gelu(x @ w, fast=True))
    with pytest.raises(fathom.Error, match="even number"):
        run("BiasSplitGelu", [floats(random, 2, 3, 5), floats(random, 5)])


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_group_norm(last, activation, random):
    channels, groups = 6, 3
    x, skip = floats(random, 2, 5, 4, channels), floats(random, 2, 5, 4, channels)
    scale, shift, bias = floats(random, channels), floats(random, channels), floats(random, channels)

    def normal(x):
        parts = x.astype(np.float64).reshape(2, 20, groups, -1)
        parts = (parts - parts.mean((1, 3), keepdims=True)) / np.sqrt(parts.var((1, 3), keepdims=True) + 1e-3)
        y = parts.reshape(x.shape) * scale + shift
        return y / (1 + np.exp(-y)) if activation else y

    def laid(x):
        return x if last else np.ascontiguousarray(x.transpose(0, 3, 1, 2))

    attributes = {"groups": groups, "epsilon": 1e-3, "activation": activation, "channels_last": last}
    close(run("GroupNorm", [laid(x), scale, shift], **attributes)[0], laid(normal(x)))
    result, total = run("SkipGroupNorm", [laid(x), scale, shift, laid(skip), bias], 2, **attributes)
    close(total, laid(x + skip + bias))
    close(result, laid(normal(x + skip + bias)))


def test_quantized_softmax(random):
    x = quantized(random, 3, 7)
    check("QLinearSoftmax", [x, scale(0.05), np.full((), 100, np.uint8), scale(1 / 256), np.full((), 0, np.uint8)],
          ("uint8",), steps=1, axis=-1, opset=13)


@pytest.mark.parametrize("direction, kind, columns, batch, time", [
    ("forward", np.uint8, False, 1, 1),
    ("reverse", np.int8, False, 3, 5),
    ("bidirectional", np.uint8, False, 2, 7),
    ("forward", np.int8, True, 5, 13),
])
def test_quantized_lstm(direction, kind, columns, batch, time, random):
    """Inputs and states are rounded to 8 bits in every step. What lies between two of them may fall to either side, and all that follows
    differs then: of several tries one must agree closely, and all must nearly."""
    count, width, hidden = 2 if direction == "bidirectional" else 1, 11, 7
    shape = (count, 4 * hidden) if columns else (count,)
    attributes = {"hidden_size": hidden, "direction": direction, "constant": [1, 2, 3, 8, 9, 10, 11]}
    for _ in range(5):
        zero = np.zeros(shape, kind) if kind == np.int8 else random.integers(120, 136, shape).astype(kind)
        scales = [(0.01 + 0.01 * random.random(shape)).astype(np.float32) for _ in range(2)]
        weights = [quantized(random, count, rows, 4 * hidden, kind=kind) for rows in (width, hidden)]
        states = [floats(random, count, batch, hidden) for _ in range(2)]
        inputs = [floats(random, time, batch, width), *weights, floats(random, count, 8 * hidden), None, *states, None, scales[0], zero, scales[1], zero]
        try:
            return check("DynamicQuantizeLSTM", inputs, ("float32",) * 3, **attributes)
        except AssertionError:
            check("DynamicQuantizeLSTM", inputs, ("float32",) * 3, family="bytes", **attributes)
    pytest.fail("no try agrees closely")
