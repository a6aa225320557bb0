"""Axes, steps, scales and sizes that are inputs of the model, against ONNX Runtime."""
import numpy as np
import pytest

import fathom
from support.compare import agree, assert_close
from support.models import FLOAT, INT64, floats, model, node, prime

ROUNDS = 10


def axes_of(random, rank, count):
    """Different axes in any order, some of them counted from the end."""
    chosen = random.permutation(rank)[:count]
    return np.array([axis - rank if random.random() < 0.5 else axis for axis in chosen], np.int64)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_squeeze(count, random):
    rank = 4
    proto = model([node("Squeeze", "x axes", "y"), node("Neg", "y", "z")],
                  [("x", FLOAT, list("abcd")), ("axes", INT64, [count])], [("z", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        axes, shape = axes_of(random, rank, count), [prime(random) for _ in range(rank)]
        for axis in axes:
            shape[axis] = 1
        feeds.append({"x": floats(random, *shape), "axes": axes})
    agree(proto, feeds)


def test_squeeze_of_a_size_that_is_not_one(random):
    proto = model([node("Squeeze", "x axes", "y")], [("x", FLOAT, list("abc")), ("axes", INT64, [1])], [("y", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    x = floats(random, 3, 1, 5)
    assert session.run(None, {"x": x, "axes": np.array([-2])})[0].shape == (3, 5)
    for axis in (0, 2, 3, -4):
        with pytest.raises(fathom.Error, match="Squeeze"):
            session.run(None, {"x": x, "axes": np.array([axis])})


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rank", [0, 1, 3])
def test_unsqueeze(rank, count, random):
    proto = model([node("Unsqueeze", "x axes", "y"), node("Neg", "y", "z")],
                  [("x", FLOAT, list("abc")[:rank]), ("axes", INT64, [count])], [("z", FLOAT)])
    feeds = [{"x": floats(random, *(prime(random) for _ in range(rank))), "axes": axes_of(random, rank + count, count)}
             for _ in range(ROUNDS)]
    agree(proto, feeds)


REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


@pytest.mark.parametrize("count, keepdims", [(1, 1), (1, 0), (2, 0), ("n", 1), (3, 0)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduce(name, count, keepdims, random):
    proto = model([node(f"Reduce{name}", "x axes", "y", keepdims=keepdims)],
                  [("x", FLOAT, ["a", "b", 3]), ("axes", INT64, [count])], [("y", FLOAT)], opset=18)
    feeds = []
    for _ in range(6):
        axes = axes_of(random, 3, int(random.integers(1, 4)) if count == "n" else count)
        x = random.uniform(0.5, 1.5, (prime(random), prime(random), 3)).astype(np.float32)
        feeds.append({"x": x, "axes": axes})
    agree(proto, feeds)


def test_reduce_without_axes(random):
    for noop in (0, 1):
        proto = model([node("ReduceSum", "x axes", "y", noop_with_empty_axes=noop)],
                      [("x", FLOAT, ["a", "b"]), ("axes", INT64, ["n"])], [("y", FLOAT)], opset=18)
        feeds = [{"x": floats(random, 5, 7), "axes": np.array(axes, np.int64)} for axes in ([], [0], [1], [0, 1], [-1])]
        agree(proto, feeds, dim={"n": (0, 4)})


@pytest.mark.parametrize("length", [1, 2, "n"])
@pytest.mark.parametrize("given", ["from to axes steps", "from to axes", "from to", "from to _ steps"])
def test_slice(given, length, random):
    names = [name if name != "_" else "" for name in given.split()]
    inputs = [("x", FLOAT, ["a", "b", "c"])] + [(name, INT64, [length]) for name in names if name]
    proto = model([node("Slice", ["x", *names], "y"), node("Neg", "y", "z")], inputs, [("z", FLOAT)])
    ends = [0, 1, -1, 2, -5, 11, 1000, -1000, 2**62, -(2**62)]
    feeds = []
    for _ in range(3 * ROUNDS):
        count = int(random.integers(1, 4)) if length == "n" else length
        feed = {"x": floats(random, prime(random), prime(random), prime(random)),
                "from": random.choice(ends, count), "to": random.choice(ends, count), "axes": axes_of(random, 3, count),
                "steps": random.choice([-7, -2, -1, 1, 2, 5, 2**40], count)}
        feeds.append({name: feed[name] for name in ["x", *(name for name in names if name)]})
    agree(proto, feeds)


def test_slice_with_a_step_of_zero(random):
    proto = model([node("Slice", "x from to axes steps", "y")],
                  [("x", FLOAT, ["a"])] + [(name, INT64, [1]) for name in ("from", "to", "axes", "steps")], [("y", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    feed = {"x": floats(random, 9), "from": np.array([1]), "to": np.array([7]), "axes": np.array([0])}
    assert session.run(None, {**feed, "steps": np.array([2])})[0].shape == (3,)
    with pytest.raises(fathom.Error, match="Slice"):
        session.run(None, {**feed, "steps": np.array([0])})


MODES = [("nearest", "asymmetric"), ("nearest", "half_pixel"), ("linear", "half_pixel"), ("linear", "align_corners"),
         ("linear", "pytorch_half_pixel"), ("cubic", "half_pixel")]


@pytest.mark.parametrize("mode, coordinates", MODES, ids=str)
def test_resize_by_scales(mode, coordinates, random):
    nodes = [node("Resize", ["x", "", "scales"], "y", mode=mode, coordinate_transformation_mode=coordinates,
                  nearest_mode="floor")]
    proto = model(nodes, [("x", FLOAT, [1, 2, "h", "w"]), ("scales", FLOAT, [4])], [("y", FLOAT)], opset=18)
    feeds = []
    # ONNX Runtime rounds the length of an axis before it aligns corners.
    factors = [1, 2, 3] if coordinates == "align_corners" else [0.5, 0.75, 1, 1.5, 2, 3]
    for _ in range(ROUNDS):
        scales = random.choice(factors, 2)
        feeds.append({"x": floats(random, 1, 2, 3 + prime(random), 3 + prime(random)),
                      "scales": np.array([1, 1, *scales], np.float32)})
    agree(proto, feeds)


@pytest.mark.parametrize("mode, coordinates", MODES, ids=str)
def test_resize_to_sizes(mode, coordinates, random):
    nodes = [node("Resize", ["x", "", "", "sizes"], "y", mode=mode, coordinate_transformation_mode=coordinates,
                  nearest_mode="floor", axes=[2, 3])]
    proto = model(nodes, [("x", FLOAT, [1, 2, "h", "w"]), ("sizes", INT64, [2])], [("y", FLOAT)], opset=18)
    feeds = [{"x": floats(random, 1, 2, 3 + prime(random), 3 + prime(random)),
              "sizes": np.array([prime(random), prime(random)])} for _ in range(ROUNDS)]
    agree(proto, feeds)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_keeping_the_ratio(policy, random):
    nodes = [node("Resize", ["x", "", "", "sizes"], "y", mode="linear", keep_aspect_ratio_policy=policy, axes=[2, 3])]
    proto = model(nodes, [("x", FLOAT, [1, 1, "h", "w"]), ("sizes", INT64, [2])], [("y", FLOAT)], opset=18)
    feeds = [{"x": floats(random, 1, 1, 4 + prime(random), 4 + prime(random)),
              "sizes": np.array([4 + prime(random), 4 + prime(random)])} for _ in range(ROUNDS)]
    agree(proto, feeds)


def test_resize_of_a_symbolic_size_by_a_fraction(random):
    proto = model([node("Resize", ["x", "", "scales"], "y", mode="linear")], [("x", FLOAT, [1, 1, "h", 6])],
                  [("y", FLOAT)], {"scales": np.array([1, 1, 1.7, 0.6], np.float32)}, opset=18)
    agree(proto, [{"x": floats(random, 1, 1, 2 + prime(random), 6)} for _ in range(ROUNDS)])


def test_resize_of_a_region(random):
    nodes = [node("Resize", ["x", "roi", "", "sizes"], "y", mode="linear",
                  coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0)]
    proto = model(nodes, [("x", FLOAT, [1, 1, "h", "w"]), ("roi", FLOAT, [8]), ("sizes", INT64, [4])], [("y", FLOAT)],
                  opset=18)
    feeds = []
    for _ in range(ROUNDS):
        low, high = random.uniform(-0.2, 0.4, 2), random.uniform(0.5, 1.2, 2)
        feeds.append({"x": floats(random, 1, 1, 4 + prime(random), 4 + prime(random)),
                      "roi": np.array([0, 0, *low, 1, 1, *high], np.float32),
                      # ONNX Runtime does not crop an axis that keeps its size.
                      "sizes": np.array([1, 1, 40, 41])})
    agree(proto, feeds)


@pytest.mark.parametrize("onesided, inverse", [(0, 0), (1, 0), (0, 1)], ids=str)
def test_dft(onesided, inverse, random):
    proto = model([node("DFT", ["x", "", "axis"], "y", onesided=onesided, inverse=inverse)],
                  [("x", FLOAT, ["a", "b", "c", 2 if inverse else 1]), ("axis", INT64, [])], [("y", FLOAT)], opset=20)
    session = fathom.Session(fathom.compile(proto))
    for axis in (0, 1, 2, -2, -3, -4):
        x = floats(random, prime(random), prime(random), prime(random), 2 if inverse else 1)
        number = x[..., 0].astype(np.complex128) + (1j * x[..., 1] if inverse else 0)
        along = axis if axis >= 0 else axis + 4
        want = np.fft.ifft(number, axis=along) if inverse else np.fft.fft(number, axis=along)
        if onesided:
            want = np.take(want, range(x.shape[along] // 2 + 1), axis=along)
        got = session.run(None, {"x": x, "axis": np.array(axis)})[0]
        assert_close(got, np.stack([want.real, want.imag], -1), "product")
    for axis in (3, -1, 4, -5):
        with pytest.raises(fathom.Error, match="DFT"):
            session.run(None, {"x": x, "axis": np.array(axis)})


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("kernel, stride", [(3, 2), (5, 3), (2, 3), (1, 2), (4, 2)], ids=str)
def test_same_padding(kernel, stride, pad, random):
    window = {"kernel_shape": [kernel, 2], "strides": [stride, 1], "auto_pad": pad}
    nodes = [node("Conv", "x w", "a", **window)]
    outputs = [("a", FLOAT)]
    if kernel >= stride:  # ONNX Runtime refuses the negative padding of the others
        nodes += [node("MaxPool", "x", "b", **window), node("AveragePool", "x", "c", **window),
                  node("AveragePool", "x", "d", **window, count_include_pad=1)]
        outputs += [("b", FLOAT), ("c", FLOAT), ("d", FLOAT)]
    proto = model(nodes, [("x", FLOAT, ["n", 3, "height", "width"])], outputs, {"w": floats(random, 4, 3, kernel, 2)}, opset=11)
    agree(proto, [{"x": floats(random, 2, 3, kernel + prime(random), 3 + prime(random))} for _ in range(ROUNDS)])


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
def test_same_padding_of_dilated_windows(pad, random):
    """As an explicit padding does, which depends on the size."""
    w = floats(random, 2, 1, 3)
    proto = model([node("Conv", "x w", "y", strides=[2], dilations=[2], auto_pad=pad)], [("x", FLOAT, [1, 1, "n"])],
                  [("y", FLOAT)], {"w": w})
    session = fathom.Session(fathom.compile(proto))
    for length in (5, 6, 7, 12, 13, 31):
        x = floats(random, 1, 1, length)
        total = (-(-length // 2) - 1) * 2 + 5 - length
        before = total // 2 if pad == "SAME_UPPER" else total - total // 2
        padded = np.pad(x[0, 0].astype(np.float64), (before, total - before))
        rows = np.stack([padded[tap * 2:tap * 2 + length + total - 4:2] for tap in range(3)])
        assert_close(session.run(None, {"x": x})[0][0], w[:, 0] @ rows, "sum")


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
def test_same_padding_of_transposed_convolution(pad, random):
    proto = model([node("ConvTranspose", "x w", "y", strides=[3, 2], auto_pad=pad, kernel_shape=[4, 3])],
                  [("x", FLOAT, [1, 2, "height", "width"])], [("y", FLOAT)], {"w": floats(random, 2, 3, 4, 3)}, opset=11)
    agree(proto, [{"x": floats(random, 1, 2, prime(random), prime(random))} for _ in range(ROUNDS)])


BAD = [
    ("Squeeze", [("x", FLOAT, [1, 2]), ("a", INT64, ["n"])], {}, 13, "how many axes"),
    ("Squeeze", [("x", FLOAT, [1, 2]), ("a", INT64, [3])], {}, 13, "3 axes"),
    ("Unsqueeze", [("x", FLOAT, [1, 2]), ("a", INT64, [1, 1])], {}, 13, "rank"),
    ("ReduceSum", [("x", FLOAT, [1, 2]), ("a", INT64, ["n"])], {"keepdims": 0}, 13, "how many axes"),
    ("ReduceMax", [("x", FLOAT, [1, 2]), ("a", INT64, [2, 2])], {}, 18, "rank"),
    ("DFT", [("x", FLOAT, [])], {}, 20, "last size"),
    ("Resize", [("x", FLOAT, [1, 1, 4, 4]), ("r", FLOAT, [0]), ("s", FLOAT, [3])], {}, 18, "scales"),
]


@pytest.mark.parametrize("op, inputs, attributes, opset, words", BAD, ids=[f"{case[0]}-{case[4]}" for case in BAD])
def test_bad_models(op, inputs, attributes, opset, words):
    proto = model([node(op, [name for name, _, _ in inputs], "y", **attributes)], inputs, [("y", FLOAT)], opset=opset)
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(proto)
