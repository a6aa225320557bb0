"""Runs that are refused because of sizes: the words name the model's own dimensions and nothing that the compiler made up."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models import make_model, value

import fathom

INT64, BOOL = TensorProto.INT64, TensorProto.BOOL


def refused(nodes, inputs, outputs, feed, words, constants=None, opset=21):
    """The run ends with these words, and says no more about sizes."""
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    proto = make_model(nodes, inputs, [value(name, None) for name in outputs], weights, opset)
    with pytest.raises(fathom.Error) as error:
        fathom.Session(fathom.compile(proto)).run(None, feed)
    assert str(error.value) == f"[F1012] {words} (fault 2 at node 'it')"
    assert error.value.node == "it"


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name="it", **attributes)


def zeros(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("parts, size", [(4, 1), (4, 2), (4, 5), (7, 8)])
def test_too_few_for_the_parts(parts, size):
    names = [f"y{i}" for i in range(parts)]
    split = node("Split", ["x"], names, num_outputs=parts)
    refused([split], [value("x", ["n", 2])], names, {"x": zeros(size, 2)}, f"size n cannot be split into {parts} parts for n = {size}")


def test_nothing_cannot_be_resized():
    """No element to read must not become a read of what lies elsewhere."""
    nodes = [helper.make_node("Resize", ["x", "", "", "s"], ["y"], name="scale")]
    constant = numpy_helper.from_array(np.array([1, 1, 3, 4]), "s")
    empty = zeros(1, 1, 0, 4)
    with pytest.raises(fathom.Error, match="axis 2 has no elements that could become 3"):
        fathom.compile(make_model(nodes, [value("x", [1, 1, 0, 4])], [value("y", None)], [constant]))
    session = fathom.Session(fathom.compile(make_model(nodes, [value("x", [1, 1, "n", 4])], [value("y", None)], [constant]), dim={"n": (0, 8)}))
    with pytest.raises(fathom.Error, match="an axis without elements cannot be resized"):
        session.run(None, {"x": empty})
    inputs = [value("x", [1, 1, "n", 4]), value("s", [4], TensorProto.INT64)]
    session = fathom.Session(fathom.compile(make_model(nodes, inputs, [value("y", None)]), dim={"n": (0, 8)}))
    assert session.run(None, {"x": empty, "s": np.array([1, 1, 0, 4])})[0].shape == (1, 1, 0, 4)
    with pytest.raises(fathom.Error, match="an axis without elements cannot be resized"):
        session.run(None, {"x": empty, "s": np.array([1, 1, 3, 4])})


def test_three_parts_need_two():
    """All smaller sizes are out of range, and no larger one is."""
    proto = make_model([node("Split", ["x"], ["a", "b", "c"], num_outputs=3)], [value("x", ["n", 2])], [value(name, None) for name in "abc"])
    session = fathom.Session(fathom.compile(proto))
    assert [len(part) for part in session.run(None, {"x": zeros(4, 2)})] == [2, 2, 0]
    with pytest.raises(fathom.Error, match=r"input 'x' dimension 0 \('n'\): got 1, compiled for 2 to"):
        session.run(None, {"x": zeros(1, 2)})


def test_unequal_parts():
    split = node("Split", ["x"], ["a", "b"])
    refused([split], [value("x", ["n", 2])], "ab", {"x": zeros(3, 2)}, "size n cannot be split into 2 equal parts for n = 3", opset=13)


def test_reshape():
    """All dimensions that the message names have their sizes beside it."""
    reshape = node("Reshape", ["x", "shape"], ["y"])
    halves = [helper.make_node("Shape", ["x"], ["sizes"]), helper.make_node("Slice", ["sizes", "zero", "one"], ["b"]),
              helper.make_node("Slice", ["sizes", "one", "two"], ["h"]), helper.make_node("Div", ["h", "two"], ["half"]),
              helper.make_node("Concat", ["b", "half", "rest"], ["shape"], axis=0), reshape]
    refused(halves, [value("x", ["b", "height", 4])], "y", {"x": zeros(2, 7, 4)},
            "sizes [b, height, 4] cannot be reshaped to [b, height floordiv 2, -1] for b = 2, height = 7",
            {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "rest": np.array([-1])})
    refused([reshape], [value("x", ["n", 2])], "y", {"x": zeros(4, 2)}, "sizes [n, 2] cannot be reshaped to [3, -1] for n = 4",
            {"shape": np.array([3, -1])})


@pytest.mark.parametrize("mode, pads, size, words", [
    ("reflect", [2, 1], 2, "reflect pads 2 and 1 do not go with size n for n = 2"),
    ("constant", [-3, 1], 2, "pads take away more than there is"),
])
def test_pads(mode, pads, size, words):
    refused([node("Pad", ["x", "pads"], ["y"], mode=mode)], [value("x", ["n"])], "y", {"x": zeros(size)}, words,
            {"pads": np.array(pads)})


def test_pads_that_data_decides():
    pad = node("Pad", ["x", "pads"], ["y"])
    for pads in ([2**31 - 1, 0], [-3, 0]):
        refused([pad], [value("x", [2]), value("pads", [2], INT64)], "y", {"x": zeros(2), "pads": np.array(pads)},
                "pads take away more than there is, or add too much")


def test_reflection_that_data_decides():
    pad = node("Pad", ["x", "pads"], ["y"], mode="reflect")
    inputs = [value("x", ["n"]), value("pads", [2], INT64), value("c", ["n"], BOOL)]
    feed = {"x": zeros(2), "pads": np.array([2, 1]), "c": np.ones(2, bool)}
    refused([pad], inputs, "y", feed, "reflect pads that data decides do not go with size n for n = 2")
    nodes = [helper.make_node("Compress", ["x", "c"], ["some"], axis=0), node("Pad", ["some", "pads"], ["y"], mode="reflect")]
    refused(nodes, inputs, "y", feed, "reflect pads that data decides do not go with a size that data decides")


def test_sizes_that_data_decides():
    split = node("Split", ["x", "split"], ["a", "b"])
    refused([split], [value("x", ["n"]), value("split", [2], INT64)], "ab", {"x": zeros(3), "split": np.array([1, 1])},
            "a size that data decides must be the same as n for n = 3")
    nodes = [helper.make_node("Compress", ["x", "c"], ["some"], axis=0), node("MatMul", ["w", "some"], ["y"])]
    refused(nodes, [value("x", ["n", 2]), value("c", ["n"], BOOL), value("w", [2, "k"])], "y",
            {"x": zeros(3, 2), "c": np.array([True, False, True]), "w": zeros(2, 3)},
            "the size k must be the same as a size that data decides for k = 3")


@pytest.mark.parametrize("size, words", [("n", "size n for n = 3"), (3, "size 3")])
def test_more_than_there_are(size, words):
    refused([node("TopK", ["x", "k"], ["y", "i"])], [value("x", [size]), value("k", [1], INT64)], "y", {"x": zeros(3), "k": np.array([4])},
            f"k is above the {words}")


def test_steps_of_nothing():
    nodes = [node("Range", ["a", "b", "c"], ["numbers"]), helper.make_node("Cast", ["numbers"], ["y"], to=TensorProto.FLOAT)]
    refused(nodes, [value(name, [], INT64) for name in "abc"], "y",
            {"a": np.array(0), "b": np.array(5), "c": np.array(0)}, "the step is 0, or there are too many numbers")


@pytest.mark.parametrize("shape", [[-1, -1], [-3, 2]])
def test_shapes_that_data_decides(shape):
    refused([node("Reshape", ["x", "s"], ["y"])], [value("x", ["n"]), value("s", [2], INT64)], "y", {"x": zeros(6), "s": np.array(shape)},
            "a size is negative or too large, or several are -1")


def test_stacks_of_different_sizes():
    """Every iteration gives one row more."""
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["i", "one"], ["end"]),
             helper.make_node("Slice", ["x", "zero", "end"], ["part"])]
    state = [value("i", [], INT64), value("go", [], BOOL)]
    body = helper.make_graph(nodes, "body", state, [value("on", [], BOOL), value("part", None)])
    refused([node("Loop", ["m", ""], ["y"], body=body)], [value("x", ["n"]), value("m", [], INT64)], "y",
            {"x": zeros(6), "m": np.array(3)}, "what is stacked has another size than in the first iteration",
            {"one": np.array([1]), "zero": np.array([0])})


WINDOWS = {
    "Conv": ({}, " of 3"),
    "dilated": ({"dilations": [2, 1], "pads": [0, 1, 0, 1]}, " of 5"),
    "MaxPool": ({"kernel_shape": [4, 3]}, " of 4"),
    "AveragePool": ({"kernel_shape": [3, 3], "pads": [1, 0, 1, 0]}, " of 3 with pads 1 and 1"),
    "ConvTranspose": ({"pads": [1, 0, 1, 0]}, " of 3 with pads 1 and 1"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_nothing(name):
    """A slice leaves no rows; the window says so, not the slice."""
    attributes, words = WINDOWS[name]
    op = "Conv" if name == "dilated" else name
    window = node(op, ["part"] + ["w"] * op.startswith("Conv"), ["y"], **attributes)
    inputs = [value("x", [1, 2, "h", 8])] + [value(name, [2], INT64) for name in ("low", "high")]
    feed = {"x": zeros(1, 2, 9, 8), "low": np.array([5, 0]), "high": np.array([2, 8])}
    refused([helper.make_node("Slice", ["x", "low", "high", "axes"], ["part"]), window], inputs, "y", feed,
            f"dimension 2 of the input is too small for a window{words}", {"w": zeros(2, 2, 3, 3), "axes": np.array([2, 3])})


def test_windows_of_sums():
    nodes = [helper.make_node("Concat", ["x", "z"], ["c"], axis=2), node("Conv", ["c", "w"], ["y"])]
    refused(nodes, [value("x", [1, 2, "n"]), value("z", [1, 2, "m"])], "y", {"x": zeros(1, 2, 1), "z": zeros(1, 2, 1)},
            "dimension 2 of the input is too small for a window of 3", {"w": zeros(2, 2, 3)})


def test_types_that_data_decides():
    nodes = [helper.make_node("Compress", ["x", "c"], ["some"], axis=0), node("Conv", ["some", "w"], ["y"])]
    proto = make_model(nodes, [value("x", ["n", 2]), value("c", ["n"], BOOL)], [value("y", None)],
                       [numpy_helper.from_array(zeros(1, 1, 3), "w")])
    with pytest.raises(fathom.Error, match=r"\[\?, 2\]"):
        fathom.compile(proto)
