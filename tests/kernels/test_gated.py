"""Gates, causal convolutions with a state, and scales of blocks, against NumPy."""
import numpy as np
import pytest
from onnx import TensorProto

import fathom
from support.compare import assert_close
from support.models import FLOAT, floats, model, node, prime

ROUNDS = 6


def swish(x, alpha=1.0):
    return x / (1 + np.exp(-alpha * x))


def test_swiglu(random):
    proto = model([node("SwiGLU", "a b", "y", alpha=1.5)], [("a", FLOAT, ["m", "n"]), ("b", FLOAT, ["m", "n"])],
                  [("y", FLOAT)], opset=28)
    session = fathom.Session(fathom.compile(proto))
    for _ in range(ROUNDS):
        shape = prime(random), prime(random)
        a, b = floats(random, *shape), floats(random, *shape)
        assert_close(session.run(None, {"a": a, "b": b})[0], swish(a.astype(np.float64), 1.5) * b, "sum")


@pytest.mark.parametrize("activation", ["none", "silu"])
@pytest.mark.parametrize("has_past", [False, True])
def test_causal_convolution(has_past, activation, random):
    channels, taps = 5, 4
    w, b = floats(random, channels, 1, taps), floats(random, channels)
    proto = model([node("CausalConvWithState", "x w b past" if has_past else "x w b", "y state", activation=activation)],
                  [("x", FLOAT, ["n", channels, "l"])] + [("past", FLOAT, ["n", channels, taps - 1])] * has_past,
                  [("y", FLOAT), ("state", FLOAT)], {"w": w, "b": b}, opset=27)
    session = fathom.Session(fathom.compile(proto))
    for _ in range(ROUNDS):
        n, length = prime(random), prime(random)
        x, past = floats(random, n, channels, length), np.zeros((n, channels, taps - 1), np.float32)
        feed = {"x": x}
        if has_past:
            feed["past"] = past = floats(random, *past.shape)
        joined = np.concatenate([past, x], 2).astype(np.float64)
        want = sum(joined[:, :, tap:tap + length] * w[None, :, 0, tap, None] for tap in range(taps)) + b[None, :, None]
        want = swish(want) if activation == "silu" else want
        got, state = session.run(None, feed)
        assert_close(got, want, "arithmetic")
        assert_close(state, joined[:, :, length:], "exact")


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("block", [2, 3, 5])
def test_scales_of_blocks(block, axis, random):
    rows, columns = 7, 12
    length = (rows, columns)[axis]
    blocks = -(-length // block)
    shape = (blocks, columns) if axis == 0 else (rows, blocks)
    proto = model([node("DequantizeLinear", "x s z", "y", axis=axis, block_size=block),
                   node("QuantizeLinear", "y s z", "q", axis=axis, block_size=block)],
                  [("x", TensorProto.INT8, [rows, columns]), ("s", FLOAT, shape), ("z", TensorProto.INT8, shape)],
                  [("y", FLOAT), ("q", TensorProto.INT8)], opset=21)
    x = random.integers(-128, 128, (rows, columns)).astype(np.int8)
    s, z = random.uniform(0.01, 0.1, shape).astype(np.float32), random.integers(-5, 6, shape).astype(np.int8)
    y, q = fathom.Session(fathom.compile(proto)).run(None, {"x": x, "s": s, "z": z})
    place = np.arange(length) // block
    want = (x.astype(np.float32) - np.take(z, place, axis)) * np.take(s, place, axis)
    assert_close(y, want, "arithmetic")
    assert_close(q, x, "exact")
