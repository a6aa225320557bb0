"""Rounding errors, element by element: large rows, pixels and channels elsewhere do not matter, nor does the depth."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.bounds import Convolution, EPSILON, assert_within, multiple_of_epsilon, product_of, winograd_bound
from support.models import model_of

LARGE = [1e3, 1e6]


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def run(node, inputs, weights, **options):
    model = model_of([node], inputs, weights)
    return fathom.Session(fathom.compile(model, **options)).run(None, inputs)[0]


def check(node, inputs, weights, **options):
    operands = [(inputs | weights)[name] for name in node.input]
    assert_within(run(node, inputs, weights, **options), node, operands, **options)


@pytest.mark.parametrize("fp", ["fast", "strict"])
@pytest.mark.parametrize("large", LARGE)
def test_large_rows_of_products(large, fp, random):
    x, w = floats(random, 128, 768), floats(random, 768, 1024)
    x[random.integers(128)] *= large
    check(helper.make_node("MatMul", ["x", "w"], ["y"]), {"x": x}, {"w": w}, fp=fp)
    check(helper.make_node("MatMul", ["x", "w"], ["y"]), {"x": x[None], "w": w}, {}, fp=fp)


@pytest.mark.parametrize("large", LARGE)
def test_large_rows_of_other_products(large, random):
    x, w, c = floats(random, 37, 301), floats(random, 59, 301), floats(random, 59)
    x[5] *= large
    w[7] *= large
    check(helper.make_node("Gemm", ["x", "w", "c"], ["y"], transB=1, alpha=0.5, beta=2.0), {"x": x}, {"w": w, "c": c})
    a, b = floats(random, 3, 17, 700), floats(random, 3, 700, 23)
    a[1] *= large
    a[0, 4] *= large
    check(helper.make_node("MatMul", ["x", "w"], ["y"]), {"x": a, "w": b}, {})


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("algorithm", ["auto", "direct", "gemm", "spatial_pack"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_large_pixels_and_channels(kernel, algorithm, large, random):
    x, w = floats(random, 1, 96, 14, 14), floats(random, 40, 96, kernel, kernel)
    x[:, :, 3, 5] *= large
    x[:, 7] *= large
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[kernel // 2] * 4)
    check(node, {"x": x}, {"w": w}, conv_algorithm=algorithm)


@pytest.mark.parametrize("rows", [1, 16, 33])
def test_large_rows_of_any_number(rows, random):
    """A batch whose size is known when the model runs."""
    node, w = helper.make_node("MatMul", ["x", "w"], ["y"]), floats(random, 640, 96)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", last]) for name, last in (("x", 640), ("y", 96))]
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [numpy_helper.from_array(w, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = floats(random, rows, 640)
    x[rows // 2] *= 1e6
    assert_within(fathom.Session(fathom.compile(model)).run(None, {"x": x})[0], node, [x, w])


@pytest.mark.parametrize("keys", [40, 700])
def test_large_rows_of_attention(keys, random):
    """A query of large scores, a large value, and keys in several blocks: each row of the result has its own error."""
    q, k, v = floats(random, 1, 2, 24, 32), floats(random, 1, 2, keys, 32), floats(random, 1, 2, keys, 32)
    q[:, :, 3] *= 1e3
    v[:, 0] *= 1e6
    inputs = {"q": q, "k": k, "v": v}
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    got = fathom.Session(fathom.compile(model_of(nodes, inputs, {}))).run(None, inputs)[0]
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    # A score's error is the relative error of its share, which moves all others of the row.
    of_scores = multiple_of_epsilon(32) * EPSILON * (np.abs(q) @ np.abs(k).swapaxes(2, 3)).max(-1, keepdims=True)
    assert (np.abs(got - shares @ v) <= (2 * of_scores + 2 * multiple_of_epsilon(keys) * EPSILON) * (shares @ np.abs(v))).all()


def hostile(kind, random):
    x = floats(random, 2, 32, 26, 21)
    if kind == "pixel":
        x[0, :, 9, 9] *= 1e6
    elif kind == "channel":
        x[:, 5] *= 1e6
    elif kind == "border":
        x[1, :, -1] *= 1e6
    return x


@pytest.mark.parametrize("kind", ["plain", "pixel", "channel", "border"])
@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("tile", [2, 4])
def test_winograd_keeps_its_bound(tile, group, kind, random):
    x, w, b = hostile(kind, random), floats(random, 48, 32 // group, 3, 3), floats(random, 48)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4, group=group)
    got = run(node, {"x": x}, {"w": w, "b": b}, conv_algorithm=f"winograd{tile}")
    operands = [np.asarray(each, np.float64) for each in (x, w, b)]
    error = np.abs(got - product_of(node, operands))
    bound = winograd_bound(node, operands, tile)
    assert (error <= bound).all(), f"{(error / bound).max()} times the bound"
    # It says something: far from the large pixel it is that of small ones.
    if kind == "pixel":
        assert bound[0].max() > 1e5 * np.median(bound[0])
    assert Convolution(node, x, w).takes_winograd()


@pytest.mark.parametrize("kind", ["MatMul", "row", "column", "Conv", "ReduceSum"])
def test_long_sums(kind):
    """Root mean squares of the errors of 3,072 to 16,384 steps are at most twice those of ONNX Runtime."""
    for depth in (3072, 16384):
        ours, theirs = [], []
        for seed in range(3):
            random = np.random.default_rng(seed)
            x, w = floats(random, 1 if kind == "row" else 32, depth), floats(random, depth, 1 if kind == "column" else 48)
            node, weights = helper.make_node("MatMul", ["x", "w"], ["y"]), {"w": w}
            if kind == "ReduceSum":
                x, node, weights = x.T.copy(), helper.make_node("ReduceSum", ["x", "w"], ["y"], keepdims=0), {"w": np.array([0])}
            elif kind == "Conv":
                x, weights = x.T.reshape(1, depth, 4, 8).copy(), {"w": w.T.reshape(48, depth, 1, 1).copy()}
                node = helper.make_node("Conv", ["x", "w"], ["y"])
            operands = [np.asarray(each, np.float64) for each in (x, weights["w"])]
            want = operands[0].sum(0) if kind == "ReduceSum" else product_of(node, operands)
            session = onnxruntime.InferenceSession(model_of([node], {"x": x}, weights).SerializeToString(), providers=["CPUExecutionProvider"])
            theirs.append(session.run(None, {"x": x})[0] - want)
            ours.append(run(node, {"x": x}, weights) - want)
        ratio = np.sqrt(np.mean(np.square(ours)) / np.mean(np.square(theirs)))
        assert ratio <= 2, f"depth {depth}: {ratio:.2f}"


def test_rows_of_strassens_method_would_break_them(random):
    """The bounds can fail: this is what the fastest mode gives up."""
    x, w = floats(random, 64, 256), floats(random, 256, 256)
    x[8] *= 1e6
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    got = run(node, {"x": x}, {"w": w}, fp="fastest", matmul_algorithm="strassen")
    with pytest.raises(AssertionError, match="times the bound"):
        assert_within(got, node, [x, w])
