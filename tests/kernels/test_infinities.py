"""Activations of infinities, NaN and numbers near the ends of their type: what is infinite or not a number is what the operator's formula gives."""
import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import fathom
from support.models import DOUBLE, FLOAT, FLOAT16, model, node

ACTIVATIONS = {
    "Celu": {},
    "Elu": {},
    "Erf": {},
    "Gelu": {},
    "HardSigmoid": {},
    "HardSwish": {},
    "LeakyRelu": {},
    "Mish": {},
    "Selu": {},
    "Shrink": {},
    "Sigmoid": {},
    "Softplus": {},
    "Softsign": {},
    "Swish": {},
    "Tanh": {},
    "ThresholdedRelu": {},
}
TYPES = {"float32": FLOAT, "float16": FLOAT16, "float64": DOUBLE}
# An odd number, so that vectors have a tail, of which each element is in one too.
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 1, -1, -17, 17, 88, -88, -88.5, 88.5, -90, 104, -104, 700, -710, 1e4, -1e4] * 2 + [-np.inf]


def kind(x):
    """Of each number: nan, an infinity with its sign, or finite."""
    return np.where(np.isnan(x), "nan", np.where(np.isinf(x), np.where(x > 0, "inf", "-inf"), "finite"))


@pytest.mark.parametrize("mode", ["strict", "fast", "fast-math"])
@pytest.mark.parametrize("dtype", TYPES)
def test_activations(dtype, mode):
    x = np.array(EDGES, dtype)
    nodes = [node(op, "x", op.lower(), **attributes) for op, attributes in ACTIVATIONS.items()]
    nodes += [node("Gelu", "x", "tanhgelu", approximate="tanh"), node("Swish", "x", "steep", alpha=1.5)]
    nodes += [node("Sigmoid", "x", "s"), node("Mul", "x s", "product")]
    outputs = [n.output[0] for n in nodes if n.output[0] != "s"]
    proto = model(nodes, [("x", TYPES[dtype], x.shape)], [(name, TYPES[dtype]) for name in outputs], opset=24)
    with np.errstate(all="ignore"):
        want = ReferenceEvaluator(proto).run(None, {"x": x})
    options = {"passes": "default+fast-math"} if mode == "fast-math" else {"fp": mode}
    got = fathom.Session(fathom.compile(proto, **options)).run(None, {"x": x})
    for name, one, other in zip(outputs, got, want, strict=True):
        wrong = kind(one) != kind(other)
        assert not wrong.any(), f"{name} of {x[wrong]} is {one[wrong]}, not {other[wrong]}"
