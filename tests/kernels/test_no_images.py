"""A range that begins with 0: every operator works on no images at all, with ONNX Runtime's shapes."""
import numpy as np
import pytest

import fathom
from support.compare import agree
from support.models import FLOAT, floats, model, node

IMAGE = ["n", 8, 9, 7]


def weights(random):
    return {"w": floats(random, 4, 8, 3, 3), "d": floats(random, 8, 1, 3, 3), "t": floats(random, 8, 4, 3, 3),
            "p": floats(random, 4, 8, 1, 1), "c": floats(random, 8), "v": np.abs(floats(random, 8)) + 1, "m": floats(random, 7, 5),
            "flat": np.array([0, -1]), "q": floats(random, 8 * 9 * 7, 6)}


CASES = {
    "Conv": [node("Conv", "x w", "y", pads=[1, 1, 1, 1])],
    "pointwise": [node("Conv", "x p", "y")],
    "strided": [node("Conv", "x w", "y", strides=[2, 2])],
    "depthwise": [node("Conv", "x d", "y", group=8)],
    "ConvTranspose": [node("ConvTranspose", "x t", "y", strides=[2, 2])],
    "MaxPool": [node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[2, 2])],
    "AveragePool": [node("AveragePool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
    "LpPool": [node("LpPool", "x", "y", kernel_shape=[2, 2])],
    "GlobalAveragePool": [node("GlobalAveragePool", "x", "y")],
    "GlobalMaxPool": [node("GlobalMaxPool", "x", "y")],
    "LRN": [node("LRN", "x", "y", size=3)],
    "BatchNormalization": [node("BatchNormalization", "x c c c v", "y")],
    "InstanceNormalization": [node("InstanceNormalization", "x c c", "y")],
    "MatMul": [node("MatMul", "x m", "y")],
    "Softmax": [node("Softmax", "x", "y", axis=1)],
    "ReduceMean": [node("ReduceMean", "x", "y", axes=[1, 2])],
    "network": [node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "b"),
                node("MaxPool", "b", "e", kernel_shape=[2, 2]), node("Conv", "x p", "f"), node("GlobalAveragePool", "f", "g"),
                node("Mul", "e g", "y")],
    "Gemm": [node("Reshape", "x flat", "r"), node("Gemm", "r q", "y")],
}


@pytest.mark.parametrize("name", CASES)
def test_no_images(name, random):
    constants = weights(random)
    if name != "Gemm":
        constants.pop("flat")
    else:
        constants["flat"] = np.array([-1, 8 * 9 * 7])
    used = {i for each in CASES[name] for i in each.input}
    proto = model(CASES[name], [("x", FLOAT, IMAGE)], [("y", FLOAT)], {k: v for k, v in constants.items() if k in used})
    agree(proto, [{"x": floats(random, n, *IMAGE[1:])} for n in (0, 1, 0, 3, 4)], dim={"n": (0, 4)})


def test_no_pixels_are_refused(random):
    """A window needs at least one output; the range is narrowed to that, which the run says."""
    proto = model([node("MaxPool", "x", "y", kernel_shape=[2, 2])], [("x", FLOAT, ["n", 3, "h", 7])], [("y", FLOAT)])
    session = fathom.Session(fathom.compile(proto, dim={"h": (0, 8), "n": (0, 2)}))
    for h in (0, 1):
        with pytest.raises(fathom.Error, match="got . compiled for 2 to 8".replace(". ", "., ")):
            session.run(None, {"x": floats(random, 1, 3, h, 7)})
