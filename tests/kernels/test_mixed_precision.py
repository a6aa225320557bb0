"""The pass to-mixed-precision at random sizes: as near to double precision as products of halves with sums of single precision are, and inputs and
outputs of the types that the model has."""
import os
import random

import numpy as np
import pytest
from onnx import helper
from support.compare import run
from support.graphs import constant, convolutions
from support.models import make_model, value

import fathom

# Half of the distance of neighbouring numbers near 1.
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8}


def draw():
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    return random.Random(seed), np.random.default_rng(seed)


@pytest.mark.parametrize("kind", ROUNDING)
def test_product(pinned, kind):
    """Factors are rounded once, the sum is not of halves, and the result is rounded once: an element's error stays below what these give."""
    chance, rng = draw()
    m, k, n = (chance.choice([1, 2, 7, 31, 64]) for _ in range(3))
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [m, k]), value("w", [k, n])], [value("y", [m, n])], [], opset=17)
    artifact = fathom.compile(model, passes=f"default+to-mixed-precision{{type={kind}}}")
    x, w = (rng.standard_normal(shape, np.float32) for shape in ([m, k], [k, n]))
    (got,) = run(artifact, {"x": x, "w": w})
    assert got.dtype == np.float32 and got.shape == (m, n)
    want, magnitude = x.astype(np.float64) @ w, np.abs(x).astype(np.float64) @ np.abs(w)
    eps = ROUNDING[kind]
    gap = np.abs(got - want)
    assert (gap <= 2.1 * eps * magnitude + 1.1 * eps * np.abs(want) + 1e-6).all(), f"{m} x {k} x {n}"
    # Products of halves they are.
    exact = run(fathom.compile(model), {"x": x, "w": w})[0]
    assert got.tobytes() != exact.tobytes()


def perceptron(batch):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="a"),
        helper.make_node("Add", ["a", "b"], ["c"], name="c"),
        helper.make_node("Relu", ["c"], ["r"], name="r"),
        helper.make_node("MatMul", ["r", "v"], ["d"], name="d"),
        helper.make_node("Softmax", ["d"], ["y"], axis=-1, name="y"),
    ]
    constants = [constant("w", 16, 32), constant("b", 32, seed=1), constant("v", 32, 5, seed=2)]
    return make_model(nodes, [value("x", [batch, 16])], [value("y", [batch, 5])], constants, opset=17)


@pytest.mark.parametrize("kind", ROUNDING)
@pytest.mark.parametrize("build", [convolutions, lambda: perceptron("n")], ids=["convolutions", "perceptron"])
def test_graphs(pinned, build, kind):
    _, rng = draw()
    proto = build()
    shape = [d.dim_value or 3 for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = rng.standard_normal(shape, np.float32)
    # What is decided by halves is nearer to double precision than halves are coarse: the reference is this compiler's own, in single precision.
    (want,) = run(fathom.compile(proto), {"x": x})
    (got,) = run(fathom.compile(proto, passes=f"default+to-mixed-precision{{type={kind}}}"), {"x": x})
    assert got.dtype == np.float32 and got.tobytes() != want.tobytes()
    assert np.abs(got - want).max() <= 12 * ROUNDING[kind] * np.abs(want).max()


def test_other_orders(pinned):
    """Behind passes that make other products of it, and completed in front of fusion."""
    _, rng = draw()
    proto, x = convolutions(), rng.standard_normal([1, 3, 9, 7], np.float32)
    (want,) = run(fathom.compile(proto), {"x": x})
    for passes in ("with:to-mixed-precision,fuse-ops", "with:combine-parallel-conv2d,to-mixed-precision,fold-constant,fuse-ops"):
        (got,) = run(fathom.compile(proto, passes=passes), {"x": x})
        assert np.abs(got - want).max() <= 12 * ROUNDING["f16"] * np.abs(want).max(), passes
        assert got.tobytes() != want.tobytes(), passes
