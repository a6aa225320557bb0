"""The search for the first node that diverges goes into branches and loops and past sizes that data decides.

The reference is wrong on purpose: a Relu named 'culprit' does nothing in it, wherever it stands."""

import numpy as np
import onnx
import pytest
from support.models import make_model, value
from onnx import TensorProto, helper, numpy_helper
from fathom import reference
from fathom.verify import verify

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def node(op, inputs, outputs, name=None, **attributes):
    return helper.make_node(op, inputs.split(" "), outputs.split(), name=name or outputs, **attributes)


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "inner", [value(*i) for i in inputs], [value(*o) for o in outputs])


def constants(**values):
    return [numpy_helper.from_array(np.asarray(v), name) for name, v in values.items()]


ONE = np.float32(1)
X = ("x", ["rows", 4], F)
CULPRIT = node("Relu", "b", "c", "culprit")


def branch(result):
    """A branch that uses values from around it, with the culprit in the middle."""
    return graph([node("Neg", "a", "b"), CULPRIT, node("Mul", "c a", result)], [], [(result, None, F)])


def if_model():
    nodes = [node("Sub", "x one", "a"), node("ReduceMax", "x", "m", keepdims=0), node("Less", "one m", "p"),
             node("If", "p", "y", "choice", then_branch=branch("y1"), else_branch=graph([node("Neg", "a", "y2")], [], [("y2", None, F)]))]
    return make_model(nodes, [value(*X)], [value("y", None)], constants(one=ONE))


def loop_body(inner):
    return graph([node("Identity", "go", "on"), *inner], [("i", [], I), ("go", [], B), ("s", [], F)], [("on", [], B), ("t", [], F), ("o", [], F)])


def loop_model(trips=5):
    """The culprit gets a negative number from the third iteration on."""
    body = loop_body([node("Sub", "s one", "b"), CULPRIT, node("Sub", "c half", "d"), node("Add", "d half", "t"), node("Mul", "t two", "o")])
    nodes = [node("Loop", "trips yes start", "last y", "repeat", body=body)]
    return make_model(nodes, [value(*X)], [value("last", []), value("y", ["n"])],
                      constants(yes=np.True_, trips=np.int64(trips), one=ONE, half=ONE / 2, two=ONE * 2, start=np.float32(2.5)))


def scan_model():
    body = graph([node("Add", "s x_i", "b"), CULPRIT, node("Mul", "c half", "t"), node("Identity", "b", "o")],
                 [("s", [4], F), ("x_i", [4], F)], [("t", [4], F), ("o", [4], F)])
    nodes = [node("Scan", "start x", "last y", "sweep", body=body, num_scan_inputs=1, scan_input_directions=[1])]
    return make_model(nodes, [value(*X)], [value("last", [4]), value("y", ["rows", 4])], constants(start=np.zeros(4, np.float32), half=ONE / 2))


def nested_model():
    body = loop_body([node("Cast", "i", "f", to=F), node("Less", "half f", "later"), node("Add", "s f", "a"),
                      node("If", "later", "t", "choice", then_branch=branch("t1"), else_branch=graph([node("Identity", "a", "t2")], [], [("t2", [], F)])),
                      node("Identity", "t", "o")])
    nodes = [node("Loop", "trips yes start", "last y", "repeat", body=body)]
    return make_model(nodes, [value(*X)], [value("last", []), value("y", ["n"])], constants(yes=np.True_, trips=np.int64(3), half=ONE / 2, start=ONE))


def selected_model():
    """Sizes that data decides before the culprit and behind it."""
    nodes = [node("Less", "x one", "p"), node("NonZero", "p", "n"), node("Transpose", "n", "places"), node("GatherND", "x places", "b"), CULPRIT,
             node("NonZero", "c", "found"), node("Shape", "found", "y")]
    return make_model(nodes, [value(*X)], [value("c", ["k"]), value("y", [2], I)], constants(one=ONE))


def selecting_loop_model():
    """Sizes that differ from iteration to iteration."""
    body = graph([node("Identity", "go", "on"), node("Cast", "i", "f", to=F), node("Less", "x f", "p"), node("NonZero", "p", "n"), node("Transpose", "n", "places"),
                  node("GatherND", "x places", "g"), node("Sub", "g f", "b"), CULPRIT, node("ReduceSum", "c", "r", keepdims=0), node("Add", "s r", "t")],
                 [("i", [], I), ("go", [], B), ("s", [], F)], [("on", [], B), ("t", [], F)])
    nodes = [node("Loop", "trips yes start", "y", "repeat", body=body)]
    return make_model(nodes, [value(*X)], [value("y", [])], constants(yes=np.True_, trips=np.int64(3), start=ONE))


def heal(nodes):
    for one in nodes:
        if one.name == "culprit":
            one.op_type = "Identity"
        for attribute in one.attribute:
            if attribute.HasField("g"):
                heal(attribute.g.node)


def wrong(base, change):
    class Wrong(base):
        def __init__(self, model, folder, threads):
            proto = onnx.load_from_string(model)
            change(proto)
            super().__init__(proto.SerializeToString(), folder, threads)

    return Wrong


CASES = [(if_model, [("choice", "If", "the then branch")]), (loop_model, [("repeat", "Loop", "iteration 2")]), (scan_model, [("sweep", "Scan", None)]),
         (nested_model, [("repeat", "Loop", "iteration 1"), ("choice", "If", "the then branch")]), (selected_model, []),
         (selecting_loop_model, [("repeat", "Loop", None)])]


# ONNX's own reference has only some forms of loops.
RUNS = [(*case, "onnxruntime") for case in CASES] + [(*case, "reference") for case in CASES if case[0] in (if_model, selected_model, selecting_loop_model)]


@pytest.mark.parametrize("build, within, against", RUNS, ids=lambda case: getattr(case, "__name__", case if isinstance(case, str) else ""))
def test_finds_the_node(tmp_path, monkeypatch, build, within, against):
    onnx.save(build(), tmp_path / "m.onnx")
    assert verify(tmp_path / "m.onnx", against=against, dims={"rows": 7}, seed=3)["ok"]
    right = reference.REFERENCES[against]
    monkeypatch.setitem(reference.REFERENCES, against, wrong(right, lambda proto: heal(proto.graph.node)))
    report = verify(tmp_path / "m.onnx", against=against, dims={"rows": 7}, seed=3)
    assert not report["ok"]
    found = report["first_divergence"]
    assert found["node"] == "culprit", found
    places = found.get("within", [])
    assert [(place["node"], place["op"]) for place in places] == [place[:2] for place in within]
    for place, (_, _, where) in zip(places, within):
        assert where is None or place["where"] == where


def test_names_the_loop_where_its_body_agrees(tmp_path, monkeypatch):
    """A reference that repeats less often: no node of the body is to blame."""
    onnx.save(loop_model(), tmp_path / "m.onnx")

    def shorten(proto):
        for tensor in proto.graph.initializer:
            if tensor.name == "trips":
                tensor.CopyFrom(numpy_helper.from_array(np.int64(4), "trips"))

    monkeypatch.setitem(reference.REFERENCES, "onnxruntime", wrong(reference.OnnxRuntime, shorten))
    found = verify(tmp_path / "m.onnx")["first_divergence"]
    assert found["node"] == "repeat" and "within" not in found
