"""Concatenations whose operands are written in place: every way in which a tensor can be a piece of another."""
import re

import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import agree, assert_close, compare
from support.models import floats, model, model_of, node
from support.plans import Plan, round_trip


def conv(x, y, weight, **attributes):
    return helper.make_node("Conv", [x, weight], [y], **attributes)


def same(x, y, weight):
    """A window of three, with zeros around the image."""
    return conv(x, y, weight, pads=[1, 1, 1, 1])


def cat(inputs, y, axis=1):
    return helper.make_node("Concat", inputs.split(), [y], axis=axis)


def weight(random, outputs, inputs, window=1):
    return floats(random, outputs, inputs, window, window) / np.float32(np.sqrt(inputs * window * window))


def placed(nodes, inputs, weights, outputs=("y",)):
    """Which values lie within which concatenation."""
    plan = Plan.of(model_of(nodes, inputs, weights, outputs)).text
    return dict(re.findall(r"value: '?([^,']+)'?,.* within: '?([^,' }]+)'? }", plan))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("channels", [(16, 24), (17, 31, 16), (48, 1), (64, 5, 3, 16)], ids=str)
def test_branches_of_convolutions(batch, channels, random):
    weights = {f"w{i}": weight(random, c, 7) for i, c in enumerate(channels)}
    weights["v"] = weight(random, 9, sum(channels), 3)
    nodes = [conv("x", f"c{i}", f"w{i}") for i in range(len(channels))]
    nodes += [helper.make_node("Relu", [f"c{i}"], [f"r{i}"]) for i in range(len(channels))]
    nodes += [cat(" ".join(f"r{i}" for i in range(len(channels))), "y0"), same("y0", "y", "v")]
    compare(nodes, {"x": floats(random, batch, 7, 11, 13)}, weights)


@pytest.mark.usefixtures("pinned")
def test_pieces_lie_in_the_whole(random):
    weights = {"a": weight(random, 16, 8), "b": weight(random, 32, 8), "v": weight(random, 9, 48, 3)}
    nodes = [conv("x", "p", "a"), conv("x", "q", "b"), cat("p q", "c"), same("c", "y", "v")]
    inputs = {"x": floats(random, 2, 8, 6, 5)}
    assert placed(nodes, inputs, weights) == {"p": "c", "q": "c"}
    compare(nodes, inputs, weights)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("growth", [16, 48, 20])
def test_dense_block(growth, random):
    """Concat(x0), Concat(x0, x1), ... share one buffer."""
    depth, first = 5, 24
    weights, nodes = {"start": weight(random, first, 3, 3)}, [same("x", "x0", "start")]
    for i in range(depth):
        inputs = first + i * growth
        weights |= {f"w{i}": weight(random, 32, inputs), f"v{i}": weight(random, growth, 32, 3), f"s{i}": floats(random, inputs, 1, 1)}
        nodes += [
            cat(" ".join(f"x{j}" for j in range(i + 1)), f"c{i}"),
            helper.make_node("Mul", [f"c{i}", f"s{i}"], [f"m{i}"]),
            helper.make_node("Relu", [f"m{i}"], [f"n{i}"]),
            conv(f"n{i}", f"h{i}", f"w{i}"),
            same(f"h{i}", f"x{i + 1}", f"v{i}"),
        ]
    nodes += [cat(" ".join(f"x{j}" for j in range(depth + 1)), "all"), helper.make_node("GlobalAveragePool", ["all"], ["y"])]
    inputs = {"x": floats(random, 2, 3, 9, 7)}
    where = placed(nodes, inputs, weights)
    assert where["x0"] == where["x1"] == "c1" and where["c4"] == where["x5"] == "all"
    compare(nodes, inputs, weights)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 3, 5, 7), (2, 16, 1, 3), (3, 1, 2, 16), (1, 1, 17, 2)], ids=str)
def test_axes(axis, shape, random):
    a, b, c = (floats(random, *shape) for _ in range(3))
    nodes = [
        helper.make_node("Exp", ["a"], ["p"]),
        helper.make_node("Neg", ["b"], ["q"]),
        helper.make_node("Exp", ["c"], ["r"]),
        helper.make_node("Sqrt", ["r"], ["s"]),
        cat("p q s", "t", axis),
        helper.make_node("ReduceSum", ["t"], ["u"], keepdims=1),
        helper.make_node("Sub", ["t", "u"], ["y"]),
    ]
    compare(nodes, {"a": a, "b": b, "c": c}, {})


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_ranks_and_empty_operands(rank, random):
    shape = [2, 3, 16, 2, 1][:rank]
    axis = int(random.integers(rank))
    empty = list(shape)
    empty[axis] = 0
    nodes = [
        helper.make_node("Relu", ["a"], ["p"]),
        helper.make_node("Relu", ["e"], ["q"]),
        cat("p q p", "y", axis),
    ]
    compare(nodes, {"a": floats(random, *shape), "e": floats(random, *empty)}, {})


@pytest.mark.usefixtures("pinned")
def test_pieces_that_others_read(random):
    """With and without zeros around them, and one that is a result of the model."""
    weights = {"a": weight(random, 16, 5, 3), "b": weight(random, 32, 16, 3), "v": weight(random, 9, 80), "d": weight(random, 32, 32)}
    nodes = [
        same("x", "p", "a"),
        same("p", "q", "b"),
        conv("q", "z", "d"),
        helper.make_node("MaxPool", ["z"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["m", "q"], ["o"]),
        cat("p q m", "c"),
        conv("c", "y", "v"),
    ]
    inputs = {"x": floats(random, 2, 5, 9, 6)}
    assert placed(nodes, inputs, weights, ("y", "z", "o")) == {"p": "c", "q": "c", "m": "c"}
    compare(nodes, inputs, weights, ("y", "z", "o"))


def test_one_tensor_in_many_places(random):
    """Twice in one concatenation, in several, as an input, and as a constant."""
    weights = {"a": weight(random, 16, 8), "k": floats(random, 2, 16, 6, 5), "v": weight(random, 9, 72), "u": weight(random, 3, 32)}
    nodes = [
        conv("x", "p", "a"),
        helper.make_node("Sigmoid", ["p"], ["q"]),
        cat("p q p k x", "c"),
        cat("q p", "d"),
        conv("c", "y", "v"),
        conv("d", "z", "u"),
    ]
    compare(nodes, {"x": floats(random, 2, 8, 6, 5)}, weights, ("y", "z"))


def test_concatenations_of_concatenations(random):
    weights = {f"w{i}": weight(random, 16 + i, 4) for i in range(6)} | {"v": weight(random, 5, 111, 3), "u": weight(random, 7, 70)}
    nodes = [conv("x", f"p{i}", f"w{i}") for i in range(6)]
    nodes += [
        cat("p0 p1", "c"),
        cat("p2 p3", "d"),
        cat("c d", "e"),
        cat("p4 e p5", "f"),
        helper.make_node("Relu", ["e"], ["g"]),
        same("f", "y", "v"),
        conv("g", "z", "u"),
    ]
    compare(nodes, {"x": floats(random, 1, 4, 7, 9)}, weights, ("y", "z"))


@pytest.mark.parametrize("batch", [1, 2])
def test_results_of_the_model(batch, random):
    """A concatenation that is a result, seen twice, through a view, and an operand that is one."""
    nodes = [
        helper.make_node("Exp", ["a"], ["p"]),
        helper.make_node("Neg", ["b"], ["q"]),
        cat("p q", "y"),
        cat("q p", "c"),
        helper.make_node("Reshape", ["c", "flat"], ["z"]),
        cat("c c", "w", 0),
        helper.make_node("Identity", ["y"], ["y2"]),
    ]
    inputs = {"a": floats(random, batch, 3, 17), "b": floats(random, batch, 5, 17)}
    compare(nodes, inputs, {"flat": np.array([-1], np.int64)}, ("y", "z", "w", "y2", "p"))


@pytest.mark.usefixtures("pinned")
def test_reshaped_operands(random):
    """As the heads of a detector: what lies in one piece can be placed through views."""
    weights = {"a": weight(random, 24, 8, 3), "b": weight(random, 24, 8, 3), "rows": np.array([1, -1, 4], np.int64)}
    nodes = [
        same("x", "p", "a"),
        same("x2", "q", "b"),
        helper.make_node("Transpose", ["p"], ["pt"], perm=[0, 2, 3, 1]),
        helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["pt", "rows"], ["pr"]),
        helper.make_node("Reshape", ["qt", "rows"], ["qr"]),
        cat("pr qr", "c"),
        helper.make_node("Softmax", ["c"], ["y"], axis=-1),
    ]
    inputs = {"x": floats(random, 1, 8, 5, 7), "x2": floats(random, 1, 8, 3, 3)}
    assert placed(nodes, inputs, weights) == {"p": "c", "q": "c"}
    compare(nodes, inputs, weights)


def test_any_number_of_images(random):
    weights = {"a": weight(random, 16, 5, 3), "b": weight(random, 32, 5), "v": weight(random, 9, 48, 3)}
    nodes = [same("x", "p", "a"), conv("x", "q", "b"), cat("p q", "c"), same("c", "d", "v"), cat("d c", "y")]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 5, "h", 8])], [("y", TensorProto.FLOAT)], weights)
    assert "within" in Plan.of(proto).text
    # In Winograd's tiles, one convolution behind another.
    agree(proto, [{"x": floats(random, n, 5, h, 8)} for n, h in ((1, 7), (4, 1), (3, 12))], family="convolution")


def test_sizes_along_the_axis_that_are_not_known(random):
    nodes = [
        node("Exp", "a", "p"),
        node("Neg", "b", "q"),
        cat("p q", "c"),
        cat("q p", "d"),
        node("Exp", "d", "e"),
        node("Transpose", "c", "t", perm=[0, 2, 1]),
        node("MatMul", "t e", "y"),
    ]
    proto = model(nodes, [("a", TensorProto.FLOAT, [1, "n", 8]), ("b", TensorProto.FLOAT, [1, "m", 8])], [("y", TensorProto.FLOAT)])
    agree(proto, [{"a": floats(random, 1, n, 8), "b": floats(random, 1, m, 8)} for n, m in ((1, 7), (4, 1), (3, 12))])


def test_in_branches_and_loops(random):
    """What leaves a block is not placed; what stays in it is."""
    then = helper.make_graph(
        [node("Exp", "x", "p"), node("Neg", "x", "q"), cat("p q", "c", 0), node("Sin", "c", "s"), cat("s c", "r", 0)],
        "then", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [node("Exp", "x", "p2"), cat("p2 p2 p2 p2", "r2", 0)], "else", [], [helper.make_tensor_value_info("r2", TensorProto.FLOAT, None)]
    )
    body = helper.make_graph(
        [
            node("Identity", "go", "still"),
            node("Tanh", "state", "h"),
            node("Sigmoid", "state", "k"),
            cat("h k", "hk", 0),
            node("ReduceMean", "hk", "mean", keepdims=1),
            node("Add", "h mean", "next"),
            cat("k h", "row", 1),
        ],
        "body",
        [helper.make_tensor_value_info(*i) for i in (("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("state", TensorProto.FLOAT, [2, 16]))],
        [helper.make_tensor_value_info(*o) for o in (("still", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, [2, 16]), ("row", TensorProto.FLOAT, [2, 32]))],
    )
    nodes = [
        helper.make_node("If", ["b"], ["y"], then_branch=then, else_branch=other),
        helper.make_node("Loop", ["trip", "", "x"], ["z", "rows"], body=body),
    ]
    proto = model(
        nodes,
        [("b", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [2, 16])],
        [("y", TensorProto.FLOAT), ("z", TensorProto.FLOAT), ("rows", TensorProto.FLOAT)],
        {"trip": np.array(4, np.int64)},
    )
    agree(proto, [{"b": np.array(b), "x": floats(random, 2, 16)} for b in (True, False)])


def random_network(random):
    """Convolutions, pools, elementwise ops and slices, whose results are concatenated at random; sizes stay the same."""
    batch, height, width = int(random.integers(1, 3)), int(random.integers(1, 9)), int(random.integers(1, 9))
    channels, nodes, weights = {"x": int(random.integers(1, 20))}, [], {}
    inputs = {"x": floats(random, batch, channels["x"], height, width)}
    for i in range(int(random.integers(6, 20))):
        y = f"t{i}"
        pick = [str(random.choice(list(channels))) for _ in range(int(random.integers(2, 5)))]
        a, count = pick[0], channels[pick[0]]
        kind = str(random.choice(["conv", "same", "pool", "relu", "add", "scale", "cat", "cat", "cat", "slice", "slice", "depthwise"]))
        if kind == "cat" and sum(channels[p] for p in pick) > 300:
            kind = "relu"
        if kind in ("conv", "same"):
            outputs, window = int(random.choice([1, 4, 16, 17, 32, 48])), 1 if kind == "conv" else 3
            weights[f"w{i}"] = weight(random, outputs, count, window)
            nodes.append(conv(a, y, f"w{i}", pads=[window // 2] * 4))
            channels[y] = outputs
            continue
        if kind == "depthwise":
            weights[f"w{i}"] = floats(random, count, 1, 3, 3) / np.float32(3)
            nodes.append(conv(a, y, f"w{i}", pads=[1] * 4, group=count))
        elif kind == "pool":
            nodes.append(helper.make_node("MaxPool", [a], [y], kernel_shape=[3, 3], pads=[1] * 4))
        elif kind == "add":
            b = str(random.choice([other for other in channels if channels[other] == count]))
            nodes.append(helper.make_node("Add", [a, b], [y]))
        elif kind == "scale":
            weights[f"w{i}"] = floats(random, count, 1, 1)
            nodes.append(helper.make_node("Mul", [a, f"w{i}"], [y]))
        elif kind == "slice" and count > 1:
            low = int(random.integers(0, count - 1))
            high = int(random.integers(low + 1, count + 1))
            weights |= {f"b{i}": np.array([low], np.int64), f"e{i}": np.array([high], np.int64), "channels": np.array([1], np.int64)}
            nodes.append(helper.make_node("Slice", [a, f"b{i}", f"e{i}", "channels"], [y]))
            count = high - low
        elif kind == "cat":
            nodes.append(cat(" ".join(pick), y))
            count = sum(channels[p] for p in pick)
        else:
            nodes.append(helper.make_node("Tanh", [a], [y]))
        channels[y] = count
    last = nodes[-1].output[0]
    outputs = [last] + [name for name in channels if name not in ("x", last) and random.random() < 0.15]
    # Twice would double every rounding error many times over.
    nodes.append(helper.make_node("Tanh", [last], ["y"]))
    return nodes, inputs, weights, outputs + ["y"]


@pytest.mark.parametrize("number", range(20))
def test_random_networks(number, random):
    nodes, inputs, weights, outputs = random_network(random)
    compare(nodes, inputs, weights, outputs)


def plan_model(random):
    weights = {"a": weight(random, 16, 8), "b": weight(random, 32, 8), "v": weight(random, 9, 56, 3)}
    nodes = [conv("x", "p", "a"), conv("x", "q", "b"), cat("p q x", "c"), same("c", "y", "v")]
    return model_of(nodes, {"x": np.zeros((2, 8, 6, 5), np.float32)}, weights)


@pytest.mark.usefixtures("pinned")
def test_a_plan_decides(random, tmp_path):
    proto = plan_model(random)
    path, first = round_trip(proto, tmp_path)
    text = path.read_text()
    # One piece less: it is copied, which takes a kernel more.
    halo = "halo: [ 0, 0, 0, 0, 1, 1, 1, 1 ]"
    assert text.count(f"{halo}, within: c") == 2
    copied = re.sub(r"(value: p, order: [^]]*\]), " + re.escape(halo) + ", within: c", r"\1", text)
    copy = "  - { kernel: c.part0, class: map, ops: [ c.part0 ], schedule: { lanes: 4, short_loop: 32, interleaved: 4, tables: 16384, padded_lanes: 16, grain: 1024 } }\n"
    copied = re.sub(r"  - kernel: +c.part2(?s:.)*?(?=  - kernel)", lambda kernel: kernel[0] + copy, copied)
    path.write_text(copied)
    x = floats(random, 2, 8, 6, 5)
    got = fathom.Session(fathom.compile(proto, plan=str(path))).run(None, {"x": x})[0]
    assert_close(got, fathom.Session(str(first)).run(None, {"x": x})[0], "product")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "pattern, replacement, reason",
    [
        (r"within: c", "within: y", "no concatenation that has it"),
        (r", halo: [^]]*\], within: c", ", within: c", "its halo is another"),
        (r"(value: [pq], order: [^]]*\], halo: [^]]*\]), within: c", r"\1", "no op 'c.part2'"),
    ],
)
def test_an_illegal_place_is_refused(random, tmp_path, pattern, replacement, reason):
    proto = plan_model(random)
    with pytest.raises(fathom.Error, match=reason):
        Plan.of(proto).replaced(pattern, replacement).compile(proto, tmp_path)
