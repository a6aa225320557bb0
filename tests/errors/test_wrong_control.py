"""Conditions and counts of the wrong type are errors of the model, with the node's name."""
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
