"""What is computed from constants ahead, and what a budget for the whole model leaves to the run."""
import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import agree, assert_close
from support.models import BOOL, FLOAT, INT64, floats, graph, model, node


def doublings(count, start="c"):
    """Concatenations of a value with itself, and the name of the last."""
    names = [start] + [f"d{i}" for i in range(count)]
    return [node("Concat", f"{a} {a}", b, axis=0) for a, b in zip(names, names[1:])], names[-1]


def doubled(count, *more, result=None):
    nodes, last = doublings(count)
    nodes += [node(op, last, "y", keepdims=0) for op in more]
    return model(nodes, [], [(result or ("y" if more else last), FLOAT)], {"c": np.array([1, 2], np.float32)})


def size_of(artifact):
    return artifact.report["weight_bytes"]


def test_a_bomb_is_left_to_the_run():
    """Doublings of two numbers stay within the budget's 32 MiB; the rest is computed when the model runs."""
    proto = doubled(24)
    artifact = fathom.compile(proto)
    assert size_of(artifact) <= 33 << 20
    (got,) = fathom.Session(artifact).run(None, {})
    assert got.shape == (2 << 24,) and (got.reshape(-1, 2) == [1, 2]).all()
    assert size_of(fathom.compile(doubled(24), fold_budget=8)) == 8 << 24
    assert size_of(fathom.compile(doubled(20), fold_budget=0)) < 1 << 16


def test_what_folding_consumes_is_free():
    """A sum over many doublings is one number, however large what it sums is."""
    artifact = fathom.compile(doubled(22, "ReduceSum"))
    assert size_of(artifact) < 4096 and artifact.manifest["arena_bytes"] == 0
    assert fathom.Session(artifact).run(None, {})[0] == 3 << 22


@pytest.mark.parametrize("count", [45, 70])
def test_absurd_sizes_are_refused(count):
    with pytest.raises(fathom.Error, match=r"F1013.*bytes") as error:
        fathom.compile(doubled(count, "ReduceSum"))
    assert "multiply sizes" in str(error.value)


def test_many_small_bombs_share_the_budget(random):
    """Each is below what was allowed for one op, all together are not."""
    nodes, ends = [], []
    for i in range(60):
        nodes.append(node("Expand", f"c{i} shape", f"e{i}"))
        nodes.append(node("Mul", f"e{i} x", f"m{i}"))
        ends.append(f"m{i}")
    nodes.append(helper.make_node("Sum", ends, ["y"]))
    constants = {f"c{i}": floats(random, 1) for i in range(60)} | {"shape": np.array([1 << 18])}
    proto = model(nodes, [("x", FLOAT, [1])], [("y", FLOAT)], constants)
    artifact = fathom.compile(proto, fold_budget=0.25)
    assert size_of(artifact) <= 9 << 20
    agree(proto, [{"x": floats(random, 1)} for _ in range(2)], fold_budget=0.25)


def function(name, callee, calls):
    nodes = [helper.make_node(callee, ["x" if i == 0 else f"t{i - 1}"], ["y" if i == calls - 1 else f"t{i}"], domain="d" if callee.startswith("f") else "") for i in range(calls)]
    return helper.make_function("d", name, ["x"], ["y"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)])


def test_a_bomb_of_functions_is_counted_not_inlined():
    proto = model([helper.make_node("f39", ["x"], ["y"], domain="d")], [("x", FLOAT, [2])], [("y", FLOAT)])
    proto.opset_import.append(helper.make_opsetid("d", 1))
    proto.functions.extend([function("f0", "Relu", 1)] + [function(f"f{i}", f"f{i - 1}", 2) for i in range(1, 40)])
    with pytest.raises(fathom.Error, match="F1013.*after inlining"):
        fathom.compile(proto)
    del proto.functions[8:]
    proto.graph.node[0].op_type = "f7"
    x = np.array([-1, 2], np.float32)
    assert (fathom.Session(fathom.compile(proto)).run(None, {"x": x})[0] == [0, 2]).all()


def test_weights_are_dequantized_ahead(random):
    """Also where they are larger than any limit for one op would be, and their growth is told."""
    q, x = random.integers(-128, 128, (701, 700)).astype(np.int8), floats(random, 3, 701)
    nodes = [node("DequantizeLinear", "q s", "w"), node("MatMul", "x w", "y")]
    proto = model(nodes, [("x", FLOAT, x.shape)], [("y", FLOAT)], {"q": q, "s": np.array(0.01, np.float32)})
    ahead, kept = fathom.compile(proto), fathom.compile(proto, fold_budget=0)
    assert [kernel["class"] for kernel in ahead.manifest["kernels"]] == ["contract"]
    assert ahead.report["source_weight_bytes"] < 0.3 * size_of(ahead)
    assert size_of(kept) < q.size + 4096
    # ONNX Runtime quantizes x as well: not a reference.
    want = x.astype(np.float64) @ (q * np.float64(np.float32(0.01)))
    for artifact in (ahead, kept):
        for threads in (1, 2):
            assert_close(fathom.Session(artifact, threads=threads).run(None, {"x": x})[0], want, "sum")


def carrying(random, trip, known):
    """A loop that carries its weights, as frameworks write it."""
    body = graph(
        [node("Mul", "v two", "u"), node("MatMul", "s u", "m"), node("Tanh", "m", "t"), node("Identity", "go", "on"), node("Identity", "v", "w2")],
        [("i", INT64, []), ("go", BOOL, []), ("s", FLOAT, [4, 96]), ("v", FLOAT, [96, 96])], [("on", BOOL), ("t", FLOAT), ("w2", FLOAT)])
    constants = {"W": floats(random, 96, 96) / 10, "two": np.array(0.5, np.float32)}
    inputs = [("x", FLOAT, [4, 96])]
    if known:
        constants["n"] = np.array(trip)
    else:
        inputs.append(("n", INT64, []))
    return model([helper.make_node("Loop", ["n", "", "x", "W"], ["y", "w"], body=body)], inputs, [("y", FLOAT), ("w", FLOAT)], constants)


@pytest.mark.parametrize("known", [True, False])
def test_weights_that_a_loop_carries_are_packed_ahead(known, random):
    proto = carrying(random, 5, known)
    kernels = fathom.compile(proto).manifest["kernels"]
    assert sorted(op["op"] for kernel in kernels for op in kernel["ops"]) == ["MatMul", "Relayout", "Relayout", "Tanh"]  # copies of both outputs
    feeds = [{"x": floats(random, 4, 96)} for _ in range(2)]
    agree(proto, [feed | ({} if known else {"n": np.array(n)}) for n in (0, 1, 7) for feed in feeds])


def test_an_index_outside_matters_only_in_an_iteration(random):
    """What may end the run stays in a loop that may have no iteration."""
    body = graph(
        [node("Gather", "w at", "g"), node("Add", "s g", "t"), node("Identity", "go", "on")],
        [("i", INT64, []), ("go", BOOL, []), ("s", FLOAT, [3])], [("on", BOOL), ("t", FLOAT)])
    proto = model([node("Loop", ["n", "", "x"], "y", body=body)], [("x", FLOAT, [3]), ("n", INT64, []), ("at", INT64, [])], [("y", FLOAT)], {"w": floats(random, 5, 3)})
    session, x = fathom.Session(fathom.compile(proto)), floats(random, 3)
    assert (session.run(None, {"x": x, "n": np.array(0), "at": np.array(9)})[0] == x).all()
    with pytest.raises(fathom.Error):
        session.run(None, {"x": x, "n": np.array(1), "at": np.array(9)})
    agree(proto, [{"x": x, "n": np.array(n), "at": np.array(2)} for n in (0, 3)])
