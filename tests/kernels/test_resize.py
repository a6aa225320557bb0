"""Resize along rows of memory, where neighbours of a result come from other places each: against sums of weighted elements in double precision."""
import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close
from support.models import FLOAT, floats, model, node

COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"]
KINDS = [("linear", mode, "floor") for mode in COORDINATES] + [("cubic", mode, "floor") for mode in COORDINATES]
KINDS += [("nearest", mode, rounding) for mode in ("half_pixel", "asymmetric", "tf_half_pixel_for_nn")
          for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")]


def some(random, kinds, count=4):
    """Others with every seed."""
    return [kinds[i] for i in random.choice(len(kinds), count, replace=False)]


def places(length, scale, coordinates):
    count = int(np.floor(length * scale))
    x = np.arange(count, dtype=np.float64)
    middle = (x + 0.5) / scale - 0.5
    if coordinates == "align_corners":
        return x * (length - 1) / (length * scale - 1) if length * scale != 1 else 0 * x
    if coordinates == "asymmetric":
        return x / scale
    if coordinates == "tf_half_pixel_for_nn":
        return middle + 0.5
    if coordinates == "pytorch_half_pixel" and count == 1:
        return 0 * x
    if coordinates == "half_pixel_symmetric":
        return middle + length / 2 * (1 - count / (length * scale))
    return middle


def matrix(length, scale, kind, exclude=False):
    """How much each element of an axis counts for each result."""
    mode, coordinates, rounding = kind
    at = places(length, scale, coordinates)
    weights = np.zeros((len(at), length))
    if mode == "nearest":
        nearest = {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda p: np.ceil(p - 0.5),
                   "round_prefer_ceil": lambda p: np.floor(p + 0.5)}[rounding](at)
        weights[np.arange(len(at)), np.clip(nearest, 0, length - 1).astype(int)] = 1
        return weights
    reach, a = (1, 0) if mode == "linear" else (2, -0.75)
    for row, place in enumerate(at):
        for tap in range(int(np.ceil(place)) - reach, int(np.ceil(place)) + reach):
            x = abs(tap - place)
            if mode == "linear":
                weight = max(0, 1 - x)
            else:
                weight = ((a + 2) * x - (a + 3)) * x * x + 1 if x <= 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            if not exclude or 0 <= tap < length:
                weights[row, min(max(tap, 0), length - 1)] += weight
        if exclude:
            weights[row] /= weights[row].sum()
    return weights


def resized(x, scales, kind, exclude=False):
    result = x.astype(np.float64)
    for axis, scale in enumerate(scales):
        if scale != 1:
            result = np.moveaxis(np.tensordot(matrix(x.shape[axis], scale, kind, exclude), result, (1, axis)), 0, axis)
    return result


def resizes(kinds, scales, shape, x_type=FLOAT, **more):
    """A model with a result for each kind."""
    nodes, outputs = [], []
    for i, (mode, coordinates, rounding) in enumerate(kinds):
        nodes.append(node("Resize", ["x", "", "scales"], f"y{i}", mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=rounding, **more))
        outputs.append((f"y{i}", x_type))
    return model(nodes, [("x", x_type, shape)], outputs, {"scales": np.array(scales, np.float32)}, opset=19)


def check(proto, feeds, expected):
    artifact = fathom.compile(proto)
    one, two = fathom.Session(artifact, threads=1), fathom.Session(artifact, threads=2)
    for x in feeds:
        for got, other, want in zip(one.run(None, {"x": x}), two.run(None, {"x": x}), expected(x), strict=True):
            assert got.tobytes() == other.tobytes(), "results depend on the thread count"
            assert_close(got, want.astype(got.dtype) if got.dtype.kind in "iu" else want, "arithmetic")


@pytest.mark.parametrize("scale", [2, 3, 4, 8, 1.5, 0.5, 0.625])
@pytest.mark.parametrize("width", [1, 2, 7, 16, 61])
def test_resize_along_rows(width, scale, random):
    """Whole factors and others, rows shorter and longer than vectors."""
    if width * scale < 1:
        pytest.skip("nothing is left")
    scales = [1, 1, int(random.integers(1, 3)), scale]
    kinds = some(random, KINDS)
    x = floats(random, 2, 1, 3, width)
    check(resizes(kinds, scales, x.shape), [x, x * 2 + 1], lambda x: [resized(x, scales, kind) for kind in kinds])


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("scale", [2, 4])
def test_resize_along_rows_of_any_length(scale, exclude, random):
    """The width is known when the model runs, and a whole factor makes the result's of it."""
    kinds = some(random, [kind for kind in KINDS if not exclude or kind[0] == "cubic"])
    scales = [1, 1, scale, scale]
    feeds = [floats(random, 1, 2, 2, width) for width in (1, 2, 5, 19, 64)]
    check(resizes(kinds, scales, [1, 2, 2, "w"], exclude_outside=int(exclude)), feeds, lambda x: [resized(x, scales, kind, exclude) for kind in kinds])


def test_resize_of_volumes_and_lines(random):
    kinds = some(random, [kind for kind in KINDS if kind[0] != "cubic"])
    for shape, scales in (((1, 2, 3, 4, 17), [1, 1, 2, 2, 2]), ((2, 3, 43), [1, 1, 4]), ((37,), [2])):
        x = floats(random, *shape)
        check(resizes(kinds, scales, x.shape), [x], lambda x, scales=scales: [resized(x, scales, kind) for kind in kinds])


@pytest.mark.parametrize("kind", [TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32])
def test_resize_of_integers_along_rows(kind, random):
    """Nearest ones move, linear ones are cut off behind the point."""
    kinds = [("nearest", "asymmetric", "floor"), ("nearest", "half_pixel", "ceil"), ("linear", "half_pixel", "floor")]
    x = random.integers(0, 100, (1, 2, 3, 21)).astype(helper.tensor_dtype_to_np_dtype(kind))
    scales = [1, 1, 2, 4]
    check(resizes(kinds, scales, x.shape, kind), [x, x // 2], lambda x: [np.trunc(resized(x, scales, kind)) for kind in kinds])


def test_resize_that_begins_anywhere(random):
    """A part of a resized row, fused into what computes it, and more ops behind."""
    begins = numpy_helper.from_array(np.array([3]), "begin")
    for kind, scale in itertools.product([("linear", "half_pixel", "floor"), ("nearest", "asymmetric", "floor")], (2, 4, 1.5)):
        proto = resizes([kind], [1, 1, 2, scale], [1, 2, 3, 40])
        del proto.graph.output[:]
        proto.graph.node.append(helper.make_node("Slice", ["y0", "begin", "end", "axis"], ["part"]))
        proto.graph.node.append(helper.make_node("Sin", ["part"], ["y"]))
        proto.graph.initializer.extend([begins, numpy_helper.from_array(np.array([1 << 40]), "end"), numpy_helper.from_array(np.array([3]), "axis")])
        proto.graph.output.append(helper.make_tensor_value_info("y", FLOAT, None))
        check(proto, [floats(random, 1, 2, 3, 40)], lambda x, kind=kind, scale=scale: [np.sin(resized(x, [1, 1, 2, scale], kind)[..., 3:])])


def test_infinities_stay_where_they_are(random):
    """What is beyond the ends of a row, or does not count, does not spread."""
    kinds = [("linear", "half_pixel", "floor"), ("nearest", "asymmetric", "floor")]
    x = floats(random, 1, 1, 2, 24)
    x[..., 1] = np.inf
    x[..., -2] = -np.inf
    scales = [1, 1, 1, 2]
    for got, kind in zip(fathom.Session(fathom.compile(resizes(kinds, scales, x.shape))).run(None, {"x": x}), kinds, strict=True):
        touched = (matrix(24, 2, kind) != 0)[:, [1, -2]].any(axis=1)
        assert np.isfinite(got[..., ~touched]).all() and not np.isfinite(got[..., touched]).any()


@pytest.mark.parametrize("kind", [("linear", "half_pixel", "floor"), ("cubic", "asymmetric", "floor"), ("nearest", "asymmetric", "ceil")], ids=str)
def test_whole_factors_load_vectors(kind, both, tmp_path):
    """No element of a row is loaded on its own."""
    text = tmp_path / "loops"
    fathom.compile(resizes([kind], [1, 1, 2, 2], [1, 2, 16, 64]), output=str(text), emit="loops")
    assert "vector.shuffle" in text.read_text() and "vector.insert %" not in text.read_text()


@pytest.mark.parametrize("kind", [("linear", "half_pixel", "floor"), ("nearest", "half_pixel", "ceil")], ids=str)
def test_other_factors_look_places_up(kind, both, tmp_path):
    """Both widths of vectors read the same tables."""
    text = tmp_path / "loops"
    fathom.compile(resizes([kind], [1, 1, 1, 1.5], [1, 2, 16, 24]), output=str(text), emit="loops")
    tables = text.read_text().count("llvm.mlir.global")
    assert tables == (1 if kind[0] == "nearest" else 4)
