"""Declarations of quantisation and of products of integers."""
import numpy as np

from catalog import op
from ops_products import window
from values import FLOATS

BYTES = [np.dtype(np.uint8), np.dtype(np.int8)]


def scale(g, i, shape=()):
    # Powers of two: a quotient's rounding then decides no element.
    return g.given(i, (2.0 ** g.random.integers(-5, 0, shape)).astype(np.float32), np.float32)


def zero_point(g, i, dtype, shape=()):
    low, high = (0, 20) if dtype.kind == "u" else (-10, 10)
    return g.given(i, g.random.integers(low, high, shape), dtype)


@op("QuantizeLinear")
def quantize(g):
    x = g.arg(0, rank=(1, 4), types=FLOATS[:1])
    dtype = g.choose(BYTES + ([np.dtype(np.uint16), np.dtype(np.int16)] if g.opset >= 21 else []))
    axis = g.axis(x) if g.chance(0.4) else None
    shape = () if axis is None else (x.shape[axis],)
    g.node(x, scale(g, 1, shape), zero_point(g, 2, dtype, shape), axis=axis)


@op("DequantizeLinear")
def dequantize(g):
    kinds = BYTES + [np.dtype(np.int32)] + ([np.dtype(np.uint16), np.dtype(np.int16)] if g.opset >= 21 else [])
    x = g.arg(0, rank=(1, 4), types=kinds)
    axis = g.axis(x) if g.chance(0.4) else None
    shape = () if axis is None else (x.shape[axis],)
    zero = zero_point(g, 2, x.dtype, shape) if x.dtype != np.int32 and g.chance(0.8) else None
    g.node(x, scale(g, 1, shape), zero, axis=axis)


@op("DynamicQuantizeLinear")
def dynamic_quantize(g):
    x = g.arg(0, rank=(1, 4), sizes=(1, None))
    g.node(x, outputs=3)


@op("MatMulInteger")
def matmul_integer(g):
    m, k, n = g.size(1), g.size(1), g.size(1)
    a = g.arg(0, shape=(*g.shape((0, 1), low=1, high=3), m, k))
    b = g.arg(1, shape=(k, n))
    g.node(a, b, zero_point(g, 2, a.dtype) if g.chance(0.6) else None, zero_point(g, 3, b.dtype) if g.chance(0.6) else None)


@op("ConvInteger")
def conv_integer(g):
    kernel, attributes, image = window(g, 2, 7)
    ins, outs = g.size(1, 5), g.size(1, 5)
    x = g.arg(0, shape=(g.size(1, 2), ins, *image), types=BYTES[:1])
    w = g.arg(1, shape=(outs, ins, *kernel), types=BYTES[:1])
    g.node(x, w, zero_point(g, 2, x.dtype) if g.chance(0.6) else None, kernel_shape=kernel, **attributes)


@op("QLinearMatMul")
def qlinear_matmul(g):
    m, k, n = g.size(1, 7), g.size(1, 7), g.size(1, 7)
    a, b = g.arg(0, shape=(m, k), types=BYTES), g.arg(3, shape=(k, n), types=BYTES)
    g.node(a, scale(g, 1), zero_point(g, 2, a.dtype), b, scale(g, 4), zero_point(g, 5, b.dtype), scale(g, 6), zero_point(g, 7, a.dtype))


@op("QLinearConv")
def qlinear_conv(g):
    kernel, attributes, image = window(g, 2, 7)
    ins, outs = g.size(1, 5), g.size(1, 5)
    x = g.arg(0, shape=(g.size(1, 2), ins, *image), types=BYTES)
    w = g.arg(3, shape=(outs, ins, *kernel), types=BYTES if x.dtype == BYTES[0] else BYTES[1:])
    each = () if g.chance(0.5) else (outs,)
    bias = g.given(8, g.random.integers(-50, 50, outs), np.int32) if g.chance(0.5) else None
    g.node(x, scale(g, 1), zero_point(g, 2, x.dtype), w, scale(g, 4, each), g.given(5, np.zeros(each), w.dtype), scale(g, 6),
           zero_point(g, 7, x.dtype), bias, kernel_shape=kernel, **attributes)
