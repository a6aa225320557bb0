"""--precision fp16 and bf16 on a device, PoCL's: as near to double precision as 16-bit factors with sums of single precision are, whatever else the
model is made of; inputs and outputs keep their types, and weights are half as large."""
import os
import random
import tempfile

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.graphs import constant, convolutions
from support.models import make_model, value

import fathom

# Programs that were built before are taken from a cache, which must not outlive the compiler that made their source.
os.environ.setdefault("POCL_CACHE_DIR", tempfile.mkdtemp(prefix="pocl-"))

# Half of the distance of neighbouring numbers near 1.
ROUNDING = {"fp16": 2.0**-11, "bf16": 2.0**-8}


@pytest.fixture
def chance():
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def rng(chance):
    return np.random.default_rng(chance.randrange(2**32))


def run(proto, inputs, **options):
    """Its outputs on the device, the same bits in a second run."""
    session = fathom.Session(fathom.compile(proto, target="opencl", **options))
    first, again = ([np.copy(value) for value in session.run(None, inputs)] for _ in range(2))
    assert [value.tobytes() for value in first] == [value.tobytes() for value in again]
    return first


def within(got, want, magnitude, precision):
    """numerics.md's bound of a product: two factors and the result are rounded, the sum is of single precision."""
    eps = ROUNDING[precision]
    assert got.dtype == np.float32 and got.shape == want.shape
    assert (np.abs(got - want) <= 2.1 * eps * magnitude + 1.1 * eps * np.abs(want) + 1e-6).all()


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (31, 7, 13), (64, 64, 48), (3, 130, 33), (0, 5, 3), (5, 0, 3)])
def test_products(rng, precision, m, k, n):
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [m, k]), value("w", [k, n])], [value("y", [m, n])], [], opset=17)
    x, w = (rng.standard_normal(shape, np.float32) for shape in ([m, k], [k, n]))
    (got,) = run(model, {"x": x, "w": w}, precision=precision)
    within(got, x.astype("d") @ w, np.abs(x).astype("d") @ np.abs(w), precision)
    if m * k * n > 64:
        assert got.tobytes() != run(model, {"x": x, "w": w})[0].tobytes()


@pytest.mark.parametrize("precision", ROUNDING)
def test_convolution_of_any_batch(rng, precision):
    model = make_model([helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", ["n", 3, 6, 5])], [value("y", ["n", 7, 4, 3])], [constant("w", 7, 3, 3, 3)], opset=17)
    weight = numpy_helper.to_array(model.graph.initializer[0]).astype("d")
    for batch in (1, 3):
        x = rng.standard_normal((batch, 3, 6, 5), np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        (got,) = run(model, {"x": x}, precision=precision)
        within(got, np.einsum("nchwij,ocij->nohw", windows, weight), np.einsum("nchwij,ocij->nohw", np.abs(windows), np.abs(weight)), precision)


def attention():
    """Products, a mask that f16 cannot hold, a softmax, a normalisation and what follows them."""
    nodes = [
        helper.make_node("MatMul", ["x", "wq"], ["q"]), helper.make_node("MatMul", ["x", "wk"], ["k"]), helper.make_node("MatMul", ["x", "wv"], ["v"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]), helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Add", ["s", "mask"], ["masked"]), helper.make_node("Softmax", ["masked"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["o"]), helper.make_node("Add", ["o", "x"], ["r"]),
        helper.make_node("LayerNormalization", ["r", "scale"], ["y"]),
    ]  # fmt: skip
    mask = np.zeros((1, 1, 9), np.float32)
    mask[..., 7:] = -3e38
    # Scores of about 1: larger ones make a softmax a choice, which a rounding turns around.
    small = {name: numpy_helper.to_array(constant(name, 16, 16, seed=i)) / 8 for i, name in enumerate(("wq", "wk", "wv"))}
    weights = [numpy_helper.from_array(array, name) for name, array in small.items()]
    weights += [numpy_helper.from_array(mask, "mask"), numpy_helper.from_array(np.ones(16, np.float32), "scale")]
    return make_model(nodes, [value("x", [2, 9, 16])], [value("y", [2, 9, 16])], weights, opset=17)


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("build, depth", [(convolutions, 3), (attention, 4)])
def test_networks(rng, build, depth, precision):
    """numerics.md's bound of networks, by the number of products one behind the other."""
    proto = build()
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = rng.standard_normal(shape, np.float32)
    (want,), (got,) = run(proto, {"x": x}), run(proto, {"x": x}, precision=precision)
    assert got.dtype == np.float32 and np.isfinite(got).all() and got.tobytes() != want.tobytes()
    assert np.abs(got - want).max() <= 3 * np.sqrt(3 * depth) * ROUNDING[precision] * np.abs(want).max()


def test_goes_with_more_passes_and_names_itself(rng, tmp_path):
    """What comes to the default comes in front; the same pass by its own name makes the same numbers."""
    proto, x = convolutions(), rng.standard_normal([1, 3, 9, 7], np.float32)
    (want,) = run(proto, {"x": x}, precision="bf16")
    for options in ({"passes": "default+to-mixed-precision{type=bf16}"}, {"passes": "default", "precision": "bf16"}, {"passes": "default+combine-parallel-conv2d", "precision": "bf16"}):
        (got,) = run(proto, {"x": x}, **options)
        np.testing.assert_allclose(got, want, rtol=0.1, atol=0.1 * np.abs(want).max())
    assert run(proto, {"x": x}, passes="default+to-mixed-precision{type=bf16}")[0].tobytes() == want.tobytes()


def test_weights_are_halved(tmp_path):
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((512, 1024), np.float32), "w")
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [4, 512])], [value("y", [4, 1024])], [weight], opset=17)
    sizes = {}
    for precision in ("fp32", "fp16"):
        fathom.compile(model, tmp_path / precision, target="opencl", precision=precision)
        sizes[precision] = (tmp_path / precision).stat().st_size
    # But for the code, and what fills pages of up to 64 KiB.
    assert sizes["fp32"] - sizes["fp16"] >= 512 * 1024 * 2 - 2**17


def test_integers_and_doubles_stay(rng):
    """Products of other types are what they are."""
    for kind, dtype in ((TensorProto.DOUBLE, "d"), (TensorProto.INT32, "i")):
        model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [5, 9], kind), value("w", [9, 4], kind)], [value("y", [5, 4], kind)], [], opset=17)
        x, w = (rng.integers(-1000, 1000, shape).astype(dtype) for shape in ([5, 9], [9, 4]))
        (got,) = run(model, {"x": x, "w": w}, precision="fp16")
        np.testing.assert_array_equal(got, x @ w)


@pytest.mark.parametrize("options, said", [
    ({"target": "host", "precision": "fp16"}, ["--precision fp16 does not go with target", "default+to-mixed-precision"]),
    ({"target": "opencl", "precision": "bf16", "passes": "O2"}, ["--precision bf16 does not go with --passes 'O2'", "to-mixed-precision{type=bf16}"]),
    ({"target": "opencl", "precision": "half"}, ["'half' is not one of fp32, tf32, fp16, bf16"]),
])  # fmt: skip
def test_refusals(options, said):
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(convolutions(), **options)
    assert caught.value.code == "F2001"
    for words in said:
        assert words in str(caught.value) + (caught.value.hint or "")
