"""Determinants, running products and mel filters, against ONNX Runtime and NumPy."""
import numpy as np
import pytest

import fathom
from support.compare import agree, assert_close
from support.models import FLOAT, INT32, floats, model, node, prime

ROUNDS = 8


@pytest.mark.parametrize("outer", [[], ["a"], ["a", "b"]], ids=str)
def test_determinant(outer, random):
    proto = model([node("Det", "x", "y")], [("x", FLOAT, [*outer, "n", "n"])], [("y", FLOAT)], opset=11)
    session = fathom.Session(fathom.compile(proto))
    for size in (1, 2, 3, 5, 8, 13):
        x = floats(random, *(prime(random) for _ in outer), size, size)
        assert_close(session.run(None, {"x": x})[0], np.linalg.det(x.astype(np.float64)), "product", data=1.0)
    # Singular, and with zeros on the diagonal.
    x = np.zeros([2] * len(outer) + [3, 3], np.float32)
    assert np.all(session.run(None, {"x": x})[0] == 0)
    x[..., [0, 1, 2], [1, 2, 0]] = [2, 3, 4]
    assert_close(session.run(None, {"x": x})[0], np.full(x.shape[:-2], 24.0), "arithmetic")


def test_determinant_of_no_squares(random):
    proto = model([node("Det", "x", "y")], [("x", FLOAT, [3, 4])], [("y", FLOAT)], opset=11)
    with pytest.raises(fathom.Error, match="square"):
        fathom.compile(proto)


@pytest.mark.parametrize("exclusive, reverse", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_product(axis, exclusive, reverse, random):
    proto = model([node("CumProd", "x axis", "y", exclusive=exclusive, reverse=reverse)], [("x", FLOAT, ["a", "b", 3])],
                  [("y", FLOAT)], {"axis": np.array(axis)}, opset=26)
    session = fathom.Session(fathom.compile(proto))
    for _ in range(ROUNDS):
        x = random.uniform(0.5, 1.5, (prime(random), prime(random), 3)).astype(np.float32)
        turned = np.flip(x, axis) if reverse else x
        want = np.cumprod(turned.astype(np.float64), axis)
        if exclusive:
            want = np.concatenate([np.ones_like(np.take(want, [0], axis)), np.delete(want, -1, axis)], axis)
        want = np.flip(want, axis) if reverse else want
        assert_close(session.run(None, {"x": x})[0], want, "sum")


def test_mel_filters(random):
    scalars = [("bins", INT32, []), ("length", INT32, []), ("rate", INT32, []), ("low", FLOAT, []), ("high", FLOAT, [])]
    proto = model([node("MelWeightMatrix", "bins length rate low high", "y")], scalars, [("y", FLOAT)])
    feeds = []
    for bins, length, rate in [(8, 16, 8192), (40, 512, 16000), (80, 400, 16000), (1, 32, 8000), (13, 1024, 44100)]:
        high = rate / 2 * random.uniform(0.6, 0.99)
        feeds.append({"bins": np.array(bins, np.int32), "length": np.array(length, np.int32),
                      "rate": np.array(rate, np.int32), "low": np.array(random.uniform(0, 100), np.float32),
                      "high": np.array(high, np.float32)})
    agree(proto, feeds)
    fixed = {name: feeds[1][name] for name, _, _ in scalars}
    proto = model([node("MelWeightMatrix", "bins length rate low high", "m"), node("MatMul", "x m", "y")],
                  [("x", FLOAT, ["n", 257])], [("y", FLOAT)], fixed)
    agree(proto, [{"x": floats(random, prime(random), 257)} for _ in range(3)])
