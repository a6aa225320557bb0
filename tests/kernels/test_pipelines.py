"""Pipelines other than the default compute the same."""
import numpy as np
import pytest

from support.compare import agree
from support.models import FLOAT, floats, model, node

PIPELINES = {
    "least": "decompose-quantized, simplify-inference, canonicalize-ops, name-ops, convert-layout, store-results, fuse-ops, outline-kernels",
    "no folding": "repeat{passes={decompose-quantized, simplify-inference, canonicalize-ops, dynamic-to-static}}, name-ops, alter-op-layout, name-ops, convert-layout, store-results, place-pieces, fuse-ops, outline-kernels",
    "twice": "repeat{rounds=2 passes={decompose-quantized, simplify-inference, canonicalize-ops, repeat{rounds=2 passes={fold-constant, dynamic-to-static}}}}, name-ops, convert-layout, hoist-invariants, hoist-invariants, store-results, place-pieces, fuse-ops, outline-kernels",
}


@pytest.mark.parametrize("passes", PIPELINES.values(), ids=PIPELINES.keys())
def test_other_pipelines(random, passes):
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c scale shift mean variance", "n"),
        node("Relu", "n", "r"),
        node("Concat", "r x", "p", axis=1),
        node("Mul", "a b", "ab"),
        node("Mul", "p ab", "y"),
    ]
    constants = {name: floats(random, 16) for name in ("scale", "shift", "mean")} | {"variance": abs(floats(random, 16)) + np.float32(1)}
    constants |= {"w": floats(random, 16, 16, 3, 3), "a": floats(random, 1, 32, 1, 1), "b": floats(random, 7)}
    proto = model(nodes, [("x", FLOAT, [1, 16, 7, 7])], [("y", FLOAT)], constants)
    agree(proto, [{"x": floats(random, 1, 16, 7, 7)} for _ in range(2)], passes=passes)
