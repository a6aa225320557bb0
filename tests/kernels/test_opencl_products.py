"""Products and convolutions in blocks of work groups, printed as OpenCL C and run by PoCL with local memory and barriers, against numpy."""
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper
from opencl import Device
from simt import assert_close, compile, node, random, run, save, source_of, values

KNOBS = ["block_m", "block_n", "block_k", "item_m", "item_n", "stages", "fragments", "slices", "splits"]
DEFAULTS = (32, 32, 16, 4, 4, 2, 0, 1, 1)
# Few items and many, vectors of columns and none, blocks that the sizes below do not fill, one stage and two, steps in slices.
SCHEDULES = [(32, 32, 16, 4, 4, 2), (16, 64, 8, 2, 8, 1), (1, 32, 32, 1, 1, 2), (8, 12, 5, 4, 3, 2), (64, 8, 4, 8, 4, 3), (16, 16, 16, 4, 4, 2, 0, 4), (8, 32, 10, 2, 8, 1, 0, 2), (8, 8, 8, 4, 2, 1, 0, 8)]
# Sums lie as tensor cores leave them, of which this is the plain definition.
FRAGMENTS = [(32, 32, 16, 2, 2, 3, 1), (64, 32, 32, 4, 8, 2, 1), (16, 64, 8, 2, 4, 4, 1), (64, 16, 8, 8, 2, 1, 1), (16, 32, 32, 2, 4, 2, 1, 4)]


@pytest.fixture(scope="module")
def device():
    return Device()


def planned(path, tmp_path, schedule):
    """Options that give all blocks this schedule."""
    if not schedule:
        return []
    plan = compile(path, "--emit", "plan").stdout
    schedule = (*schedule, *DEFAULTS[len(schedule) :])
    for knob, value in zip(KNOBS, schedule):
        plan = re.sub(rf"( {knob}: +)\d+", rf"\g<1>{value}", plan)
    (tmp_path / "edited.plan").write_text(plan)
    return ["--plan", str(tmp_path / "edited.plan")]


def check(device, tmp_path, nodes, inputs, kind, expected, sizes=None, schedule=None, ulps=32, order=None, weights=(), options=()):
    """A model that is one kernel; `sizes` are numbers for names, `order` the inputs as its operands have them."""
    path = save(tmp_path, nodes, inputs, {"y": kind}, weights)
    source = source_of(path, *planned(path, tmp_path, schedule), *options)
    numbers = random()
    arrays = {name: values(type, tuple((sizes or {}).get(d, d) for d in dims), numbers) for name, (type, dims) in inputs.items()}
    want = expected(**arrays)
    empty = np.full(want.shape, 7).astype(kind)
    for got, fault in run(device, source, "fathom_", [arrays[name] for name in order or inputs], empty, tuple((sizes or {}).values())):
        assert fault == 0
        assert_close(got, want, ulps)


def product(a, b):
    return np.matmul(a.astype("d"), b.astype("d"))


@pytest.mark.parametrize("schedule", [None, *SCHEDULES])
@pytest.mark.parametrize("m, k, n", [(33, 17, 65), (64, 32, 64), (5, 1, 3), (40, 36, 44)])
def test_products(device, tmp_path, m, k, n, schedule):
    check(device, tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", [m, k]), "b": ("f", [k, n])}, "f", product, schedule=schedule)


def rounded(x):
    """To the 10 bits of a fraction that a tensor core takes of a 32-bit float."""
    return ((x.view(np.uint32) + 0x1000) & 0xFFFFE000).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("schedule", FRAGMENTS)
@pytest.mark.parametrize("m, k, n", [(33, 17, 65), (64, 32, 64), (40, 36, 44)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_fragments(device, tmp_path, m, k, n, transposed, schedule):
    nodes = [node("MatMul", ["a", "b"], "y")]
    if transposed:
        nodes = [node("Transpose", ["b"], "t", perm=[1, 0]), node("MatMul", ["a", "t"], "y")]
    expected = lambda a, b: product(rounded(a), rounded(b.T if transposed else b))
    inputs = {"a": ("f", [m, k]), "b": ("f", [n, k] if transposed else [k, n])}
    check(device, tmp_path, nodes, inputs, "f", expected, schedule=schedule, options=["--precision", "tf32"])


@pytest.mark.parametrize("a, b", [([2, 3, 9, 5], [2, 3, 5, 7]), ([3, 9, 5], [5, 7]), ([2, 1, 9, 8], [1, 3, 8, 16]), ([9, 5], [3, 5, 7]), ([1, 64], [64, 40])])
def test_products_of_many(device, tmp_path, a, b):
    check(device, tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", a), "b": ("f", b)}, "f", product)


@pytest.mark.parametrize("m, k, n", [(0, 5, 3), (5, 0, 3), (5, 3, 0)])
def test_empty_products(device, tmp_path, m, k, n):
    check(device, tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", [m, k]), "b": ("f", [k, n])}, "f", product)


@pytest.mark.parametrize("m, k, n", [(33, 17, 65), (1, 1, 1), (0, 4, 3), (5, 0, 3), (64, 32, 128)])
def test_sizes_of_products_are_arguments(device, tmp_path, m, k, n):
    check(device, tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", ["m", "k"]), "b": ("f", ["k", "n"])}, "f", product, sizes={"m": m, "k": k, "n": n})


@pytest.mark.parametrize("kind, scale", [("d", 1), ("i", 1)])
def test_products_of_types(device, tmp_path, kind, scale):
    expected = product if kind == "d" else lambda a, b: np.matmul(a, b)
    check(device, tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": (kind, [19, 23]), "b": (kind, [23, 20])}, kind, expected)


@pytest.mark.parametrize("schedule", [None, (16, 16, 8, 4, 4, 2)])
@pytest.mark.parametrize("transposed", ["a", "b"])
def test_fuses_what_is_around(device, tmp_path, transposed, schedule):
    """A transposed operand is fetched along what is contiguous, and what follows is computed on the tile."""
    left, right = (("t", "b") if transposed == "a" else ("a", "t"))
    nodes = [node("Transpose", [transposed], "t", perm=[1, 0]), node("MatMul", [left, right], "p"),
             node("Add", ["p", "c"], "s"), node("Relu", ["s"], "r"), node("Add", ["r", "d"], "y")]  # fmt: skip
    inputs = {"a": ("f", [36, 24]), "b": ("f", [24, 44]), "c": ("f", [44]), "d": ("f", [36, 44])}
    inputs[transposed] = ("f", inputs[transposed][1][::-1])

    def expected(**of):
        of[transposed] = of[transposed].T
        return np.maximum(product(of["a"], of["b"]) + of["c"], 0) + of["d"]

    check(device, tmp_path, nodes, inputs, "f", expected, schedule=schedule)


def convolved(x, w, bias, strides, pads, dilations, group):
    """Of pixels: channels are the last dimension, and of weights the last two."""
    spatial = len(strides)
    x = np.pad(x.astype("d"), [(0, 0), *zip(pads[:spatial], pads[spatial:]), (0, 0)])
    taps, columns = w.shape[:spatial], w.shape[-1]
    sizes = [(x.shape[1 + i] - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(spatial)]
    y = np.zeros([x.shape[0], *sizes, columns])
    for tap in np.ndindex(*taps):
        part = x[(slice(None), *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, sizes, strides)))]
        for g in range(group):
            these = slice(g * columns // group, (g + 1) * columns // group)
            y[..., these] += part[..., g * w.shape[-2] : (g + 1) * w.shape[-2]] @ w[tap][:, these].astype("d")
    return np.maximum(y + bias, 0)


CONVOLUTIONS = [  # batch, channels, image, output channels, window, strides, pads, dilations, group
    (1, 8, [7, 9], 12, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], 1),
    (2, 3, [11, 8], 5, [3, 2], [2, 1], [1, 0, 2, 1], [1, 2], 1),
    (1, 16, [6, 6], 32, [1, 1], [1, 1], [0, 0, 0, 0], [1, 1], 1),
    (1, 2, [1, 1], 3, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], 1),
    (1, 12, [5, 5], 8, [3, 3], [1, 1], [1, 1, 1, 1], [1, 1], 4),
    (3, 4, [13], 7, [5], [3], [2, 2], [1], 1),
    (1, 4, [4, 5, 3], 6, [2, 3, 2], [1, 2, 1], [1, 0, 0, 0, 1, 1], [1, 1, 1], 2),
]  # fmt: skip


@pytest.mark.parametrize("schedule", [None, SCHEDULES[1], (16, 16, 4, 2, 4, 2)])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(device, tmp_path, case, schedule):
    batch, channels, image, columns, taps, strides, pads, dilations, group = case
    numbers = random()
    weight, bias = numbers.normal(size=(columns, channels // group, *taps)).astype("f"), numbers.normal(size=columns).astype("f")
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="c", strides=strides, pads=pads, dilations=dilations, group=group), node("Relu", ["c"], "y")]
    path = save(tmp_path, nodes, {"x": ("f", [batch, channels, *image])}, {"y": "f"}, [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")])
    source = source_of(path, *planned(path, tmp_path, schedule))
    x = numbers.normal(size=(batch, *image, channels)).astype("f")
    packed = np.moveaxis(weight, [0, 1], [-1, -2])
    want = convolved(x, packed, bias, strides, pads, dilations, group)
    for got, fault in run(device, source, "fathom_Conv", [x, packed, bias], np.full(want.shape, 7, "f")):
        assert fault == 0
        assert_close(got, want, 64)


@pytest.mark.parametrize("sizes", [(2, 9, 7), (1, 1, 1)])
def test_sizes_of_images_are_arguments(device, tmp_path, sizes):
    numbers = random()
    weight = numbers.normal(size=(8, 4, 3, 3)).astype("f")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="c", pads=[1, 1, 1, 1]), node("Relu", ["c"], "y")]
    path = save(tmp_path, nodes, {"x": ("f", ["n", 4, "h", "w"])}, {"y": "f"}, [numpy_helper.from_array(weight, "w")])
    n, h, w = sizes
    x, packed = numbers.normal(size=(n, h, w, 4)).astype("f"), np.moveaxis(weight, [0, 1], [-1, -2])
    want = convolved(x, packed, 0, [1, 1], [1] * 4, [1, 1], 1)
    for got, fault in run(device, source_of(path), "fathom_Conv", [x, packed], np.full(want.shape, 7, "f"), sizes):
        assert fault == 0
        assert_close(got, want, 64)


@pytest.mark.parametrize("knob, value, message", [
    ("item_m", 3, "must be a multiple of item_m = 3"),
    ("block_k", 129, "outside [1, 128]"),
    ("block_k", 128, "bytes of local memory"),
    ("block_n", 0, "outside [1, 256]"),
    ("fragments", 1, "the factors are not those of tensor cores"),
    ("slices", 3, "slices = 3 must be a power of two"),
    ("slices", 16, "outside [1, 8]"),
    ("slices", 8, "do not share an item's 4 x 4 sums in vectors of 4"),
    ("splits", 2, "splits must be 1: groups of"),
])
def test_refuses_schedules(tmp_path, knob, value, message):
    path = save(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": ("f", [64, 64]), "b": ("f", [64, 64])}, {"y": "f"})
    schedule = [value if name == knob else known for name, known in zip(KNOBS, DEFAULTS)]
    result = compile(path, "--emit", "asm", *planned(path, tmp_path, schedule))
    assert result.returncode and message in result.stderr, result.stderr
