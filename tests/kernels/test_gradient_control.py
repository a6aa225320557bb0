"""Gradients through branches, loops and recurrent operators, in float64, against central differences."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import assert_close

STEP = 1e-5


def tensor(name, shape=None, kind=TensorProto.DOUBLE):
    return helper.make_tensor_value_info(name, kind, shape)


def differences(run, feeds, name):
    slopes = np.empty(feeds[name].shape)
    for place in np.ndindex(slopes.shape):
        ends = []
        for sign in (1, -1):
            moved = feeds[name].copy()
            moved[place] += sign * STEP
            ends.append(run({**feeds, name: moved}))
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


def check(nodes, feeds, names, output="y", extra=(), reference=True):
    """The squares of the output, summed, by each of the inputs named."""
    kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "b": TensorProto.BOOL}
    infos = [tensor(name, value.shape, kinds[value.dtype.kind]) for name, value in feeds.items()]
    nodes = [*nodes, helper.make_node("ReduceSumSquare", [output], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", infos, [tensor("loss", [])], list(extra))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    session = fathom.Session(fathom.compile(model, loss="loss", wrt=",".join(names)))
    evaluator = ReferenceEvaluator(model) if reference else fathom.Session(fathom.compile(model))
    loss, *gradients = session.run(None, feeds)
    assert_close(loss, evaluator.run(None, feeds)[0], "network")
    for name, got in zip(names, gradients, strict=True):
        want = differences(lambda moved: float(evaluator.run(None, moved)[0]), feeds, name)
        assert_close(got, want, "slope", name, data=1.0)


@pytest.mark.parametrize("condition", [True, False])
def test_branches(condition, random):
    """A value of both branches, one of one branch, and one that a branch hands on as it is."""
    first = helper.make_graph([helper.make_node("Mul", ["a", "b"], ["ab"]), helper.make_node("Sin", ["ab"], ["s"])], "then", [], [tensor("s"), tensor("a")])
    second = helper.make_graph([helper.make_node("Exp", ["a"], ["e"]), helper.make_node("Identity", ["c"], ["d"])], "else", [], [tensor("e"), tensor("d")])
    nodes = [helper.make_node("If", ["k"], ["p", "q"], then_branch=first, else_branch=second), helper.make_node("Mul", ["p", "q"], ["y"])]
    feeds = {name: random.standard_normal((2, 3)) for name in "abc"}
    check(nodes, {**feeds, "k": np.array(condition)}, list("abc"))


def loop_body(nodes, carried, stacked=()):
    inputs = [tensor("i", [], TensorProto.INT64), tensor("go", [], TensorProto.BOOL), *[tensor(f"{name}.in", [3]) for name in carried]]
    outputs = [tensor("going", [], TensorProto.BOOL), *[tensor(f"{name}.out", [3]) for name in carried], *[tensor(name) for name in stacked]]
    return helper.make_graph([helper.make_node("Identity", ["go"], ["going"]), *nodes], "body", inputs, outputs)


@pytest.mark.parametrize("trips", [1, 4])
def test_loop(trips, random):
    """Two values go round, one captured value is read in every iteration, and something is stacked."""
    body = loop_body([helper.make_node("Mul", ["a.in", "w"], ["m"]), helper.make_node("Sin", ["m"], ["s"]), helper.make_node("Add", ["s", "b.in"], ["a.out"]),
                      helper.make_node("Mul", ["b.in", "a.in"], ["b.out"]), helper.make_node("Exp", ["s"], ["each"])], "ab", ["each"])
    nodes = [helper.make_node("Loop", ["n", "", "a", "b"], ["fa", "fb", "all"], body=body), helper.make_node("ReduceSum", ["all"], ["t"], keepdims=0),
             helper.make_node("Mul", ["fa", "t"], ["u"]), helper.make_node("Add", ["u", "fb"], ["y"])]
    feeds = {name: random.standard_normal(3) * 0.5 for name in "abw"}
    check(nodes, feeds, list("abw"), extra=[numpy_helper.from_array(np.array(trips), "n")], reference=False)


def test_loop_that_ends_by_itself(random):
    """How often it runs is known only then; what it stacks says so."""
    body = loop_body([helper.make_node("Mul", ["a.in", "w"], ["a.out"]), helper.make_node("Identity", ["a.out"], ["each"])], "a", ["each"])
    body.node[0].CopyFrom(helper.make_node("Less", ["i", "last"], ["going"]))
    nodes = [helper.make_node("Loop", ["n", "yes", "a"], ["fa", "all"], body=body), helper.make_node("ReduceSum", ["all", "axis"], ["t"], keepdims=0), helper.make_node("Mul", ["fa", "t"], ["y"])]
    extra = [numpy_helper.from_array(np.array(9), "n"), numpy_helper.from_array(np.array(True), "yes"), numpy_helper.from_array(np.array([0]), "axis")]
    check(nodes, {"a": random.standard_normal(3), "w": random.standard_normal(3), "last": np.array(2)}, ["a", "w"], extra=extra)


def test_scan(random):
    inner = [helper.make_node("Mul", ["state", "w"], ["m"]), helper.make_node("Add", ["m", "item"], ["next"]), helper.make_node("Tanh", ["next"], ["out"])]
    body = helper.make_graph(inner, "body", [tensor("state", [3]), tensor("item", [3])], [tensor("next", [3]), tensor("out", [3])])
    nodes = [helper.make_node("Scan", ["s", "x"], ["f", "all"], body=body, num_scan_inputs=1), helper.make_node("Mul", ["f", "all"], ["y"])]
    check(nodes, {"s": random.standard_normal(3), "x": random.standard_normal((5, 3)), "w": random.standard_normal(3)}, ["s", "x", "w"])


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op, gates", [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent(op, gates, direction, random):
    hidden, count = 2, 2 if direction == "bidirectional" else 1
    shapes = {"x": (3, 2, 3), "W": (count, gates * hidden, 3), "R": (count, gates * hidden, hidden), "B": (count, 2 * gates * hidden)}
    feeds = {name: random.standard_normal(shape) * 0.7 for name, shape in shapes.items()}
    node = helper.make_node(op, list(shapes), ["y"], hidden_size=hidden, direction=direction)
    check([node], feeds, list(shapes), reference=False)


def test_sizes_that_change_in_a_loop_are_refused(random):
    grows = helper.make_graph([helper.make_node("Identity", ["go"], ["going"]), helper.make_node("Concat", ["a.in", "w"], ["a.out"], axis=0)], "body",
                              [tensor("i", [], TensorProto.INT64), tensor("go", [], TensorProto.BOOL), tensor("a.in", [None])], [tensor("going", [], TensorProto.BOOL), tensor("a.out", [None])])
    nodes = [helper.make_node("Loop", ["n", "", "w"], ["y"], body=grows, name="grows"), helper.make_node("ReduceSumSquare", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [tensor("w", [3]), tensor("n", [], TensorProto.INT64)], [tensor("loss", [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    with pytest.raises(fathom.Error, match="no gradient where sizes are only known inside") as error:
        fathom.compile(model, loss="loss", wrt="w")
    assert error.value.code == "F3004" and error.value.node == "grows"
