"""Cheaper functions, where the pass fast-math asks for them, within the errors that docs/dev/numerics.md states: against double precision."""
import math
import os
import random

import numpy as np
import pytest
from onnx import helper
from support.compare import assert_close, run
from support.models import make_model, value

import fathom

erf = np.vectorize(math.erf, otypes=[np.float64])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# Of each operator: the function, and how far it may be off, of the result and by itself.
FUNCTIONS = {
    "Exp": (np.exp, 1e-5, 2e-38),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 1e-5, 2e-38),
    "Tanh": (np.tanh, 3e-5, 0),
    "Erf": (erf, 0, 3e-5),
    "Gelu": (lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), 0, lambda x: 1.5e-5 * np.abs(x)),
    "Swish": (lambda x: x / (1 + np.exp(-x)), 1e-5, 1e-36),
    "Softmax": (softmax, 3e-5, 2e-38),
    "LogSoftmax": (lambda x: np.log(softmax(x)), 1e-6, 1e-5),
}  # fmt: skip
OPSETS = {"Gelu": 20, "Swish": 24}


def draw():
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    return random.Random(seed), np.random.default_rng(seed)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_bounds(pinned, op):
    chance, rng = draw()
    function, relative, absolute = FUNCTIONS[op]
    shape = [chance.choice([1, 3, 17]), chance.choice([1, 7, 64, 1009])]
    model = make_model([helper.make_node(op, ["x"], ["y"])], [value("x", shape)], [value("y", shape)], [], opset=OPSETS.get(op, 17))
    artifacts = {passes: fathom.compile(model, passes=passes) for passes in ("default", "default+fast-math")}
    differs = False
    for scale in (1, 5, 30):
        # Where the exponential is finite.
        x = np.minimum(rng.standard_normal(shape) * scale, 88).astype(np.float32)
        want = function(x.astype(np.float64))
        results = {passes: run(artifact, {"x": x})[0] for passes, artifact in artifacts.items()}
        allowed = relative * np.abs(want) + (absolute(x) if callable(absolute) else absolute)
        # What is rounded on the way and in the end.
        allowed += 4 * np.finfo(np.float32).eps * np.abs(want) + 1e-44
        gap = np.abs(results["default+fast-math"] - want)
        worst = np.unravel_index((gap - allowed).argmax(), shape)
        assert (gap <= allowed).all(), f"{op}({x[worst]}) is {results['default+fast-math'][worst]}, not {want[worst]}"
        differs |= results["default"].tobytes() != results["default+fast-math"].tobytes()
    # One number's softmax is 1 however it is computed.
    assert differs or (op in ("Softmax", "LogSoftmax") and shape[1] == 1)


def test_edges(pinned):
    """Not a number stays so, infinities have their limits, and zeros their signs."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -100.0, 88.5], np.float32)
    for op in ("Exp", "Sigmoid", "Tanh", "Erf"):
        model = make_model([helper.make_node(op, ["x"], ["y"])], [value("x", [8])], [value("y", [8])], [], opset=17)
        (got,) = run(fathom.compile(model, passes="default+fast-math"), {"x": x})
        with np.errstate(over="ignore"):
            want = FUNCTIONS[op][0](x.astype(np.float64))
        assert_close(got, want, "network", op)
        if op in ("Tanh", "Erf"):
            assert np.signbit(got[4]) and not np.signbit(got[3])


def test_strict_stays(pinned):
    model = make_model([helper.make_node("Exp", ["x"], ["y"])], [value("x", [257])], [value("y", [257])], [], opset=17)
    x = np.random.default_rng(0).standard_normal(257, np.float32)
    one, other = (run(fathom.compile(model, passes=passes, fp="strict"), {"x": x})[0] for passes in ("default", "default+fast-math"))
    assert one.tobytes() == other.tobytes()
