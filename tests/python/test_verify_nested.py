"""The search for the first node that diverges goes through sequences and optionals and into the model's own functions.

The reference is wrong on purpose, as in test_verify_control.py."""

import numpy as np
import onnx
import pytest
from support.models import make_model, value
from onnx import TensorProto, helper
from test_verify_control import CULPRIT, X, B, F, I, constants, graph, heal, node, wrong
from fathom import reference
from fathom.verify import verify

ONE = np.float32(1)


def sequence(name, shape=None):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, shape)))


def function(name, inputs, outputs, nodes, attributes=()):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs.split(), outputs.split(), nodes, opsets, attributes)


def with_functions(nodes, functions, initializers=()):
    model = make_model(nodes, [value(*X)], [value("y", ["rows", 4])], initializers)
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def wrong_insertion_model():
    """A sequence is the first value that differs: the wrong reference inserts at the end and not at the front."""
    nodes = [node("Neg", "x", "a"), node("SequenceConstruct", "x x", "s"), node("SequenceInsert", "s a zero", "t", "culprit"),
             node("SequenceAt", "t zero", "f"), node("Abs", "f", "g"), node("ConcatFromSequence", "t", "y", axis=0)]
    return make_model(nodes, [value(*X)], [value("y", None), value("g", None)], constants(zero=np.int64(0)))


def sequence_loop_model():
    """A loop that carries a sequence and adds to it."""
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("SequenceAt", "s i", "e"), node("Sub", "e one", "b"), CULPRIT, node("SequenceInsert", "s c", "t")],
        "inner", [value("i", [], I), value("go", [], B), sequence("s", [None, 4])], [value("on", [], B), sequence("t", [None, 4])])
    nodes = [node("SequenceConstruct", "x", "first"), node("Loop", "trips yes first", "last", "repeat", body=body), node("ConcatFromSequence", "last", "y", axis=0)]
    return make_model(nodes, [value(*X)], [value("y", [None, 4])], constants(yes=np.True_, trips=np.int64(3), one=ONE))


def map_model():
    body = helper.make_graph([node("Sub", "e one", "b"), CULPRIT], "inner", [value("e", [None, 4])], [value("c", [None, 4])])
    nodes = [node("Abs", "x", "a"), node("Add", "a one", "large"), node("SequenceConstruct", "large x", "s"),
             node("SequenceMap", "s", "t", "each", body=body), node("ConcatFromSequence", "t", "y", axis=0)]
    return make_model(nodes, [value(*X)], [value("y", [None, 4])], constants(one=ONE))


def optional_model():
    """A branch that takes an optional from around it."""
    then = graph([node("OptionalGetElement", "o", "b"), CULPRIT, node("Mul", "c a", "y1")], [], [("y1", None, F)])
    other = graph([node("Neg", "a", "y2")], [], [("y2", None, F)])
    nodes = [node("Sub", "x one", "a"), node("Optional", "a", "o"), node("OptionalHasElement", "o", "p"), node("ReduceMax", "x", "m", keepdims=0),
             node("Less", "one m", "q"), node("And", "p q", "r"), node("If", "r", "y", "choice", then_branch=then, else_branch=other)]
    return make_model(nodes, [value(*X)], [value("y", None)], constants(one=ONE))


def function_model():
    """A function with an attribute of the call and an input that the call does not give."""
    constant = helper.make_node("Constant", [], ["k"], name="k")
    constant.attribute.append(onnx.AttributeProto(name="value_float", ref_attr_name="shift", type=onnx.AttributeProto.FLOAT))
    inner = function("Shifted", "u low", "w", [constant, node("Sub", "u k", "b"), CULPRIT, node("Clip", "c low", "w")], ["shift"])
    call = helper.make_node("Shifted", ["a"], ["d"], name="call", domain="own", shift=0.5)
    return with_functions([node("Neg", "x", "a"), call, node("Neg", "d", "y")], [inner])


def nested_functions_model():
    inner = function("Inner", "b", "c", [CULPRIT])
    outer = function("Outer", "u", "w", [node("Neg", "u", "n"), helper.make_node("Inner", ["n"], ["m"], name="deep", domain="own"), node("Neg", "m", "w")])
    return with_functions([helper.make_node("Outer", ["x"], ["y"], name="call", domain="own")], [inner, outer])


CASES = [
    (wrong_insertion_model, []),
    (sequence_loop_model, [("repeat", "Loop", "iteration 0")]),
    (map_model, [("each", "SequenceMap", "element 1")]),
    (optional_model, [("choice", "If", "the then branch")]),
    (function_model, [("call", "Shifted", "function 'Shifted'")]),
    (nested_functions_model, [("call", "Outer", "function 'Outer'"), ("deep", "Inner", "function 'Inner'")]),
]


def spoil(proto):
    for nodes in [proto.graph.node, *(function.node for function in proto.functions)]:
        for one in nodes:
            if one.name == "culprit" and one.op_type == "SequenceInsert":
                del one.input[2]
        heal([one for one in nodes if one.op_type != "SequenceInsert"])


@pytest.mark.parametrize("build, within", CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_finds_the_node(tmp_path, monkeypatch, build, within):
    onnx.save(build(), tmp_path / "m.onnx")
    assert verify(tmp_path / "m.onnx", dims={"rows": 7}, seed=3)["ok"]
    monkeypatch.setitem(reference.REFERENCES, "onnxruntime", wrong(reference.OnnxRuntime, spoil))
    report = verify(tmp_path / "m.onnx", dims={"rows": 7}, seed=3)
    assert not report["ok"]
    found = report["first_divergence"]
    assert found["node"] == "culprit", found
    assert [(place["node"], place["op"], place["where"]) for place in found.get("within", [])] == within
