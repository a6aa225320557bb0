"""Sizes that only data decides, of zero, one and primes, against ONNX Runtime on fresh random data."""
import numpy as np
import pytest
from onnx import numpy_helper

import fathom
from support.compare import agree
from support.models import BOOL, FLOAT, INT32, INT64, floats, model, node, prime

ROUNDS = 12


def test_nonzero(random):
    proto = model([node("NonZero", "x", "y")], [("x", FLOAT, ["a", "b"])], [("y", INT64)])
    feeds = [{"x": floats(random, prime(random), prime(random)) * (random.random() > r / ROUNDS)} for r in range(ROUNDS)]
    feeds += [{"x": np.zeros((3, 5), np.float32)}, {"x": np.array([[np.nan, 0.0, -0.0]], np.float32)}]
    agree(proto, [{"x": feed["x"].astype(np.float32)} for feed in feeds])


def test_range_to_the_far_side(random):
    """The largest of no numbers is as small as can be: there is nothing on the way."""
    nodes = [node("Compress", "x c", "some", axis=0), node("ReduceMax", "some", "end", keepdims=0), node("Range", "zero end one", "y")]
    proto = model(nodes, [("x", INT64, ["n"]), ("c", BOOL, ["n"])], [("y", INT64)], {"zero": np.array(0), "one": np.array(1)}, opset=18)
    x = np.array([3, 1, 7])
    agree(proto, [{"x": x, "c": np.array(c)} for c in ([True, True, False], [False] * 3, [False, False, True])])
    session = fathom.Session(fathom.compile(model([node("Range", "zero end by", "y")], [("end", INT64, []), ("by", INT64, [])],
                                                  [("y", INT64)], {"zero": np.array(0)})))
    least = np.iinfo(np.int64).min
    assert session.run(None, {"end": np.array(least), "by": np.array(5)})[0].size == 0
    with pytest.raises(fathom.Error, match="too many numbers"):
        session.run(None, {"end": np.array(least), "by": np.array(-1)})


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis, random):
    attributes = {} if axis is None else {"axis": axis}
    nodes = [node("Compress", "x c", "y", **attributes), node("Relu", "y", "z"), node("ReduceSum", "y", "s", keepdims=0)]
    proto = model(nodes, [("x", FLOAT, ["a", "b"]), ("c", BOOL, ["n"])], [("z", FLOAT), ("s", FLOAT)])
    feeds = []
    for r in range(ROUNDS):
        x = floats(random, prime(random), prime(random))
        length = x.size if axis is None else x.shape[axis]
        feeds.append({"x": x, "c": random.random(length) < r / (ROUNDS - 1)})
    agree(proto, feeds)


@pytest.mark.parametrize("dtype, onnx", [(np.int64, INT64), (np.int32, INT32), (np.float32, FLOAT)])
def test_range(dtype, onnx, random):
    proto = model([node("Range", "a b c", "y")], [(name, onnx, []) for name in "abc"], [("y", onnx)])
    feeds = [{"a": 0, "b": 0, "c": 1}, {"a": 5, "b": 0, "c": 2}, {"a": 3, "b": 4, "c": 7}]
    for _ in range(ROUNDS):
        a, b = random.integers(-40, 40, 2)
        feeds.append({"a": a, "b": b, "c": int(random.choice([-7, -2, -1, 1, 3, 5]))})
    agree(proto, [{name: np.array(value, dtype) for name, value in feed.items()} for feed in feeds])


@pytest.mark.parametrize("steps", [(1, 1), (1, -1), (-3, 2), (7, -5)], ids=str)
def test_slice(steps, random):
    nodes = [node("Slice", "x from to axes steps", "y")]
    inputs = [("x", FLOAT, ["a", "b", 3]), ("from", INT64, [2]), ("to", INT64, [2])]
    proto = model(nodes, inputs, [("y", FLOAT)], {"axes": np.array([0, -2]), "steps": np.array(steps)})
    ends = [0, 1, -1, 2, -5, 11, 1000, -1000, 2**62, -(2**62)]
    feeds = []
    for _ in range(4 * ROUNDS):
        x = floats(random, prime(random), prime(random), 3)
        feeds.append({"x": x, "from": random.choice(ends, 2), "to": random.choice(ends, 2)})
    agree(proto, feeds)


def test_reshape_with_zero_and_rest(random):
    inputs = [("x", FLOAT, ["a", "b", "c"]), ("s", INT64, [3])]
    proto = model([node("Reshape", "x s", "y"), node("Softmax", "y", "z", axis=-1)], inputs, [("z", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        a, b, c = (prime(random) for _ in range(3))
        shapes = [[c, b, a], [0, -1, 1], [-1, 0, 0], [a * b, 1, c], [0, 0, 0], [1, -1, b]]
        feeds += [{"x": floats(random, a, b, c), "s": np.array(shape)} for shape in shapes]
    agree(proto, feeds)


def test_reshape_beside_known_rest(random):
    nodes = [node("Concat", "rest s", "t", axis=0), node("Reshape", "x t", "y")]
    proto = model(nodes, [("x", FLOAT, ["a", "b"]), ("s", INT64, [1])], [("y", FLOAT)], {"rest": np.array([-1])})
    feeds = []
    for _ in range(ROUNDS):
        a, b = prime(random), prime(random)
        feeds += [{"x": floats(random, a, b), "s": np.array([size])} for size in (1, a, b, a * b, 0)]
    agree(proto, feeds)


@pytest.mark.parametrize("last", ["Relu", "Transpose", "Identity"])
def test_reshape_of_a_constant(last, random):
    """The artifact has all of the constant, although the shape that is read has no known size."""
    nodes = [node("Reshape", "c s", "r"), node(last, "r", "y"), node("MatMul", "x r", "z"), node("MatMul", "y x", "left")]
    proto = model(nodes, [("s", INT64, [2]), ("x", FLOAT, ["n", "n"])], [("y", FLOAT), ("z", FLOAT), ("left", FLOAT)],
                  {"c": floats(random, 7, 7)})
    agree(proto, [{"s": np.array(shape), "x": floats(random, 7, 7)} for shape in ([7, -1], [-1, 0], [0, 7])])
    proto = model([node("Reshape", "c s", "r"), node(last, "r", "y")], [("s", INT64, [2])], [("y", FLOAT)], {"c": floats(random, 6, 35)})
    agree(proto, [{"s": np.array(shape)} for shape in ([5, -1], [-1, 3], [1, 210], [0, 0])])


@pytest.mark.parametrize("shape", [[1, 5], [3, 1], [1, 1], [1]], ids=str)
def test_expand(shape, random):
    proto = model([node("Expand", "x s", "y")], [("x", FLOAT, shape), ("s", INT64, [3])], [("y", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        wanted = [prime(random), *([1] * (2 - len(shape))), *(prime(random) if size == 1 else size for size in shape)]
        feeds.append({"x": floats(random, *shape), "s": np.array(wanted)})
    feeds.append({"x": floats(random, *shape), "s": np.array([0, 1, 1])})
    agree(proto, feeds)


@pytest.mark.parametrize("axis", [0, 1])
def test_topk(axis, random):
    nodes = [node("TopK", "x k", "v i", axis=axis, largest=axis)]
    proto = model(nodes, [("x", FLOAT, ["a", "b"]), ("k", INT64, [1])], [("v", FLOAT), ("i", INT64)])
    feeds = []
    for _ in range(ROUNDS):
        x = floats(random, prime(random), prime(random))
        feeds.append({"x": x, "k": random.integers(0, x.shape[axis], 1, endpoint=True)})
    agree(proto, feeds)


def test_nms_with_run_time_limits(random):
    names = "boxes scores most overlap least"
    inputs = [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1])]
    inputs += [("overlap", FLOAT, [1]), ("least", FLOAT, [1])]
    proto = model([node("NonMaxSuppression", names, "y")], inputs, [("y", INT64)])
    feeds = []
    for _ in range(ROUNDS):
        batch, classes, boxes = (prime(random) for _ in range(3))
        corners = np.sort(random.random((batch, boxes, 2, 2)), axis=2).reshape(batch, boxes, 4)
        limits = {"most": random.integers(0, 40, 1), "overlap": random.random(1), "least": random.random(1) / 2}
        feed = {"boxes": corners, "scores": random.permuted(np.linspace(0, 1, batch * classes * boxes)).reshape(batch, classes, boxes)}
        feeds.append({name: value if name == "most" else value.astype(np.float32) for name, value in (feed | limits).items()})
    agree(proto, feeds)


@pytest.mark.parametrize("center", [0, 1])
def test_nms_of_many_boxes(center, random):
    # Small boxes hardly overlap, and most stay. Without a width none overlaps, and all stay.
    inputs = [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1]), ("overlap", FLOAT, [1])]
    proto = model([node("NonMaxSuppression", "boxes scores most overlap", "y", center_point_box=center)], inputs, [("y", INT64)])
    feeds = []
    for count, width in [(1, 0), (16, 0), (31, 0.1), (64, 0), (127, 0.2), (512, 0.05), (911, 0.1)]:
        middle, size = random.random((2, count, 2)), random.random((2, count, 2)) * width
        boxes = np.concatenate([middle, size] if center else [middle - size / 2, middle + size / 2], axis=2)
        scores = random.permuted(np.linspace(0, 1, 2 * 3 * count)).reshape(2, 3, count)
        feed = {"boxes": boxes.astype(np.float32), "scores": scores.astype(np.float32)}
        feeds.append(feed | {"most": np.array([count]), "overlap": (random.random(1) / 4).astype(np.float32)})
    agree(proto, feeds)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("overlap", [0.0, 0.29, 0.3, 0.45, 0.55, 0.7, 0.9, 1.0])
def test_nms_of_boxes_of_many_sizes(overlap, center, random):
    """Boxes of sizes over six decades, far and near, in bands as detectors move their classes apart; many lie on one another."""
    inputs = [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"]), ("most", INT64, [1]), ("least", FLOAT, [1])]
    nodes = [node("Constant", "", "overlap", value=numpy_helper.from_array(np.array([overlap], np.float32)))]
    nodes.append(node("NonMaxSuppression", "boxes scores most overlap least", "y", center_point_box=center))
    feeds = []
    for count in (1, 7, 311, 900):
        middle = random.random((2, count, 2))
        size = random.random((2, count, 2)) * random.choice([0.001, 0.05, 0.3], size=(2, count, 1))
        snapped = random.random((2, count, 1)) < 0.5
        middle, size = (np.where(snapped, np.round(values * 16) / 16, values) for values in (middle, size))
        middle += 2 * random.integers(0, 20, (2, count, 1))
        boxes = np.concatenate([middle, size] if center else [middle - size / 2, middle + size / 2], axis=2)
        boxes *= random.choice([1e-3, 1, 1e6])
        scores = random.permuted(np.linspace(0, 1, 2 * 3 * count)).reshape(2, 3, count).astype(np.float32)
        limits = {"most": np.array([random.choice([3, count])]), "least": random.choice([0, 0.3], 1).astype(np.float32)}
        feeds.append({"boxes": boxes.astype(np.float32), "scores": scores} | limits)
    agree(model(nodes, inputs, [("y", INT64)]), feeds)


@pytest.mark.parametrize("op", ["NonMaxSuppression", "Unique"])
def test_only_their_number_is_used(op, random):
    """A sequence's length is known without its element, whose size stays to be checked."""
    inputs = [("boxes", FLOAT, [1, 9, 4]), ("scores", FLOAT, [1, 1, 9])] if op == "NonMaxSuppression" else [("x", FLOAT, [9])]
    names = "boxes scores most" if op == "NonMaxSuppression" else "x"
    nodes = [node("Constant", "", "most", value=numpy_helper.from_array(np.array([4])))] if op == "NonMaxSuppression" else []
    nodes += [node(op, names, "found"), node("SequenceConstruct", "found", "all"), node("SequenceLength", "all", "y")]
    session = fathom.Session(fathom.compile(model(nodes, inputs, [("y", INT64)])))
    assert session.run(None, {name: floats(random, *sizes) for name, _, sizes in inputs})[0] == 1


def test_nms_of_boxes_without_end(random):
    """Corners that are infinite, not numbers or as far out as numbers go overlap with nothing, and take no time."""
    inputs = [("boxes", FLOAT, ["b", "n", 4]), ("scores", FLOAT, ["b", "c", "n"])]
    limits = {"most": np.array([99]), "overlap": np.array([0.5], np.float32)}
    nodes = [node("Constant", "", name, value=numpy_helper.from_array(value)) for name, value in limits.items()]
    proto = model([*nodes, node("NonMaxSuppression", "boxes scores most overlap", "y")], inputs, [("y", INT64)])
    far = np.float32(3e38)
    boxes = np.array([[-np.inf, -np.inf, np.inf, np.inf], [0, 0, np.nan, 1], [-far, -far, far, far], [far, far, far, far], [0, 0, 1, 1], [0, 0, 1, 1]])
    scores = np.linspace(1, 0, len(boxes), dtype=np.float32)[None, None]
    [got] = fathom.Session(fathom.compile(proto)).run(None, {"boxes": boxes[None].astype(np.float32), "scores": scores})
    assert got[:, 2].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode, random):
    inputs = [("x", FLOAT, ["a", "b"]), ("p", INT64, [4]), ("v", FLOAT, [])]
    proto = model([node("Pad", "x p v", "y", mode=mode)], inputs, [("y", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        a, b = prime(random), prime(random)
        most = (a - 1, b - 1) if mode == "reflect" else (7, 7)
        pads = [int(random.integers(0, limit, endpoint=True)) for limit in most * 2]
        feeds.append({"x": floats(random, a, b), "p": np.array(pads), "v": np.array(2.5, np.float32)})
    agree(proto, feeds)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_crops_where_it_is_negative(mode, random):
    inputs = [("x", FLOAT, ["a", "b"]), ("p", INT64, [4]), ("v", FLOAT, [])]
    proto = model([node("Pad", "x p v", "y", mode=mode)], inputs, [("y", FLOAT)])
    feeds = []
    for _ in range(3 * ROUNDS):
        sizes = [prime(random, 3) for _ in range(2)]
        # What is left of every dimension is enough to be reflected as far as it grows.
        crops = [int(random.integers(0, size // 3, endpoint=True)) for size in sizes]
        ways = random.integers(0, 3, 2)
        begin = [-crop if way == 0 else min(crop, size // 3) for crop, way, size in zip(crops, ways, sizes)]
        end = [-crop if way == 1 else min(crop, size // 3) for crop, way, size in zip(crops, ways, sizes)]
        feeds.append({"x": floats(random, *sizes), "p": np.array(begin + end), "v": np.array(2.5, np.float32)})
    if mode == "constant":
        feeds += [{"x": floats(random, 5, 3), "p": np.array(pads), "v": np.array(0, np.float32)}
                  for pads in ([-5, 0, 0, 0], [-2, -1, -3, -1], [0, -3, 0, 2], [4, 0, -5, 0])]
    agree(proto, feeds)


def test_output_without_elements_whose_other_size_data_decides(random):
    nodes = [node("NonZero", "x", "z"), node("Slice", "z from to axis", "y")]
    proto = model(nodes, [("x", FLOAT, ["a", "b"])], [("y", INT64)])
    proto.graph.initializer.extend(numpy_helper.from_array(np.array([0]), name) for name in ("from", "to", "axis"))
    agree(proto, [{"x": floats(random, prime(random), prime(random))} for _ in range(3)])


def test_pad_that_crops_too_much(random):
    proto = model([node("Pad", "x p", "y")], [("x", FLOAT, ["a", 3]), ("p", INT64, [4])], [("y", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    for pads in ([-6, 0, 0, 0], [-3, 0, -3, 0], [0, 0, 0, -4], [0, 0, -(2**62), 0], [-(2**63), 0, -(2**63), 0], [2**63 - 1, 0, 2**63 - 1, 0]):
        with pytest.raises(fathom.Error, match="Pad"):
            session.run(None, {"x": floats(random, 5, 3), "p": np.array(pads)})


@pytest.mark.parametrize("mode, pads", [("edge", [-5, 0, 2, 0]), ("edge", [1, 4, 0, -3]), ("reflect", [-3, 0, 2, 0]), ("reflect", [0, 1, 0, -2])])
def test_pad_that_leaves_nothing_to_copy(mode, pads, random):
    proto = model([node("Pad", "x p", "y", mode=mode)], [("x", FLOAT, [5, 3]), ("p", INT64, [4])], [("y", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    with pytest.raises(fathom.Error, match="Pad"):
        session.run(None, {"x": floats(random, 5, 3), "p": np.array(pads)})
    proto.graph.input.pop()
    proto.graph.initializer.append(numpy_helper.from_array(np.array(pads), "p"))
    with pytest.raises(fathom.Error, match="do not go with size"):
        fathom.compile(proto)


def test_data_that_turns_out_to_be_sizes(random):
    """The sum of a constant is folded, and with it what the pads were to be read from."""
    nodes = [node("ReduceSum", "ones", "two", keepdims=1), node("Expand", "two four", "pads"), node("Pad", "x pads", "y")]
    proto = model(nodes, [("x", FLOAT, ["n", "m"])], [("y", FLOAT)], {"ones": np.ones(2, np.int64), "four": np.array([4])}, opset=18)
    agree(proto, [{"x": floats(random, n, m)} for n, m in ((1, 1), (3, 5), (7, 2))])
    nodes = [node("Shape", "x", "sizes"), node("ReduceSum", "ones", "two", keepdims=1), node("Mul", "sizes two", "more"),
             node("ConstantOfShape", "more", "y")]
    proto = model(nodes, [("x", FLOAT, ["n", "m"])], [("y", FLOAT)], {"ones": np.ones(2, np.int64)}, opset=18)
    agree(proto, [{"x": floats(random, n, m)} for n, m in ((1, 1), (3, 5), (7, 2))])


def test_tile(random):
    proto = model([node("Tile", "x r", "y")], [("x", FLOAT, ["a", "b"]), ("r", INT64, [2])], [("y", FLOAT)])
    feeds = [{"x": floats(random, prime(random), prime(random)), "r": random.integers(0, 5, 2)} for _ in range(ROUNDS)]
    agree(proto, feeds)


def test_onehot(random):
    inputs = [("i", INT64, ["n"]), ("d", INT64, []), ("v", FLOAT, [2])]
    proto = model([node("OneHot", "i d v", "y", axis=0)], inputs, [("y", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        depth = prime(random)
        indices = random.integers(-depth - 2, depth + 2, prime(random))
        feeds.append({"i": indices, "d": np.array(depth), "v": np.array([-1, 3], np.float32)})
    agree(proto, feeds)


def test_constant_of_shape(random):
    nodes = [node("ConstantOfShape", "s", "z"), node("NonZero", "z", "y")]
    proto = model(nodes, [("s", INT64, [3])], [("z", FLOAT), ("y", INT64)])
    feeds = [{"s": random.integers(0, 7, 3)} for _ in range(ROUNDS)] + [{"s": np.array([2, 0, 3])}, {"s": np.array([1, 1, 1])}]
    agree(proto, feeds)


def test_split_by_data(random):
    proto = model([node("Split", "x s", "a b c", axis=1)], [("x", FLOAT, ["n", "m"]), ("s", INT64, [3])],
                  [("a", FLOAT), ("b", FLOAT), ("c", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        x = floats(random, prime(random), prime(random))
        cuts = np.sort(random.integers(0, x.shape[1], 2, endpoint=True))
        feeds.append({"x": x, "s": np.diff([0, *cuts, x.shape[1]])})
    agree(proto, feeds)


def test_one_size_feeds_the_next(random):
    """A count read from data, the range up to it, and rows gathered by that range."""
    nodes = [
        node("ReduceSum", "m", "count", keepdims=0),
        node("Range", "zero count one", "rows"),
        node("Gather", "x rows", "some", axis=0),
        node("Shape", "some", "shape"),
        node("ConstantOfShape", "shape", "zeros"),
        node("Concat", "some zeros", "both", axis=1),
        node("MatMul", "both w", "y"),
    ]
    inputs = [("m", INT64, ["n"]), ("x", FLOAT, ["n", 3])]
    proto = model(nodes, inputs, [("y", FLOAT)], {"zero": np.array(0), "one": np.array(1), "w": floats(random, 6, 5)})
    feeds = []
    for _ in range(ROUNDS):
        n = prime(random)
        feeds.append({"m": random.integers(0, 2, n), "x": floats(random, n, 3)})
    agree(proto, feeds)


def test_dimensions_that_may_be_zero(random):
    """The past of a cache is empty at first."""
    nodes = [node("Concat", "past x", "all", axis=1), node("Slice", "all from to axis", "last"), node("ReduceSum", "all axis", "sum")]
    inputs = [("past", FLOAT, [2, "past", 3]), ("x", FLOAT, [2, "new", 3])]
    constants = {"from": np.array([-1]), "to": np.array([2**62]), "axis": np.array([1])}
    proto = model(nodes, inputs, [("all", FLOAT), ("last", FLOAT), ("sum", FLOAT)], constants)
    feeds = [{"past": floats(random, 2, past, 3), "x": floats(random, 2, new, 3)} for past in (0, 1, 7) for new in (1, 5)]
    agree(proto, feeds, dim={"past": (0, 16), "new": (1, 16)})


def test_slice_of_what_may_be_empty(random):
    proto = model([node("Slice", "x from to", "y")], [("x", FLOAT, ["n", 3])], [("y", FLOAT)],
                  {"from": np.array([0]), "to": np.array([1])})
    agree(proto, [{"x": floats(random, n, 3)} for n in (0, 1, 2, 5)], dim={"n": (0, 8)})


def test_a_view_whose_size_is_known_after_its_memory(random):
    """The values are made before the sizes are, and leave the model under them."""
    nodes = [node("Neg", "x", "v"), node("Mul", "s s", "t"), node("Reshape", "v t", "y")]
    proto = model(nodes, [("x", FLOAT, ["n", 4]), ("s", INT64, [2])], [("y", FLOAT)])
    agree(proto, [{"x": random.standard_normal((9, 4)).astype(np.float32), "s": np.array(s)} for s in ([2, 3], [3, 2], [1, 6], [6, 1])])


def test_views_that_leave_with_later_sizes(random):
    """An output whose memory is needed before the sizes that it leaves with are known."""
    nodes = [node("Compress", "x c", "some", axis=0), node("Relu", "some", "r"), node("Reshape", "r shape", "y"),
             node("Relu", "x", "s"), node("Reshape", "s shape", "z")]
    inputs = [("x", FLOAT, ["a", 6]), ("c", BOOL, ["a"]), ("shape", INT64, [2])]
    proto = model(nodes, inputs, [("y", FLOAT), ("z", FLOAT)])
    feeds = []
    for columns in (2, 3, 6, 1):
        rows = prime(random) + 1
        chosen = random.random(rows) < 0.5
        feeds.append({"x": floats(random, rows, 6), "c": chosen, "shape": np.array([-1, columns])})
    agree(proto, feeds)


def test_refused_sizes_are_named(random):
    """What a node needs of sizes that only the run knows, in the words of the model."""
    proto = model([node("Concat", "x y", "c", axis=0), node("MatMul", "c w", "z")],
                  [("x", FLOAT, ["n"]), ("y", FLOAT, ["m"]), ("w", FLOAT, ["k", 2])], [("z", FLOAT)])
    agree(proto, [{"x": floats(random, n), "y": floats(random, m), "w": floats(random, n + m, 2)} for n, m in ((2, 3), (1, 7))])
    with pytest.raises(fathom.Error, match=r"the size n \+ m must be the same as k .*'MatMul_z'"):
        fathom.Session(fathom.compile(proto)).run(None, {"x": floats(random, 2), "y": floats(random, 3), "w": floats(random, 4, 2)})
