"""Sequences and optionals against ONNX Runtime: lists known to the compiler, positions and lengths
known only when the model runs, and what loops and branches carry."""
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper

import fathom
from support import compare, tolerances
from support.models import BOOL, FLOAT, INT64, PRIMES, floats, node


def tensor(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name, dtype=FLOAT, shape=None):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(dtype, shape)))


def optional(name, content):
    return helper.make_value_info(name, helper.make_optional_type_proto(content))


def model(nodes, inputs, outputs, constants=None, opset=17):
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    made = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, outputs)


def flat(values):
    """All arrays of a result, with marks for what is around them."""
    if values is None:
        return [np.array("absent")]
    if isinstance(values, list):
        return [np.array(len(values)), *(array for value in values for array in flat(value))]
    return [np.asarray(values)]


def agree(proto, feeds, reference=None):
    """Compiles once and compares every run, with one thread and two; two of the runs must differ."""
    reference = reference or compare.reference(proto)
    artifact, family = fathom.compile(proto), tolerances.family_of(proto)
    one, two = fathom.Session(artifact, threads=1), fathom.Session(artifact, threads=2)
    seen = set()
    for feed in feeds:
        want, got, other = flat(list(reference(feed))), flat(one.run(None, feed)), flat(two.run(None, feed))
        compare.assert_same_bits(got, other)
        for x, y in zip(got, want, strict=True):
            assert x.dtype == y.dtype
            compare.assert_close(x, y, family)
        seen.add(b"".join(x.tobytes() + repr(x.shape).encode() for x in got))
    assert len(seen) > 1


def refuses(proto, feed, text):
    """The run ends with an error, and the session works on."""
    session = fathom.Session(fathom.compile(proto))
    with pytest.raises(fathom.Error, match=text):
        session.run(None, feed)
    return session


X, Y = tensor("x", FLOAT, ["n", 3]), tensor("y", FLOAT, ["m", 3])
POSITION = tensor("p", INT64, [])
EXPRESSIONS = {
    "At": ([node("SequenceAt", "s p", "r")], [tensor("r")]),
    "Insert": ([node("SequenceInsert", "s y p", "r")], [sequence("r")]),
    "Erase": ([node("SequenceErase", "s p", "r")], [sequence("r")]),
}


def positions(op, length):
    """Every position that the operator takes."""
    return range(-length, length + (op == "Insert"))


@pytest.mark.parametrize("op", EXPRESSIONS)
@pytest.mark.parametrize("position", [0, 1, 2, -1, -3])
def test_lists_with_constant_positions(random, op, position):
    nodes, outputs = EXPRESSIONS[op]
    proto = model([node("SequenceConstruct", "x y x", "s"), *nodes], [X, Y], outputs, {"p": np.array(position)})
    agree(proto, [{"x": floats(random, n, 3), "y": floats(random, m, 3)} for n, m in zip(PRIMES, reversed(PRIMES))])


def test_lists_whose_elements_differ_in_rank(random):
    """As long as the compiler knows which element is meant, through an If and a map as well."""
    each = body([node("Exp", "e", "f")], [tensor("e")], [tensor("f")])
    branches = [body([node("SequenceConstruct", names, "b")], [], [sequence("b")]) for names in ("x row total", "y row total")]
    nodes = [
        node("ReduceSum", "x", "total", keepdims=0),
        node("If", "c", "s", then_branch=branches[0], else_branch=branches[1]),
        node("SequenceMap", "s", "t", body=each),
        node("SequenceInsert", "t row one", "u"),
        node("SequenceErase", "u zero", "v"),
        *(node("SequenceAt", f"v {at}", f"r{i}") for i, at in enumerate(("zero", "one", "last"))),
        node("SequenceAt", "u zero", "first"),
        node("SequenceLength", "v", "length"),
    ]
    outputs = [tensor("r0"), tensor("r1"), tensor("r2"), tensor("first"), tensor("length", INT64)]
    inputs = [X, Y, tensor("row", FLOAT, [5]), tensor("c", BOOL, [])]
    proto = model(nodes, inputs, outputs, {"zero": np.array(0), "one": np.array(1), "last": np.array(-1)})
    feeds = [{"x": floats(random, n, 3), "y": floats(random, m, 3), "row": floats(random, 5), "c": np.array(c)} for n, m in zip(PRIMES, reversed(PRIMES)) for c in (False, True)]
    agree(proto, feeds)


@pytest.mark.parametrize("op", EXPRESSIONS)
def test_lists_with_run_time_positions(random, op):
    nodes, outputs = EXPRESSIONS[op]
    proto = model([node("SequenceConstruct", "x y x", "s"), *nodes], [X, Y, POSITION], outputs)
    feeds = [{"x": floats(random, 5, 3), "y": floats(random, 2, 3), "p": np.array(p)} for p in positions(op, 3)]
    agree(proto, feeds)
    for wrong in (3 + (op == "Insert"), -4, 2**62, -(2**63)):
        refuses(proto, feeds[0] | {"p": np.array(wrong)}, "outside of the sequence")


@pytest.mark.parametrize("op", EXPRESSIONS)
def test_sequences_from_outside(random, op):
    nodes, outputs = EXPRESSIONS[op]
    inputs = [sequence("s", FLOAT, [None, None]), POSITION] + ([tensor("y", FLOAT, ["n", "m"])] if op == "Insert" else [])
    proto = model([*nodes, node("SequenceLength", "s", "l")], inputs, [*outputs, tensor("l", INT64)])
    feeds = []
    for length in (1, 2, 5):
        for p in positions(op, length):
            elements = [floats(random, *random.integers(0, 6, 2)) for _ in range(length)]
            feeds.append({"s": elements, "p": np.array(p)} | ({"y": floats(random, 3, 2)} if op == "Insert" else {}))
    if op == "Insert":
        feeds.append(feeds[0] | {"s": [], "p": np.array(0)})
    agree(proto, feeds)
    session = refuses(proto, feeds[0] | {"p": np.array(7)}, "outside of the sequence")
    assert len(session.run(None, feeds[0])) == 2


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_identity_of_any_rank(random, rank):
    proto = model([node("Identity", "s", "r")], [sequence("s")], [sequence("r")])
    feeds = [{"s": [floats(random, *random.integers(0, 4, rank)) for _ in range(n)]} for n in (0, 1, 4)]
    agree(proto, feeds, lambda feed: [feed["s"]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("new_axis", [0, 1])
def test_concat(random, axis, new_axis):
    concat = node("ConcatFromSequence", "s", "r", axis=axis, new_axis=new_axis)
    proto = model([concat], [sequence("s", FLOAT, [None, None, None])], [tensor("r")])
    feeds = []
    for length in (1, 2, 7):
        shapes = np.tile(random.integers(1, 5, 3), (length, 1))
        if not new_axis:
            shapes[:, axis] = random.integers(0, 6, length)
        feeds.append({"s": [floats(random, *shape) for shape in shapes]})
    agree(proto, feeds)
    session = refuses(proto, {"s": [floats(random, 2, 3, 4), floats(random, 3, 4, 4 + new_axis)]}, "(?i)size")
    with pytest.raises(fathom.Error, match="sequence is empty"):
        session.run(None, {"s": []})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [[3, 7, 4], ["a", "b", "c"]])
class TestSplit:
    def run(self, random, axis, shape, split, feeds, **attributes):
        inputs = [tensor("x", FLOAT, shape)] + ([tensor("l", INT64, split)] if split is not None else [])
        names = "x l" if split is not None else "x"
        nodes = [node("SplitToSequence", names, "s", axis=axis, **attributes), node("SequenceLength", "s", "n")]
        agree(model(nodes, inputs, [sequence("s"), tensor("n", INT64)]), feeds)

    def arrays(self, random, shape):
        sizes = [[3, 7, 4]] * 3 if shape[0] == 3 else [[3, 7, 4], [1, 1, 1], [5, 2, 13]]
        return [floats(random, *size) for size in sizes]

    @pytest.mark.parametrize("keepdims", [0, 1])
    def test_each(self, random, axis, shape, keepdims):
        feeds = [{"x": x} for x in self.arrays(random, shape)]
        self.run(random, axis, shape, None, feeds, keepdims=keepdims)

    def test_equal_parts(self, random, axis, shape):
        feeds = [{"x": x, "l": np.array(n)} for x in self.arrays(random, shape) for n in (1, 2, 3, 20)]
        self.run(random, axis, shape, [], feeds)

    @pytest.mark.parametrize("count", [3, "k"])
    def test_given_parts(self, random, axis, shape, count):
        feeds = []
        for x in self.arrays(random, shape):
            cuts = np.sort(random.integers(0, x.shape[axis] + 1, 2))
            feeds.append({"x": x, "l": np.diff(np.array([0, *cuts, x.shape[axis]]))})
        self.run(random, axis, shape, [count], feeds)


def test_split_of_the_smaller_half(random):
    """Which is never negative."""
    nodes = [node("Split", "x", "a b", num_outputs=2), node("SplitToSequence", "b by", "s"), node("SequenceLength", "s", "n"),
             node("ConcatFromSequence", "s", "y", axis=0)]
    proto = model(nodes, [tensor("x", FLOAT, ["n", 3]), tensor("by", INT64, [])], [tensor("n", INT64), tensor("y")], opset=18)
    agree(proto, [{"x": floats(random, n, 3), "by": np.array(by)} for n in (2, 5, 8) for by in (1, 2)])


def test_split_and_concat_are_inverse(random):
    nodes = [node("SplitToSequence", "x l", "s", axis=1), node("ConcatFromSequence", "s", "r", axis=1)]
    proto = model(nodes, [tensor("x", FLOAT, ["a", "b", "c"]), tensor("l", INT64, ["k"])], [tensor("r")])
    feeds = [{"x": floats(random, 3, 7, 5), "l": np.array(l)} for l in ([7], [3, 4], [0, 1, 0, 6])]
    agree(proto, feeds)
    refuses(proto, feeds[0] | {"l": np.array([3, 3])}, "(?i)size")
    refuses(proto, feeds[0] | {"l": np.array([8, -1])}, "(?i)size")


def growing_loop(append, final, constants=None, captured=(), outputs=None):
    """A loop that carries a sequence, which `append` turns from s into t at iteration i."""
    inner = body(
        [node("Identity", "go", "on"), *append],
        [tensor("i", INT64, []), tensor("go", BOOL, []), sequence("s")],
        [tensor("on", BOOL), sequence("t")],
    )
    nodes = [node("SequenceEmpty", "", "none"), node("Loop", ["m", "", "none"], "all", body=inner), *final]
    return model(nodes, [tensor("m", INT64, []), *captured], outputs or [tensor("r")], constants)


FIRST_ROWS = [  # the first i + 1 rows of x
    node("Add", "i one", "e"),
    node("Unsqueeze", "e zeros", "end"),
    node("Slice", "x zeros end", "part"),
]
ONE = {"one": np.array(1), "zeros": np.array([0])}


@pytest.mark.parametrize("axis", [0, 1])
def test_loop_grows_a_sequence_of_different_sizes(random, axis):
    x = tensor("x", FLOAT, ["n", "k"]) if axis == 0 else tensor("x", FLOAT, ["k", "n"])
    rows = FIRST_ROWS if axis == 0 else [*FIRST_ROWS[:2], node("Slice", "x zeros end axes", "part")]
    proto = growing_loop(
        [*rows, node("SequenceInsert", "s part", "t")],
        [node("ConcatFromSequence", "all", "r", axis=axis), node("SequenceLength", "all", "l")],
        ONE | {"axes": np.array([1])},
        [x],
        [tensor("r"), tensor("l", INT64), sequence("all")],
    )
    agree(proto, [{"m": np.array(m), "x": floats(random, *shape)} for m in (1, 2, 5, 9) for shape in ((9, 3), (3, 9))])


def test_loop_inserts_in_front(random):
    append = [*FIRST_ROWS, node("SequenceInsert", "s part zero", "t")]
    proto = growing_loop(append, [], ONE | {"zero": np.array(0)}, [X], [sequence("all")])
    agree(proto, [{"m": np.array(m), "x": floats(random, 6, 3)} for m in (0, 1, 2, 6)])


def test_loop_reads_what_it_carries(random):
    """Every element is the one before and the next row: sums of rows, of sequences that begin with one element."""
    append = [
        node("SequenceAt", "s last", "before"),
        node("Gather", "x i", "row"),
        node("Add", "before row", "sum"),
        node("SequenceInsert", "s sum", "t"),
    ]
    inner = body(
        [node("Identity", "go", "on"), *append],
        [tensor("i", INT64, []), tensor("go", BOOL, []), sequence("s")],
        [tensor("on", BOOL), sequence("t")],
    )
    nodes = [node("SequenceConstruct", "first", "start"), node("Loop", ["m", "", "start"], "all", body=inner)]
    constants = {"last": np.array(-1), "first": floats(random, 3)}
    proto = model(nodes, [tensor("m", INT64, []), X], [sequence("all")], constants)
    agree(proto, [{"m": np.array(m), "x": floats(random, 7, 3)} for m in (0, 1, 4, 7)])


def test_loop_reads_before_it_adds(random):
    """Nothing declares how many dimensions elements have, and the first iteration has none to read."""
    before = body([node("SequenceAt", "s last", "b1")], [], [tensor("b1")])
    first = body([node("Identity", "x", "b2")], [], [tensor("b2")])
    append = [
        node("Greater", "i zero", "later"),
        node("If", "later", "b", then_branch=before, else_branch=first),
        node("Concat", "b x", "c", axis=0),
        node("SequenceInsert", "s c", "t"),
    ]
    constants = {"zero": np.array(0), "last": np.array(-1)}
    proto = growing_loop(append, [], constants, [X], [sequence("all")])
    agree(proto, [{"m": np.array(m), "x": floats(random, n, 3)} for m in (0, 1, 4) for n in (1, 2)])


def test_loop_leaves_an_empty_sequence_as_it_is(random):
    """Nothing in the loop tells how many dimensions elements have; what comes behind it does."""
    proto = growing_loop([node("Identity", "s", "t")], [node("SequenceInsert", "all x", "r")], {}, [X], [sequence("r")])
    agree(proto, [{"m": np.array(m), "x": floats(random, n, 3)} for m in (0, 2) for n in (1, 4)])


def test_branch_in_loop_grows_and_shrinks(random):
    """Where the flag says so an element is added, elsewhere the first is taken out if there is one."""
    grow = body([*FIRST_ROWS, node("SequenceInsert", "s part", "g")], [], [sequence("g")])
    take = body([node("SequenceErase", "s zero", "e1")], [], [sequence("e1")])
    keep = body([node("Identity", "s", "e2")], [], [sequence("e2")])
    shrink = body(
        [
            node("SequenceLength", "s", "n"),
            node("Greater", "n zero", "some"),
            node("If", "some", "h", then_branch=take, else_branch=keep),
        ],
        [],
        [sequence("h")],
    )
    append = [node("Gather", "flags i", "flag"), node("If", "flag", "t", then_branch=grow, else_branch=shrink)]
    proto = growing_loop(
        append, [], ONE | {"zero": np.array(0)}, [X, tensor("flags", BOOL, ["f"])], [sequence("all")]
    )
    feeds = [{"m": np.array(8), "x": floats(random, 8, 3), "flags": random.random(8) < chance} for chance in (0.3, 0.6, 0.9, 1)]
    agree(proto, feeds)


@pytest.mark.parametrize("lengths", [(2, 2), (1, 3), (0, 2)])
def test_branches_with_lists(random, lengths):
    branches = []
    for name, length in zip("ab", lengths):
        make = node("SequenceConstruct", " ".join((["x", "y"] * 2)[:length]), name) if length else node("SequenceEmpty", "", name)
        branches.append(body([make], [], [sequence(name)]))
    nodes = [node("If", "c", "s", then_branch=branches[0], else_branch=branches[1]), node("SequenceLength", "s", "l")]
    proto = model(nodes, [tensor("c", BOOL, []), X, Y], [sequence("s"), tensor("l", INT64)])
    agree(proto, [{"c": np.array(c), "x": floats(random, 2, 3), "y": floats(random, 5, 3)} for c in (True, False)])


def test_map_over_sequences(random):
    inner = body([node("Mul", "a b", "p"), node("Shape", "a", "q")], [tensor("a"), tensor("b")], [tensor("p"), tensor("q", INT64)])
    nodes = [node("SequenceMap", "s x", "t u", body=inner)]
    proto = model(nodes, [sequence("s", FLOAT, [None, 3]), tensor("x", FLOAT, [3])], [sequence("t"), sequence("u", INT64)])
    feeds = [
        {"s": [floats(random, n, 3) for n in random.integers(0, 5, length)], "x": floats(random, 3)} for length in (0, 1, 4)
    ]
    agree(proto, feeds)


def test_map_over_a_list(random):
    inner = body([node("Mul", "a b", "p")], [tensor("a"), tensor("b")], [tensor("p")])
    nodes = [node("SequenceConstruct", "x y", "s"), node("SequenceMap", "s s", "t", body=inner)]
    proto = model(nodes, [X, Y], [sequence("t")])
    agree(proto, [{"x": floats(random, n, 3), "y": floats(random, 2, 3)} for n in (1, 4)])


def test_two_sequences_of_different_lengths_are_refused(random):
    inner = body([node("Add", "a b", "p")], [tensor("a"), tensor("b")], [tensor("p")])
    made = [sequence(name, FLOAT, [None]) for name in "st"]
    proto = model([node("SequenceMap", "s t", "u", body=inner)], made, [sequence("u")])
    one = [floats(random, 3)]
    refuses(proto, {"s": one, "t": one * 2}, "differ in length")


def test_optional_of_a_branch(random):
    there = body([node("Mul", "x x", "v"), node("Optional", "v", "o1")], [], [optional("o1", tensor("v").type)])
    kind = helper.make_tensor_type_proto(FLOAT, None)
    none = body([helper.make_node("Optional", [], ["o2"], type=kind)], [], [optional("o2", kind)])
    value = body([node("OptionalGetElement", "o", "g")], [], [tensor("g")])
    other = body([node("Neg", "x", "h")], [], [tensor("h")])
    nodes = [
        node("If", "c", "o", then_branch=there, else_branch=none),
        node("OptionalHasElement", "o", "has"),
        node("If", "has", "r", then_branch=value, else_branch=other),
    ]
    proto = model(nodes, [tensor("c", BOOL, []), X], [tensor("r"), tensor("has", BOOL), optional("o", kind)], opset=18)
    x = floats(random, 5, 3)

    def expected(feed):
        return [x * x, np.array(True), x * x] if feed["c"] else [-x, np.array(False), None]

    agree(proto, [{"c": np.array(c), "x": x} for c in (True, False)], expected)


START = {"empty": [node("SequenceEmpty", "", "start", dtype=FLOAT)], "two": [node("SequenceConstruct", "x x", "start")], "given": []}
ELEMENT = {  # and whether its sizes are known before the loop
    "like the input": ([node("Cast", "i", "number", to=FLOAT), node("Add", "x number", "e")], True),
    "a constant": ([node("Identity", "w", "e")], True),
    "longer and longer": ([node("Unsqueeze", "i zero", "at"), node("Concat", "at zero", "more", axis=0), node("Add", "more one", "times"),
                           node("Tile", "x times", "e")], False),
}


@pytest.mark.parametrize("element", ELEMENT)
@pytest.mark.parametrize("start", START)
def test_loop_that_appends(start, element, random):
    """Elements of one size are stacked and not copied in every iteration: no packed sequence is carried then."""
    nodes, isStacked = ELEMENT[element]
    inner = body([node("Identity", "go", "on"), *nodes, node("SequenceInsert", "q e", "next"), node("Add", "s s", "t")],
                 [tensor("i", INT64, []), tensor("go", BOOL, []), sequence("q"), tensor("s", FLOAT, [3])],
                 [tensor("on", BOOL), sequence("next"), tensor("t")])
    after = [node("SequenceLength", "all", "length"), node("SequenceInsert", "all x", "more_of_it"), node("ConcatFromSequence", "more_of_it", "r", axis=0)]
    loop = node("Loop", ["m", "", "start", "v"], "all last", body=inner)
    inputs = [tensor("m", INT64, []), X, tensor("v", FLOAT, [3])] + [sequence("start", FLOAT, ["k", 3])] * (start == "given")
    constants = {"zero": np.array([0]), "one": np.array([1, 1]), "w": floats(random, 2, 3)}
    proto = model([*START[start], loop, *after], inputs, [tensor("r"), tensor("length", INT64), sequence("all"), tensor("last")], constants)
    feeds = [{"m": np.array(m), "x": floats(random, n, 3), "v": floats(random, 3)} for n in (1, 2) for m in (0, 1, 2, 5)]
    if start == "given":
        feeds = [feed | {"start": [floats(random, 2, 3)] * length} for feed in feeds for length in (0, 1, 3)]
    agree(proto, feeds)
    inside = fathom.compile(proto, emit="graph").split("graph.Loop")[1].split("graph.Yield")[0]
    assert ("graph.Concat" not in inside) == isStacked


ABSENT = {"kept absent": lambda feed: None, "filled late": lambda feed: feed["x"] if feed["m"] > 2 else None}


@pytest.mark.parametrize("how", ABSENT)
def test_absent_optional_that_a_loop_carries(how, random):
    """It has any rank until an iteration gives it one."""
    kind = helper.make_tensor_type_proto(FLOAT, None)
    there = body([node("Optional", "x", "a")], [], [optional("a", kind)])
    same = body([node("Identity", "o", "b")], [], [optional("b", kind)])
    keep = [node("Identity", "o", "next")]
    fill = [node("Greater", "i one", "late"), node("If", "late", "next", then_branch=there, else_branch=same)]
    inner = body([node("Identity", "go", "on"), *(keep if how == "kept absent" else fill)],
                 [tensor("i", INT64, []), tensor("go", BOOL, []), optional("o", kind)], [tensor("on", BOOL), optional("next", kind)])
    value = body([node("OptionalGetElement", "last", "g")], [], [tensor("g")])
    other = body([node("Neg", "x", "h")], [], [tensor("h")])
    nodes = [
        helper.make_node("Optional", [], ["none"], type=kind),
        node("Loop", ["m", "", "none"], "last", body=inner),
        node("OptionalHasElement", "last", "has"),
        node("If", "has", "r", then_branch=value, else_branch=other),
    ]
    proto = model(nodes, [tensor("m", INT64, []), tensor("x", FLOAT, ["n"])], [tensor("r"), tensor("has", BOOL)], {"one": np.array(1)}, opset=18)

    def expected(feed):
        result = ABSENT[how](feed)
        return [-feed["x"] if result is None else result, np.array(result is not None)]

    agree(proto, [{"m": np.array(m), "x": floats(random, n)} for m in (0, 1, 2, 3, 5) for n in (1, 3)], expected)


def test_optional_inputs(random):
    content = helper.make_tensor_type_proto(FLOAT, ["n"])
    some = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, ["k"]))
    nodes = [node("OptionalHasElement", "o", "a"), node("OptionalHasElement", "s", "b"), node("Identity", "s", "t")]
    proto = model(
        nodes, [optional("o", content), optional("s", some)], [tensor("a", BOOL), tensor("b", BOOL), optional("t", some)], opset=18
    )
    feeds = [{"o": o, "s": s} for o in (None, floats(random, 4)) for s in (None, [], [floats(random, 2), floats(random, 0)])]
    agree(proto, feeds, lambda feed: [np.array(feed["o"] is not None), np.array(feed["s"] is not None), feed["s"]])
    proto = model([node("OptionalGetElement", "o", "r")], [optional("o", content)], [tensor("r")], opset=18)
    session = refuses(proto, {"o": None}, "absent")
    assert session.run(None, {"o": np.ones(3, np.float32)})[0].tolist() == [1, 1, 1]


def test_lists_leave_nothing_behind():
    nodes = [
        node("SequenceConstruct", "x y", "s"),
        node("SequenceInsert", "s x one", "t"),
        node("SequenceErase", "t zero", "u"),
        node("SequenceAt", "u one", "v"),
        node("SequenceLength", "u", "l"),
        node("Cast", "l", "k", to=FLOAT),
        node("Mul", "v k", "r"),
    ]
    text = fathom.compile(model(nodes, [X, Y], [tensor("r")], {"one": np.array(1), "zero": np.array(0)}), emit="graph")
    assert set(re.findall(r"= graph\.(\w+)", text)) == {"Constant", "Mul"} and "graph.Mul(%arg1" in text


def test_common_sizes_stay_known():
    """What a loop appends has three columns every time, and so has what is made of it all."""
    append = [*FIRST_ROWS, node("SequenceInsert", "s part", "t")]
    text = fathom.compile(growing_loop(append, [node("ConcatFromSequence", "all", "r", axis=0)], ONE, [X]), emit="graph")
    assert re.search(r"return %\d+ : tensor<\?x3xf32", text)


def test_names_that_are_taken(random):
    """Tensors of a sequence get other names than tensors of the model."""
    nodes = [node("SequenceAt", "s zero", "e"), node("Add", "e s.data", "r")]
    inputs = [sequence("s", FLOAT, [None]), tensor("s.data", FLOAT, ["s.length"]), tensor("s.shapes", FLOAT, ["s.length"])]
    proto = model([*nodes, node("Neg", "s.shapes", "q")], inputs, [tensor("r"), tensor("q")], {"zero": np.array(0)})
    feeds = [{"s": [floats(random, n)], "s.data": floats(random, n), "s.shapes": floats(random, n)} for n in (2, 5)]
    agree(proto, feeds)


def test_wrong_sizes_from_outside(random):
    """What a caller without Python could give: sizes that do not go with the values."""
    session = fathom.Session(fathom.compile(model([node("Identity", "s", "r")], [sequence("s", FLOAT, [None])], [sequence("r")])))
    for shapes in ([[3], [3]], [[9], [-4]], [[2**62], [3]], [[5]]):
        data, rows = floats(random, 7), np.array(shapes)
        dims = [data.shape, rows.shape]
        out = session._runner.output_dims(dims)
        room = [np.zeros([max(n, 0) for n in d], t) for d, t in zip(out, (np.float32, np.int64))]
        with pytest.raises(fathom.Error):
            session._runner.run([a.reshape(-1).view(np.uint8) for a in (data, rows)], dims, [a.reshape(-1).view(np.uint8) for a in room], out)
