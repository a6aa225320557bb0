"""Conditions, counts and lengths of the wrong type or size are errors of the model, with the node's name."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, dtype, shape=()):
    return helper.make_tensor_value_info(name, dtype, shape)


def branch():
    return helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "branch", [], [info("t", F, [3])])


def body():
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["s"], ["t"])]
    return helper.make_graph(nodes, "body", [info("i", I), info("go", B), info("s", F, [3])], [info("on", B), info("t", F, [3])])


@pytest.mark.parametrize(
    "op, types, what",
    [
        ("If", {"c": F}, "input 0 of If, the condition, must be a bool"),
        ("If", {"c": I}, "input 0 of If, the condition, must be a bool"),
        ("Loop", {"m": F, "c": B}, "input 0 of Loop, the number of iterations, must be an int64"),
        ("Loop", {"m": I, "c": F}, "input 1 of Loop, the condition, must be a bool"),
    ],
)
def test_types(op, types, what):
    graphs = {"then_branch": branch(), "else_branch": branch()} if op == "If" else {"body": body()}
    operands = list(types) + (["x"] if op == "Loop" else [])
    node = helper.make_node(op, operands, ["y"], name="chooses", **graphs)
    inputs = [info(name, dtype) for name, dtype in types.items()] + [info("x", F, [3])]
    graph = helper.make_graph([node], "g", inputs, [info("y", F, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(fathom.Error, match="chooses.*" + what) as error:
        fathom.compile(model)
    assert "F1007" in str(error.value)


def compiled(nodes, inputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, [info("y", F, None)], weights)
    return fathom.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def looped(on, trip=(), condition=()):
    """A loop of which the body makes its condition `on` by this node."""
    nodes = [on, helper.make_node("Neg", ["s"], ["t"])]
    body = helper.make_graph(nodes, "body", [info("i", I), info("go", B), info("s", F, [3])], [info("on", B), info("t", F, [3])])
    loop = helper.make_node("Loop", ["m", "c", "x"], ["y"], name="chooses", body=body)
    twice = helper.make_tensor("two", I, [1], [2])
    return compiled([loop], [info("m", I, trip), info("c", B, condition), info("x", F, [3])], [twice])


@pytest.mark.parametrize(
    "on, code, what",
    [
        (helper.make_node("Cast", ["go"], ["on"], to=F), "F1007", "must be a bool"),
        (helper.make_node("Cast", ["go"], ["on"], to=I), "F1007", "must be a bool"),
        (helper.make_node("SequenceConstruct", ["go"], ["on"]), "F1007", "must be a bool"),
        (helper.make_node("Expand", ["go", "two"], ["on"]), "F1008", r"must be one bool, and is bool\[2\]"),
    ],
)
def test_condition_that_a_body_gives(on, code, what):
    with pytest.raises(fathom.Error, match=f"{code}.*chooses.*output 0 of the body of Loop, the condition, {what}"):
        looped(on)


@pytest.mark.parametrize("shape", [[2], [0], [2, 1]])
def test_more_than_one(shape):
    same = helper.make_node("Identity", ["go"], ["on"])
    with pytest.raises(fathom.Error, match=r"F1008.*chooses.*number of iterations, must be one int64, and is int64\["):
        looped(same, trip=shape)
    with pytest.raises(fathom.Error, match=r"F1008.*chooses.*the condition, must be one bool, and is bool\["):
        looped(same, condition=shape)
    choice = helper.make_node("If", ["c"], ["y"], name="chooses", then_branch=branch(), else_branch=branch())
    with pytest.raises(fathom.Error, match=r"F1008.*chooses.*the condition, must be one bool, and is bool\["):
        compiled([choice], [info("c", B, shape), info("x", F, [3])])


def test_dimensions_around_one():
    """A dimension that is not known must be 1."""
    session = fathom.Session(looped(helper.make_node("Identity", ["go"], ["on"]), trip=["n"], condition=[1, "n"]))
    x = np.ones(3, np.float32)
    for trip in (1, 2):
        (y,) = session.run(None, {"m": np.array([trip]), "c": np.array([[True]]), "x": x})
        np.testing.assert_array_equal(y, x * (-1) ** trip)
    with pytest.raises(fathom.Error, match="F1012"):
        session.run(None, {"m": np.array([1, 2]), "c": np.array([[True, True]]), "x": x})


def scan(first, second):
    body = helper.make_graph([helper.make_node("Add", ["a", "b"], ["t"])], "body", [info("a", F), info("b", F)], [info("t", F)])
    node = helper.make_node("Scan", ["p", "q"], ["y"], name="chooses", body=body, num_scan_inputs=2)
    return compiled([node], [info("p", F, [first]), info("q", F, [second])])


def test_scanned_inputs_of_different_lengths():
    with pytest.raises(fathom.Error, match="F1008.*chooses.*the scanned inputs must have equal sizes, but have 3 and 4"):
        scan(3, 4)
    session = fathom.Session(scan("n", "m"))
    for a, b in [(2, 3), (3, 2)]:
        with pytest.raises(fathom.Error, match="F1012"):
            session.run(None, {"p": np.ones(a, np.float32), "q": np.ones(b, np.float32)})
