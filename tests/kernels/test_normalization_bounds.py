"""Normalisation of rows whose mean is far above their spread: the rounding of the mean is all that is lost."""
import numpy as np
import pytest
from onnx import helper

import fathom
from support.bounds import EPSILON
from support.models import model_of

CHANNELS = 16


def build(kind, size, random):
    """Nodes from x, the shape of x, weights, and how the rows are found in it."""
    one, zero = (np.full(size if kind == "layer" else CHANNELS, number, np.float32) for number in (1, 0))
    weights = {"one": one, "zero": zero}
    operands = ["x", "one", "zero"]
    if kind == "layer":
        return [helper.make_node("LayerNormalization", operands, ["y"], epsilon=1e-9)], (24, size), weights, (24, size)
    if kind == "group":
        node = helper.make_node("GroupNormalization", operands, ["y"], epsilon=1e-9, num_groups=4)
        return [node], (2, CHANNELS, size), weights, (8, -1)
    shape = (2, CHANNELS, size // 16, 16)
    nodes = [helper.make_node("InstanceNormalization", operands, ["y"], epsilon=1e-9)]
    if kind == "pixels":
        # What a convolution leaves may lie channels last, where the lanes are those of several rows.
        weights["w"] = np.eye(CHANNELS, dtype=np.float32)[:, :, None, None]
        nodes[0].input[0] = "c"
        nodes.insert(0, helper.make_node("Conv", ["x", "w"], ["c"]))
    return nodes, shape, weights, (2 * CHANNELS, -1)


@pytest.mark.parametrize("size", [96, 784, 4096])
@pytest.mark.parametrize("kind", ["layer", "instance", "pixels", "group"])
def test_means_far_above_the_spread(kind, size, random):
    nodes, shape, weights, rows = build(kind, size, random)
    x = random.standard_normal(shape).astype(np.float32)
    session = fathom.Session(fathom.compile(model_of(nodes, {"x": x}, weights, opset=21)))
    for mean in (0, 1.5, 3, 100, 1e3, 1e4, -1e5):
        given = (x + np.float32(mean)).astype(np.float32)
        if kind in ("instance", "pixels"):
            given[:, ::2] -= np.float32(mean)  # rows of both kinds beside each other
        exact = given.astype(np.float64).reshape(rows)
        center, spread = exact.mean(1, keepdims=True), exact.std(1, keepdims=True)
        want = (exact - center) / np.sqrt(spread**2 + 1e-9)
        error = np.abs(session.run(None, {"x": given})[0].reshape(rows) - want)
        assert np.all(error <= EPSILON * (0.55 * np.abs(center) / spread + 16 * (1 + np.abs(want))))


@pytest.mark.parametrize("kind", ["layer", "instance", "pixels", "group"])
def test_rows_without_a_spread(kind, random):
    nodes, shape, weights, _ = build(kind, 784, random)
    session = fathom.Session(fathom.compile(model_of(nodes, {"x": np.ones(shape, np.float32)}, weights, opset=21)))
    for number in (0, 0.1, -3e4, 1.1e8, 1e30):
        result = session.run(None, {"x": np.full(shape, number, np.float32)})[0]
        assert np.all(result == 0)
    assert np.all(session.run(None, {"x": random.standard_normal(shape).astype(np.float32)})[0] != 0)
