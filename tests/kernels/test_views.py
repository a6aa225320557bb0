"""Reshapes and transposes of images with their channels innermost: views, wherever an order in memory describes them."""
import re

import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import assert_close, compare
from support.models import model_of


def weight(random, *shape):
    return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def stages(random, n, c, h, w, middle, target):
    """A convolution, views of its result, and something that reads them."""
    nodes = [
        helper.make_node("Conv", ["x", "f"], ["p"]),
        *middle,
        helper.make_node("Relu", ["v"], ["r"]),
        helper.make_node("Add", ["r", "z"], ["y"]),
    ]
    inputs = {"x": random.standard_normal((n, 5, h, w)).astype(np.float32), "z": random.standard_normal(target).astype(np.float32)}
    return nodes, inputs, {"f": weight(random, c, 5, 1, 1)}


def reshape(name, before, behind, shape):
    constant = helper.make_node("Constant", [], [f"{name}.shape"], value_ints=shape)
    return [constant, helper.make_node("Reshape", [before, f"{name}.shape"], [behind])]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("h,w", [(6, 7), (1, 9), (5, 1), (1, 1)])
def test_views_of_a_convolution(n, h, w, random):
    """Tokens of pixels, heads of detectors with their channels split, and shapes that no order describes."""
    c = 12
    tokens = [*reshape("a", "p", "flat", [n, c, h * w]), helper.make_node("Transpose", ["flat"], ["v"], perm=[0, 2, 1])]
    heads = [*reshape("a", "p", "split", [n, 3, 4, h, w]), helper.make_node("Transpose", ["split"], ["v"], perm=[0, 3, 4, 1, 2])]
    across = reshape("a", "p", "v", [n, c * h, w])
    groups = reshape("a", "p", "v", [n, 4, 3 * h * w])
    rows = reshape("a", "p", "v", [n, c, h, 1, w])
    halves = reshape("a", "p", "v", [n * c, h, w])
    pairs = [*reshape("a", "p", "flat", [n, c, h * w]), *reshape("b", "flat", "split", [n, 2, 6, h * w]), helper.make_node("Transpose", ["split"], ["v"], perm=[0, 1, 3, 2])]
    for middle, target in (
        (tokens, (n, h * w, c)),
        (heads, (n, h, w, 3, 4)),
        (across, (n, c * h, w)),
        (groups, (n, 4, 3 * h * w)),
        (rows, (n, c, h, 1, w)),
        (halves, (n * c, h, w)),
        (pairs, (n, 2, h * w, 6)),
    ):
        compare(*stages(random, n, c, h, w, middle, target))


def products_to_pixels(random, n, h, w, mode="linear"):
    """Tokens that become an image, which is resized and convolved."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["t"]),
        helper.make_node("Transpose", ["t"], ["channels"], perm=[0, 2, 1]),
        *reshape("r", "channels", "image", [n, 8, h, w]),
        helper.make_node("Resize", ["image", "", "scales"], ["large"], mode=mode),
        helper.make_node("Concat", ["large", "z"], ["both"], axis=1),
        helper.make_node("Conv", ["both", "f"], ["y"], pads=[1, 1, 1, 1]),
    ]
    inputs = {"x": random.standard_normal((n, h * w, 6)).astype(np.float32), "z": random.standard_normal((n, 4, 2 * h, 2 * w)).astype(np.float32)}
    weights = {"a": weight(random, 6, 8), "b": weight(random, 8), "f": weight(random, 10, 12, 3, 3), "scales": np.array([1, 1, 2, 2], np.float32)}
    return nodes, inputs, weights


@pytest.mark.parametrize("n,h,w", [(1, 6, 7), (2, 5, 3), (1, 1, 4), (3, 4, 1)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_products_that_become_images(n, h, w, mode, random):
    compare(*products_to_pixels(random, n, h, w, mode))


def test_sizes_known_when_it_runs(random):
    """Tokens and back, with -1 for what is not known."""
    nodes = [
        helper.make_node("Conv", ["x", "f"], ["p"]),
        helper.make_node("Shape", ["p"], ["shape"]),
        *reshape("a", "p", "flat", [0, 12, -1]),
        helper.make_node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["tokens", "a"], ["m"]),
        helper.make_node("Transpose", ["m"], ["back"], perm=[0, 2, 1]),
        helper.make_node("Reshape", ["back", "shape"], ["image"]),
        helper.make_node("Conv", ["image", "g"], ["y"], pads=[1, 1, 1, 1]),
    ]
    x = random.standard_normal((2, 5, 6, 7)).astype(np.float32)
    weights = {"f": weight(random, 12, 5, 1, 1), "a": weight(random, 12, 12), "g": weight(random, 3, 12, 3, 3)}
    fixed = model_of(nodes, {"x": x}, weights)
    for dim, name in zip(fixed.graph.input[0].type.tensor_type.shape.dim, ("n", None, "h", "w"), strict=True):
        if name:
            dim.dim_param = name
    session = fathom.Session(fathom.compile(fixed))
    for shape in ((2, 5, 6, 7), (1, 5, 1, 1), (1, 5, 9, 4)):
        x = random.standard_normal(shape).astype(np.float32)
        want = fathom.Session(fathom.compile(model_of(nodes, {"x": x}, weights))).run(None, {"x": x})[0]
        assert_close(session.run(None, {"x": x})[0], want, "sum")


@pytest.mark.usefixtures("both")
def test_nothing_changes_its_order_in_between(tmp_path, random):
    """Only at the model's borders."""

    def reordered(nodes, inputs, weights):
        plan = tmp_path / "plan"
        fathom.compile(model_of(nodes, inputs, weights), output=str(plan), emit="plan")
        text = plan.read_text()
        return [name for name, kind in re.findall(r"- kernel: +(\S+)\n +class: +(\w+)", text) if kind == "reorder"]

    tokens = [*reshape("a", "p", "flat", [2, 12, 42]), helper.make_node("Transpose", ["flat"], ["v"], perm=[0, 2, 1])]
    assert reordered(*stages(random, 2, 12, 6, 7, tokens, (2, 42, 12))) == ["x.pixels"]
    heads = [*reshape("a", "p", "split", [2, 3, 4, 6, 7]), helper.make_node("Transpose", ["split"], ["v"], perm=[0, 3, 4, 1, 2])]
    assert reordered(*stages(random, 2, 12, 6, 7, heads, (2, 6, 7, 3, 4))) == ["x.pixels"]
    assert reordered(*products_to_pixels(random, 2, 6, 7)) == ["y.rows"]
