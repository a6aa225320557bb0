"""Branches, loops and scans against ONNX Runtime, with sizes of zero, one and primes on fresh random data."""
import numpy as np
import fathom
import pytest

import fathom
from support.compare import agree
from support.models import BOOL, FLOAT, INT64, PRIMES, floats, graph, model, node


def matrices(random, columns=3):
    return [floats(random, rows, columns) for rows in PRIMES]


def feeds_of(random, **given):
    """Every matrix with every condition."""
    return [{"x": x, "c": np.array(c)} | given for x in matrices(random) for c in (False, True)]


X, C = ("x", FLOAT, ["n", 3]), ("c", BOOL, [])


def test_if_with_equal_sizes(random):
    then, other = (graph([node(op, "x", "r")], [], [("r", FLOAT)]) for op in ("Relu", "Neg"))
    nodes = [node("If", "c", "y", then_branch=then, else_branch=other), node("Add", "y x", "z")]
    agree(model(nodes, [X, C], [("z", FLOAT)]), feeds_of(random))


def test_if_with_different_sizes(random):
    then = graph([node("Concat", "x x", "r", axis=0)], [], [("r", FLOAT)])
    other = graph([node("ReduceSum", "x axis", "r", keepdims=1)], [], [("r", FLOAT)])
    nodes = [node("If", "c", "y", then_branch=then, else_branch=other), node("Relu", "y", "z"), node("Shape", "y", "s")]
    agree(model(nodes, [X, C], [("z", FLOAT), ("s", INT64)], {"axis": np.array([0])}), feeds_of(random))


def test_if_captures_and_passes_values_through(random):
    then = graph([node("Identity", "sum", "a"), node("Identity", "x", "b")], [], [("a", FLOAT), ("b", FLOAT)])
    other = graph([node("Mul", "sum sum", "a"), node("Mul", "w x", "b")], [], [("a", FLOAT), ("b", FLOAT)])
    nodes = [
        node("ReduceSum", "x", "sum", keepdims=0),
        node("If", "c", "p q", then_branch=then, else_branch=other),
        node("Add", "p q", "y"),
    ]
    agree(model(nodes, [X, C], [("y", FLOAT), ("q", FLOAT)], {"w": floats(random, 3)}), feeds_of(random))


def test_if_guards_a_size_that_only_one_branch_needs(random):
    """Exporters write this where a dimension may be 1: only the branch that squeezes needs it."""
    then = graph([node("Squeeze", "x axis", "v"), node("Unsqueeze", "v axis", "r")], [], [("r", FLOAT)])
    other = graph([node("ReduceMean", "x", "r", axes=[0], keepdims=1)], [], [("r", FLOAT)])
    nodes = [
        node("Shape", "x", "s", end=1),
        node("Equal", "s one", "is_one"),
        node("Squeeze", "is_one axis", "c"),
        node("If", "c", "y", then_branch=then, else_branch=other),
    ]
    constants = {"axis": np.array([0]), "one": np.array([1])}
    agree(model(nodes, [X], [("y", FLOAT)], constants), [{"x": x} for x in matrices(random)])


def squeezed_if_one(after):
    """x, without its last dimension if that is 1."""
    branches = dict(then_branch=graph([node("Squeeze", "x axis", "t")], [], [("t", FLOAT)]),
                    else_branch=graph([node("Identity", "x", "e")], [], [("e", FLOAT)]))
    nodes = [node("Shape", "x", "s", start=1), node("Squeeze", "s zero", "m"), node("Equal", "m one", "c"), node("If", "c", "y", **branches)]
    constants = {"axis": np.array([1]), "zero": np.array([0]), "one": np.array(1)}
    return model([*nodes, *after], [("x", FLOAT, ["n", "m"])], [("z", FLOAT)], constants)


@pytest.mark.parametrize("sizes", [[1], [2, 5, 8]], ids=str)
def test_if_of_another_rank_that_a_range_decides(sizes, random):
    agree(squeezed_if_one([node("Neg", "y", "z")]), [{"x": floats(random, n, m)} for n in (1, 3) for m in sizes],
          dim={"m": (min(sizes), max(sizes))})


def test_if_of_another_rank_that_nothing_decides():
    proto = squeezed_if_one([node("Neg", "y", "z")])
    for options in ({}, {"dim": {"m": (1, 8)}}):
        with pytest.raises(fathom.Error, match=r"float32\[n\] in one branch and float32\[n, m\] in the other") as error:
            fathom.compile(proto, **options)
        assert (error.value.code, error.value.node) == ("F3004", "If_y")
        assert "--dim m=1" in error.value.hint


def test_if_of_another_rank_that_the_rest_decides(random):
    """What follows takes vectors only, so that the dimension must be 1."""
    proto = squeezed_if_one([node("Einsum", "y y", "z", equation="i,i->")])
    agree(proto, [{"x": floats(random, n, 1)} for n in (1, 3, 7)])
    with pytest.raises(fathom.Error):
        fathom.Session(fathom.compile(proto)).run(None, {"x": floats(random, 3, 2)})


def squeezed(after, **more):
    """x, without its first dimension if c."""
    branches = dict(then_branch=graph([node("Squeeze", "x axis", "t")], [], [("t", FLOAT)]),
                    else_branch=graph([node("Identity", "x", "e")], [], [("e", FLOAT)]))
    constants = {"axis": np.array([0]), "w": np.ones((3, 4), np.float32)} | more
    inputs = [("x", FLOAT, [1, 4, 3]), C, ("d", BOOL, [])]
    return model([node("If", "c", "y", **branches), *after], inputs, [("z", FLOAT)], constants)


def in_branch(then, other):
    """Two nodes that make t, in the branches of an If."""
    return node("If", "d", "z", then_branch=graph([then], [], [("t", FLOAT)]), else_branch=graph([other], [], [("t", FLOAT)]))


@pytest.mark.parametrize("isSqueezed", [True, False])
def test_if_of_a_rank_that_the_rest_needs(isSqueezed, random):
    """Either branch may be the one that makes sense."""
    proto = squeezed([node("Transpose", "y", "z", perm=[1, 0] if isSqueezed else [0, 2, 1])])
    agree(proto, [{"x": floats(random, 1, 4, 3), "c": np.array(isSqueezed), "d": np.array(True)} for _ in range(2)])
    with pytest.raises(fathom.Error, match="compiled for the other branch"):
        fathom.Session(fathom.compile(proto)).run(None, {"x": floats(random, 1, 4, 3), "c": np.array(not isSqueezed), "d": np.array(True)})


@pytest.mark.parametrize("isSqueezed", [True, False])
def test_if_of_a_rank_that_a_branch_needs(isSqueezed, random):
    """The other rank would do where that branch is not taken: the compiler warns."""
    needs = node("Transpose", "y", "t", perm=[1, 0] if isSqueezed else [0, 2, 1])
    proto = squeezed([in_branch(needs, node("Neg", "w", "t") if isSqueezed else node("Unsqueeze", "w axis", "t"))])
    with pytest.warns(UserWarning, match="'If_y': an output is .* a run that takes the other branch here is refused"):
        agree(proto, [{"x": floats(random, 1, 4, 3), "c": np.array(isSqueezed), "d": np.array(d)} for d in (False, True)])


@pytest.mark.parametrize("after", [[node("Neg", "y", "z")],
                                   [in_branch(node("Transpose", "y", "t", perm=[1, 0]), node("Transpose", "y", "t", perm=[0, 2, 1]))]],
                         ids=["any", "both"])
def test_if_of_ranks_that_data_decides(after):
    with pytest.raises(fathom.Error, match=r"float32\[4, 3\] in one branch and float32\[1, 4, 3\] in the other") as error:
        fathom.compile(squeezed(after))
    assert (error.value.code, error.value.node) == ("F3004", "If_y")
    assert "make the condition a constant" in error.value.hint


def test_mistake_behind_an_if_of_unequal_ranks():
    """What is wrong for every rank is what is reported."""
    with pytest.raises(fathom.Error, match="MatMul") as error:
        fathom.compile(squeezed([node("MatMul", "w w", "p"), node("Transpose", "y", "z", perm=[0, 2, 1])]))
    assert error.value.code == "F1008"


def test_if_in_if(random):
    inner = [graph([node(op, "x", "r")], [], [("r", FLOAT)]) for op in ("Abs", "Exp")]
    then = graph([node("If", "d", "a", then_branch=inner[0], else_branch=inner[1])], [], [("a", FLOAT)])
    other = graph([node("Concat", "x x x", "a", axis=0)], [], [("a", FLOAT)])
    proto = model([node("If", "c", "y", then_branch=then, else_branch=other)], [X, C, ("d", BOOL, [])], [("y", FLOAT)])
    agree(proto, [feed | {"d": np.array(d)} for feed in feeds_of(random) for d in (False, True)])


def loop(body, inputs, outputs, loop_inputs, loop_outputs, constants=None, after=()):
    return model([node("Loop", loop_inputs, loop_outputs, body=body), *after], inputs, outputs, constants)


STATE = [("i", INT64, []), ("go", BOOL, [])]


def test_loop_without_iterations(random):
    """What is stacked keeps the sizes that no iteration is needed for. ONNX Runtime's depend on what the body declares."""
    nodes = [node("Add", "s x", "next"), node("Identity", "go", "on"), node("Identity", "next", "out"), node("Concat", "out grown", "more", axis=0)]
    body = graph(nodes, [*STATE, ("s", FLOAT, None), ("grown", FLOAT, None)], [("on", BOOL), ("next", FLOAT), ("more", FLOAT), ("out", FLOAT), ("more", FLOAT)])
    proto = loop(body, [("n", INT64, []), ("x", FLOAT, ["k", 3])], [("r", FLOAT), ("o", FLOAT), ("p", FLOAT)], ["n", "", "x", "x"], "r g o p")
    session = fathom.Session(fathom.compile(proto))
    x = floats(random, 5, 3)
    got = session.run(None, {"n": np.array(0), "x": x})
    np.testing.assert_array_equal(got[0], x)
    assert [y.shape for y in got[1:]] == [(0, 5, 3), (0, 0, 3)]
    assert [y.shape for y in session.run(None, {"n": np.array(1), "x": x})[1:]] == [(1, 5, 3), (1, 10, 3)]


CHANGED = {  # what a body makes of a number
    "vector of one": [node("Add", "s w", "t"), node("Reshape", "t one", "next")],
    "anything else": [node("Expand", "w four", "next")],
}


@pytest.mark.parametrize("how", CHANGED)
def test_loop_that_changes_the_rank_of_a_number(how, random):
    """Without an iteration it would still be a scalar: known to come, it is one, and else the run is refused."""
    body = graph([node("Identity", "go", "on"), *CHANGED[how]], [*STATE, ("s", FLOAT, None)], [("on", BOOL), ("next", FLOAT)])
    constants = {"one": np.array([1]), "four": np.array([4]), "w": np.float32(2), "never": np.array(0)}
    inputs = [("m", INT64, []), ("x", FLOAT, [])]
    proto = loop(body, inputs, [("y", FLOAT)], ["m", "", "x"], "y", constants, after=[node("Add", "x w", "unused")])
    feeds = [{"m": np.array(m), "x": floats(random)} for m in (1, 2, 5)]
    if how == "vector of one":
        agree(proto, feeds)
    with pytest.raises(fathom.Error, match="changes how many dimensions a carried value has"):
        fathom.Session(fathom.compile(proto)).run(None, {"m": np.array(0), "x": floats(random)})
    proto = loop(body, inputs, [("y", FLOAT)], ["never", "", "x"], "y", constants)
    agree(proto, feeds)


def test_scan_of_batches(random):
    """Operator set 8: every entry of a batch is scanned on its own, as far as it reaches."""
    body = graph([node("Add", "s x", "t"), node("Mul", "t x", "u")], [("s", FLOAT, [3]), ("x", FLOAT, [3])], [("t", FLOAT), ("u", FLOAT)])
    inputs = [("lengths", INT64, ["b"]), ("s0", FLOAT, ["b", 3]), ("x", FLOAT, ["b", "n", 3])]
    for directions in ([0], [1]):
        def scan(lengths):
            return model([node("Scan", [lengths, "s0", "x"], "t u", body=body, num_scan_inputs=1, directions=directions)],
                         inputs if lengths else inputs[1:], [("t", FLOAT), ("u", FLOAT)], opset=8)

        feeds = [{"s0": floats(random, b, 3), "x": floats(random, b, n, 3)} for b in (1, 2, 5) for n in (1, 3, 7)]
        agree(scan(""), feeds)
        agree(scan("lengths"), [feed | {"lengths": random.integers(1, feed["x"].shape[1] + 1, feed["x"].shape[0])} for feed in feeds])
        session = fathom.Session(fathom.compile(scan("lengths")))
        for length in (-1, 8):
            with pytest.raises(fathom.Error, match="sequence_lens is negative or above"):
                session.run(None, feeds[-1] | {"lengths": np.full(5, length)})


def test_loop_with_condition_and_stacked_outputs(random):
    """Zero iterations, all of them, and an end by the condition."""
    nodes = [
        node("Add", "s x", "next"),
        node("ReduceSum", "next", "total", keepdims=0),
        node("Less", "total limit", "goes_on"),
        node("Mul", "next next", "square"),
    ]
    body = graph(nodes, STATE + [("s", FLOAT, [3])], [("goes_on", BOOL), ("next", FLOAT), ("square", FLOAT), ("total", FLOAT)])
    inputs = [("m", INT64, []), ("c", BOOL, []), ("s0", FLOAT, [3]), ("x", FLOAT, [3]), ("limit", FLOAT, [])]
    outputs = [("last", FLOAT), ("squares", FLOAT), ("totals", FLOAT)]
    proto = loop(body, inputs, outputs, "m c s0", "last squares totals")
    feeds = []
    for trips in (0, 1, 2, 7, 1000):
        for limit in (-100, 5, 30):
            feed = {"m": np.array(trips), "c": np.array(True), "s0": floats(random, 3), "x": np.abs(floats(random, 3)) + 0.1}
            feeds.append(feed | {"limit": np.array(limit, np.float32)})
    feeds.append(feeds[-1] | {"c": np.array(False)})
    agree(proto, feeds)


def test_loop_with_growing_states(random):
    """Two states, one of them longer after every iteration."""
    nodes = [
        node("Identity", "go", "goes_on"),
        node("Concat", "s x", "longer", axis=0),
        node("ReduceSum", "longer", "sum", keepdims=0),
        node("Add", "t sum", "more"),
    ]
    body = graph(nodes, STATE + [("s", FLOAT, None), ("t", FLOAT, [])], [("goes_on", BOOL), ("longer", FLOAT), ("more", FLOAT), ("sum", FLOAT)])
    inputs = [("m", INT64, []), ("s0", FLOAT, ["a", 3]), ("x", FLOAT, ["n", 3]), ("t0", FLOAT, [])]
    after = [node("Shape", "s", "shape")]
    outputs = [("s", FLOAT), ("t", FLOAT), ("sums", FLOAT), ("shape", INT64)]
    proto = loop(body, inputs, outputs, ["m", "", "s0", "t0"], "s t sums", after=after)
    feeds = []
    for trips in (0, 1, 2, 13):
        for x in matrices(random)[:5]:
            feeds.append({"m": np.array(trips), "s0": floats(random, 2, 3), "x": x, "t0": np.array(1, np.float32)})
    agree(proto, feeds)


def test_if_in_loop(random):
    """A branch inside an iteration, which sees what is outside of the loop too."""
    then = graph([node("Add", "s x", "r")], [], [("r", FLOAT)])
    other = graph([node("Mul", "s two", "r")], [], [("r", FLOAT)])
    nodes = [
        node("Identity", "go", "goes_on"),
        node("Mod", "i step", "rest"),
        node("Equal", "rest zero", "even"),
        node("If", "even", "next", then_branch=then, else_branch=other),
        node("ReduceMax", "next", "peak", keepdims=0),
    ]
    body = graph(nodes, STATE + [("s", FLOAT, ["n", 3])], [("goes_on", BOOL), ("next", FLOAT), ("peak", FLOAT)])
    constants = {"step": np.array(2), "zero": np.array(0), "two": np.array(2, np.float32)}
    proto = loop(body, [("m", INT64, []), X], [("y", FLOAT), ("peaks", FLOAT)], ["m", "", "x"], "y peaks", constants)
    agree(proto, [{"m": np.array(trips), "x": x} for trips in (0, 1, 2, 5) for x in matrices(random)])


def test_loop_in_loop(random):
    inner_nodes = [node("Identity", "go2", "goes_on2"), node("Mul", "u half", "u2"), node("Add", "u2 s", "u3")]
    inner = graph(inner_nodes, [("j", INT64, []), ("go2", BOOL, []), ("u", FLOAT, ["n", 3])], [("goes_on2", BOOL), ("u3", FLOAT)], "inner")
    nodes = [
        node("Identity", "go", "goes_on"),
        node("Add", "i one", "count"),
        node("Loop", ["count", "", "s"], "next", body=inner),
    ]
    body = graph(nodes, STATE + [("s", FLOAT, ["n", 3])], [("goes_on", BOOL), ("next", FLOAT)])
    constants = {"one": np.array(1), "half": np.array(0.5, np.float32)}
    proto = loop(body, [("m", INT64, []), X], [("y", FLOAT)], ["m", "", "x"], "y", constants)
    agree(proto, [{"m": np.array(trips), "x": x} for trips in (0, 1, 4) for x in matrices(random)])


def test_loop_stacks_slices_of_a_size_that_data_decides(random):
    """Every iteration selects as many elements as the others, but how many only data says."""
    nodes = [node("Identity", "go", "goes_on"), node("Compress", "x mask", "some"), node("Mul", "some f", "slice"), node("Add", "f f", "g")]
    body = graph(nodes, STATE + [("f", FLOAT, [])], [("goes_on", BOOL), ("g", FLOAT), ("slice", FLOAT)])
    inputs = [("m", INT64, []), ("x", FLOAT, ["n"]), ("mask", BOOL, ["n"]), ("f0", FLOAT, [])]
    proto = loop(body, inputs, [("f", FLOAT), ("y", FLOAT)], ["m", "", "f0"], "f y")
    feeds = []
    for trips in (1, 2, 9):
        for n in PRIMES:
            mask = random.random(n) < 0.5
            feeds.append({"m": np.array(trips), "x": floats(random, n), "mask": mask, "f0": np.array(1.5, np.float32)})
    agree(proto, feeds)


@pytest.mark.parametrize("axis, output_axis", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("direction, output_direction", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_scan(axis, output_axis, direction, output_direction, random):
    """Two states and two scanned inputs along any axis, forwards and backwards."""
    nodes = [node("Add", "s u", "s2"), node("Mul", "t v", "t2"), node("Sub", "s2 t2", "o")]
    states = [("s", FLOAT, [3]), ("t", FLOAT, [3]), ("u", FLOAT, [3]), ("v", FLOAT, [3])]
    body = graph(nodes, states, [("s2", FLOAT), ("t2", FLOAT), ("o", FLOAT)])
    scan = node("Scan", "s0 t0 u v", "s1 t1 y", body=body, num_scan_inputs=2, scan_input_axes=[axis, 0],
                scan_input_directions=[direction, 0], scan_output_axes=[output_axis], scan_output_directions=[output_direction])
    shape = ["n", 3] if axis == 0 else [3, "n"]
    inputs = [("s0", FLOAT, [3]), ("t0", FLOAT, [3]), ("u", FLOAT, shape), ("v", FLOAT, ["n", 3])]
    proto = model([scan], inputs, [("s1", FLOAT), ("t1", FLOAT), ("y", FLOAT)])
    feeds = []
    for n in PRIMES:
        u = floats(random, n, 3) if axis == 0 else floats(random, 3, n)
        feeds.append({"s0": floats(random, 3), "t0": floats(random, 3), "u": u, "v": floats(random, n, 3)})
    agree(proto, feeds)


def test_range_of_a_size_is_checked_where_a_branch_decides_it(random):
    """The rows of a table that a branch's result selects: more of them than there are is an error and no read beyond."""
    import fathom

    then = graph([node("Identity", "x", "r")], [], [("r", FLOAT)])
    other = graph([node("Concat", "x x", "r", axis=0)], [], [("r", FLOAT)])
    nodes = [
        node("If", "c", "y", then_branch=then, else_branch=other),
        node("Shape", "y", "rows", end=1),
        node("Slice", "table zero rows", "part"),
        node("Add", "y part", "z"),
    ]
    constants = {"table": floats(random, 8, 3), "zero": np.array([0])}
    session = fathom.Session(fathom.compile(model(nodes, [X, C], [("z", FLOAT)], constants)))
    for n, c in ((8, True), (4, False), (1, False)):
        x = floats(random, n, 3)
        y = x if c else np.concatenate([x, x])
        np.testing.assert_array_equal(session.run(None, {"x": x, "c": np.array(c)})[0], y + constants["table"][: len(y)])
    for n, c in ((9, True), (5, False), (1000, False)):
        with pytest.raises(fathom.Error):
            session.run(None, {"x": floats(random, n, 3), "c": np.array(c)})


def test_branch_hands_on_memory_of_known_size(random):
    """One branch gives a size that data decides, the other one that inputs do: both outlive their branch."""
    then = graph([node("Identity", "x", "r")], [], [("r", FLOAT)])
    other = graph([node("Slice", "x from to", "r")], [], [("r", FLOAT)])
    nodes = [
        node("If", "c", "s", then_branch=then, else_branch=other),
        node("Exp", "x", "e"),
        node("Softmax", "e", "f"),
        node("ReduceSum", "f", "g", keepdims=0),
        node("Concat", "s f", "h", axis=0),
        node("Mul", "h g", "y"),
    ]
    inputs = [X, C, ("from", INT64, [1]), ("to", INT64, [1])]
    agree(model(nodes, inputs, [("y", FLOAT)]), feeds_of(random, **{"from": np.array([0]), "to": np.array([2])}))


def test_loop_hands_on_memory_of_known_size(random):
    """What the first iteration reads has another size than what every iteration gives."""
    body = graph(
        [
            node("Identity", "go", "on"),
            node("Add", "x sum", "next"),
            node("ReduceSum", "s", "part", keepdims=0),
            node("Add", "sum part", "total"),
        ],
        [("i", INT64, []), ("go", BOOL, []), ("s", FLOAT, None), ("sum", FLOAT, [])],
        [("on", BOOL), ("next", FLOAT), ("total", FLOAT)],
    )
    nodes = [node("Slice", "x from to", "start"), node("Loop", ["m", "", "start", "zero"], "y z", body=body)]
    inputs = [X, ("m", INT64, []), ("from", INT64, [1]), ("to", INT64, [1])]
    proto = model(nodes, inputs, [("y", FLOAT), ("z", FLOAT)], {"zero": np.float32(0)})
    # Sums that cancel out would differ by more than the tolerance after a few iterations.
    feeds = [{"x": np.abs(x), "m": np.array(m), "from": np.array([0]), "to": np.array([1])} for x in matrices(random) for m in (0, 1, 4)]
    agree(proto, feeds)


def test_if_with_a_number_in_several_forms(random):
    """A scalar in one branch and a vector of one in the other, as converters of Paddle's models write it."""
    then = graph([node("ReduceSum", "x", "r", keepdims=0)], [], [("r", FLOAT)])
    other = graph([node("ReduceMax", "w", "m", keepdims=0), node("Reshape", "m one", "r")], [], [("r", FLOAT)])
    nodes = [node("If", "c", "p", then_branch=then, else_branch=other), node("Mul", "x p", "y")]
    agree(model(nodes, [X, C], [("y", FLOAT)], {"one": np.array([1]), "w": floats(random, 5)}), feeds_of(random))


def test_loop_carries_a_number_in_several_forms(random):
    """It goes into the loop as a scalar and through it as a vector of one."""
    body = graph([node("Identity", "go", "on"), node("Add", "s one", "t"), node("Mul", "x t", "o")], [*STATE, ("s", FLOAT, None)],
                 [("on", BOOL), ("t", FLOAT), ("o", FLOAT)])
    proto = loop(body, [X, ("n", INT64, [])], [("last", FLOAT), ("y", FLOAT)], ["n", "", "s0"], "last y", {"one": floats(random, 1), "s0": floats(random)[()]})
    agree(proto, [{"x": x, "n": np.array(trips)} for x in matrices(random) for trips in (1, 2, 5)])


def placeholder_loop():
    """A carried value that no iteration reads: what it is before the first one does not matter."""
    body = graph([node("Identity", "go", "on"), node("Add", "s x", "t"), node("Exp", "t", "made")], [*STATE, ("s", FLOAT, None), ("nothing", FLOAT, None)],
                 [("on", BOOL), ("t", FLOAT), ("made", FLOAT)])
    constants = {"none": np.float32(0)}
    return loop(body, [X, ("n", INT64, [])], [("last", FLOAT), ("y", FLOAT)], ["n", "", "x", "none"], "last y", constants)


def test_loop_carries_what_it_does_not_read(random):
    agree(placeholder_loop(), [{"x": x, "n": np.array(trips)} for x in matrices(random) for trips in (1, 3)])


def test_loop_must_run_to_make_what_it_carries(random):
    """Without an iteration the value would have another number of dimensions, which is refused."""
    session = fathom.Session(fathom.compile(placeholder_loop()))
    with pytest.raises(fathom.Error) as caught:
        session.run(None, {"x": floats(random, 2, 3), "n": np.array(0)})
    assert caught.value.code == "F1012"
