"""Slices and splits that are read where their input has them."""
import re

import numpy as np
import pytest
from onnx import TensorProto, helper
from test_concat import cat, conv, same, weight

import fathom
from support.compare import agree, assert_close, compare
from support.models import floats, model, model_of, node
from support.plans import Plan, round_trip


def cut(x, y, low, high, axis=1):
    """A slice, and the constants that say which."""
    names = [f"{y}_low", f"{y}_high", f"{y}_axis"]
    constants = {name: np.array([value], np.int64) for name, value in zip(names, (low, high, axis))}
    return helper.make_node("Slice", [x, *names], [y]), constants


def split(x, outputs, axis=1):
    return helper.make_node("Split", [x], outputs.split(), axis=axis)


def kernels(nodes, inputs, weights, outputs=("y",)):
    return re.findall(r"- kernel: +'?([^\n']+)", Plan.of(model_of(nodes, inputs, weights, outputs)).text)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("window", [1, 3])
def test_split_then_convolution(batch, window, random):
    """The zeros around the part are written around the tensor that it is a part of."""
    weights = {"a": weight(random, 48, 5), "v": weight(random, 7, 24, window), "u": weight(random, 3, 24)}
    nodes = [
        conv("x", "c", "a"),
        split("c", "p q"),
        conv("p", "r", "v", pads=[window // 2] * 4),
        conv("q", "s", "u"),
        cat("r s", "y"),
    ]
    inputs = {"x": floats(random, batch, 5, 7, 6)}
    assert not any(name.startswith(("p", "q")) for name in kernels(nodes, inputs, weights))
    compare(nodes, inputs, weights)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(6, 2, 4, 16), (2, 18, 1, 3), (3, 17, 5, 2), (1, 1, 34, 16), (2, 3, 5, 64)], ids=str)
def test_axes(axis, shape, random):
    """Parts of an input and of a kernel's result, in the middle and at both ends, read by several."""
    size = shape[axis]
    nodes, weights = [helper.make_node("Exp", ["x"], ["e"])], {}
    for i, (low, high) in enumerate(((0, -1), (1, size), (size // 3, size // 3 + 2), (-2, 1000), (size, size))):
        for source in "xe":
            name = f"{source}{i}"
            slice_, constants = cut(source, name, low, high, axis)
            nodes += [slice_, helper.make_node("ReduceSum", [name], [f"{name}s"]), helper.make_node("Sub", [name, f"{name}s"], [f"{name}y"])]
            weights |= constants
    outputs = [n.output[0] for n in nodes if n.op_type == "Sub"]
    compare(nodes, {"x": floats(random, *shape)}, weights, outputs, family="product")


def test_parts_of_parts(random):
    """Two dimensions at once, a part of a part, zeros around a tensor that its parts do not have, and a stepping slice."""
    weights = {"a": weight(random, 32, 5, 3), "v": weight(random, 9, 16, 3), "u": weight(random, 9, 32, 3)}
    weights |= {"low": np.array([1, 16], np.int64), "high": np.array([-1, 32], np.int64), "axes": np.array([2, 1], np.int64)}
    weights |= {"two": np.array([2], np.int64), "rows": np.array([2], np.int64), "nine": np.array([9], np.int64)}
    part, constants = cut("p", "q", 0, 4, 3)
    nodes = [
        same("x", "c", "a"),
        same("c", "z", "u"),
        helper.make_node("Slice", ["c", "low", "high", "axes"], ["p"]),
        part,
        same("p", "y", "v"),
        same("q", "w", "v"),
        helper.make_node("Slice", ["c", "two", "nine", "rows", "two"], ["s"]),
        helper.make_node("Relu", ["s"], ["t"]),
    ]
    compare(nodes, {"x": floats(random, 2, 5, 8, 7)}, weights | constants, ("y", "z", "w", "t"))


def test_results_of_the_model(random):
    """What leaves the model is copied, also through a view; what is only read is not."""
    weights = {"flat": np.array([-1], np.int64)}
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        split("e", "p q r", 0),
        helper.make_node("Reshape", ["q", "flat"], ["f"]),
        helper.make_node("Reshape", ["r", "flat"], ["g"]),
        helper.make_node("Neg", ["g"], ["y"]),
    ]
    inputs = {"x": floats(random, 6, 5)}
    assert len(kernels(nodes, inputs, weights, ("p", "f", "y"))) == 4
    compare(nodes, inputs, weights, ("p", "f", "y"))


@pytest.mark.parametrize("batch", [1, 2])
def test_split_and_joined_again(batch, random):
    """As in networks that split their channels, work on a part and join all: parts in their old order are one part."""
    weights = {"a": weight(random, 32, 5), "v": weight(random, 16, 16, 3), "u": weight(random, 9, 64)}
    nodes = [
        conv("x", "c", "a"),
        split("c", "p q"),
        same("q", "m", "v"),
        same("m", "n", "v"),
        cat("p q m n", "all"),
        conv("all", "y", "u"),
    ]
    inputs = {"x": floats(random, batch, 5, 7, 6)}
    plan = Plan.of(model_of(nodes, inputs, weights)).text
    assert plan.count("within: all") == 3 and "class:           concat" not in plan
    compare(nodes, inputs, weights)


def test_shuffled_channels(random):
    weights = {"a": weight(random, 32, 5), "v": weight(random, 16, 16), "groups": np.array([2, 2, 16, 7, 6], np.int64), "back": np.array([2, 32, 7, 6], np.int64)}
    nodes = [
        conv("x", "c", "a"),
        split("c", "p q"),
        conv("q", "m", "v"),
        cat("p m", "j"),
        helper.make_node("Reshape", ["j", "groups"], ["g"]),
        helper.make_node("Transpose", ["g"], ["t"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["t", "back"], ["b"]),
        split("b", "r s"),
        helper.make_node("Mul", ["r", "s"], ["y"]),
    ]
    compare(nodes, {"x": floats(random, 2, 5, 7, 6)}, weights)


def test_heads_of_one_product(random):
    """Queries, keys and values out of one product."""
    weights = {"w": floats(random, 32, 96) / np.float32(6), "shape": np.array([2, 5, 4, 8], np.int64)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["qkv"]), split("qkv", "q k v", 2)]
    for name in "qkv":
        nodes += [
            helper.make_node("Reshape", [name, "shape"], [f"{name}r"]),
            helper.make_node("Transpose", [f"{name}r"], [f"{name}t"], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]),
        ]
    nodes += [helper.make_node("MatMul", ["qt", "kt"], ["s"]), helper.make_node("Softmax", ["s"], ["p"]), helper.make_node("MatMul", ["p", "vt"], ["y"])]
    compare(nodes, {"x": floats(random, 2, 5, 32)}, weights)


def test_gated_product(random):
    weights = {"w": floats(random, 32, 64) / np.float32(6), "v": floats(random, 32, 7)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["ab"]),
        split("ab", "a b", 1),
        helper.make_node("Sigmoid", ["a"], ["g"]),
        helper.make_node("Mul", ["g", "b"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["y0"]),
        helper.make_node("MatMul", ["b", "v"], ["y1"]),
        helper.make_node("Add", ["y0", "y1"], ["y"]),
    ]
    compare(nodes, {"x": floats(random, 13, 32)}, weights)


def test_any_number_of_images(random):
    weights = {"a": weight(random, 48, 5), "v": weight(random, 7, 24, 3), "u": weight(random, 3, 24)}
    first, constants = cut("x", "one", 0, 1, 0)
    nodes = [conv("x", "c", "a"), split("c", "p q"), same("p", "r", "v"), conv("q", "s", "u"), cat("r s", "t"), first, node("Exp", "one", "z"), node("Relu", "t", "y")]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 5, "h", 8])], [("y", TensorProto.FLOAT), ("z", TensorProto.FLOAT)], weights | constants)
    agree(proto, [{"x": floats(random, n, 5, h, 8)} for n, h in ((1, 7), (4, 1), (3, 12))])


def test_sizes_that_data_decides(random):
    """A part of a tensor whose memory is taken while the model runs."""
    first, constants = cut("big", "part", 0, 3, 1)
    nodes = [
        node("NonZero", "x", "where"),
        node("Transpose", "where", "rows", perm=[1, 0]),
        node("GatherND", "x rows", "big0"),
        node("Expand", "big0 shape", "wide"),
        node("Exp", "wide", "big"),
        first,
        node("Neg", "part", "y"),
        node("Sin", "big", "z"),
    ]
    proto = model(nodes, [("x", TensorProto.FLOAT, ["n", 3])], [("y", TensorProto.FLOAT), ("z", TensorProto.FLOAT)], constants | {"shape": np.array([4, 1], np.int64)})
    agree(proto, [{"x": floats(random, n, 3) * (random.random((n, 3)) < 0.5)} for n in (2, 7, 13)])


def test_in_branches_and_loops(random):
    body = helper.make_graph(
        [
            node("Identity", "go", "still"),
            node("Exp", "state", "e"),
            split("e", "a b"),
            split("state", "c d"),
            node("Add", "a d", "l"),
            node("Mul", "b c", "r"),
            cat("l r", "lr"),
            node("Tanh", "lr", "next"),
            node("Identity", "a", "row"),
        ],
        "body",
        [helper.make_tensor_value_info(*i) for i in (("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("state", TensorProto.FLOAT, [2, 32]))],
        [helper.make_tensor_value_info(*o) for o in (("still", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, [2, 32]), ("row", TensorProto.FLOAT, [2, 16]))],
    )
    nodes = [split("x0", "x unused", 0), helper.make_node("Loop", ["trip", "", "x"], ["z", "rows"], body=body), split("z", "p q"), node("Neg", "q", "y")]
    proto = model(
        nodes, [("x0", TensorProto.FLOAT, [4, 32])], [("y", TensorProto.FLOAT), ("rows", TensorProto.FLOAT)], {"trip": np.array(4, np.int64)}
    )
    agree(proto, [{"x0": floats(random, 4, 32)} for _ in range(2)])


@pytest.mark.usefixtures("pinned")
def test_a_plan_decides(random, tmp_path):
    weights = {"a": weight(random, 48, 5), "v": weight(random, 7, 24, 3), "u": weight(random, 7, 24)}
    nodes = [conv("x", "c", "a"), split("c", "p q"), same("p", "r", "v"), conv("q", "s", "u"), helper.make_node("Add", ["r", "s"], ["y"])]
    proto = model_of(nodes, {"x": np.zeros((2, 5, 7, 6), np.float32)}, weights)
    path, first = round_trip(proto, tmp_path)
    text = path.read_text()
    # As a kernel, it copies.
    copy = "  - kernel: p.1\n    class: map\n    ops: [ p.1 ]\n    schedule: { lanes: 4, short_loop: 32, interleaved: 4, tables: 16384, padded_lanes: 16, grain: 1000 }\n"
    path.write_text(text.replace("kernels:\n", "kernels:\n" + copy))
    x = floats(random, 2, 5, 7, 6)
    got = fathom.Session(fathom.compile(proto, plan=str(path))).run(None, {"x": x})[0]
    assert_close(got, fathom.Session(str(first)).run(None, {"x": x})[0], "product")
