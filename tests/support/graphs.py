"""Graphs that passes have something to do with."""
import numpy as np
from onnx import helper, numpy_helper

from support.models import make_model, value


def constant(name, *shape, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape, np.float32) * 0.5, name)


def convolutions():
    """What most passes look for: padding, normalisation, equal ops, parallel convolutions, a joined result, a product."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"]),
        helper.make_node("Conv", ["p", "w1"], ["c1"], name="first"),
        helper.make_node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n1"], name="norm"),
        helper.make_node("Relu", ["n1"], ["r1"], name="r1"),
        helper.make_node("Relu", ["n1"], ["r2"], name="r2"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="left"),
        helper.make_node("Conv", ["r2", "w3"], ["c3"], name="right"),
        helper.make_node("Concat", ["c2", "c3"], ["j"], axis=1, name="join"),
        helper.make_node("GlobalAveragePool", ["j"], ["g"], name="pool"),
        helper.make_node("Flatten", ["g"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], transB=1, name="fc"),
    ]
    constants = [
        numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "pads"),
        constant("w1", 5, 3, 3, 3), constant("s", 5, seed=1), constant("b", 5, seed=2), constant("m", 5, seed=3),
        numpy_helper.from_array(np.full(5, 2, np.float32), "v"),
        constant("w2", 4, 5, 1, 1, seed=4), constant("w3", 7, 5, 1, 1, seed=5), constant("w4", 3, 11, seed=6), constant("b4", 3, seed=7),
    ]  # fmt: skip
    return make_model(nodes, [value("x", [1, 3, 9, 7])], [value("y", [1, 3])], constants, opset=17)
