"""Declarations of branches, loops, sequences and optionals. Bodies are small graphs of their own that read values of the outside."""
import numpy as np
from onnx import TensorProto, helper

from catalog import op
from reference import Impossible
from values import BOOL, FLOATS, onnx_type

NUMBERS = [*FLOATS[:2], np.dtype(np.int64), np.dtype(np.int32)]


def plain(g, shape_like=None, **more):
    """A value that bodies compute with."""
    g.bound = {}
    return g.arg(len(g.schema.inputs) - 1 if g.op != "If" else 0, types=NUMBERS, rank=(0, 3), **more)


def info(name, dtype, rank=None):
    return helper.make_tensor_value_info(name, onnx_type(dtype), None if rank is None else [None] * rank)


@op("If")
def branch(g):
    condition = g.given(0, np.array(g.chance(0.5)), BOOL, run_time=0.8)
    values = [v for v in g.values if v.dtype in NUMBERS]
    x = g.choose(values) if values else g.new(g.random.standard_normal(g.shape((0, 3))).astype(np.float32), (FLOATS[0], None, None))
    others = [v for v in values if v.dtype == x.dtype and v.shape == x.shape]
    y = g.choose(others) if others else x
    name = f"b{g.count}"
    one = helper.make_graph([helper.make_node(g.choose(["Abs", "Neg", "Identity"]), [x.name], [name + "t"])], "then", [], [info(name + "t", x.dtype)])
    two = helper.make_graph([helper.make_node(g.choose(["Add", "Mul", "Sub"]), [x.name, y.name], [name + "m"]),
                             helper.make_node("Abs", [name + "m"], [name + "e"])], "else", [], [info(name + "e", x.dtype)])
    g.node(condition, then_branch=one, else_branch=two)


@op("Loop")
def loop(g):
    x = plain(g)
    step = plain(g, shape=x.shape) if g.chance(0.5) else x
    if step.dtype != x.dtype:
        step = x
    name = f"l{g.count}"
    body = helper.make_graph(
        [helper.make_node("Identity", [name + "c"], [name + "d"]), helper.make_node(g.choose(["Add", "Sub", "Max"]), [name + "s", step.name], [name + "r"]),
         helper.make_node("Neg", [name + "r"], [name + "o"])],
        "body", [info(name + "i", np.int64, 0), info(name + "c", BOOL, 0), info(name + "s", x.dtype, x.rank)],
        [info(name + "d", BOOL, 0), info(name + "r", x.dtype, x.rank), info(name + "o", x.dtype, x.rank)])
    g.bound = {}
    trips = g.given(0, np.array(g.integer(1, 4), np.int64), np.int64, run_time=0.5)
    condition = g.given(1, np.array(True), BOOL, run_time=0.2) if g.chance(0.5) else None
    g.node(trips, condition, x, outputs=2, body=body)


@op("Scan")
def scan(g):
    x = plain(g, where=lambda a: a.ndim >= 1 and len(a) > 0)
    g.bound = {}
    state = plain(g, shape=x.shape[1:])
    if state.dtype != x.dtype:
        raise Impossible("another type")
    name = f"s{g.count}"
    body = helper.make_graph(
        [helper.make_node(g.choose(["Add", "Max", "Sub"]), [name + "s", name + "x"], [name + "r"]), helper.make_node("Abs", [name + "r"], [name + "o"])],
        "body", [info(name + "s", x.dtype, x.rank - 1), info(name + "x", x.dtype, x.rank - 1)], [info(name + "r", x.dtype, x.rank - 1), info(name + "o", x.dtype, x.rank - 1)])
    g.node(state, x, outputs=2, num_scan_inputs=1, body=body, scan_input_directions=[g.integer(0, 1)] if g.chance(0.5) else None)


def sequence(g):
    """A sequence of tensors of one rank, and one that has the sizes of its elements."""
    types = [np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.int32)]
    values = [v for v in g.values if v.dtype in types and v.rank]
    x = g.choose(values) if values else g.new(g.random.standard_normal(g.shape((1, 3))).astype(np.float32), (FLOATS[0], None, None))
    others = [v for v in g.values if v.dtype == x.dtype and v.rank == x.rank and v.shape[1:] == x.shape[1:]]
    items = [x] + [g.choose(others) for _ in range(g.integer(0, 3))]
    return g.node(*items, op="SequenceConstruct"), items


def position(g, i, count):
    g.bound = {}
    return g.given(i, np.array(g.integer(-count, count - 1), g.choose([np.int64, np.int32])), run_time=0.4)


@op("SequenceConstruct")
def sequence_construct(g):
    items = sequence(g)[0]
    g.begin("ConcatFromSequence")
    g.node(items, axis=0)


@op("ConcatFromSequence")
def concat_from_sequence(g):
    made, items = sequence(g)
    new = all(item.shape == items[0].shape for item in items) and g.chance(0.5)
    g.begin("ConcatFromSequence")
    g.node(made, axis=g.integer(0, items[0].rank) if new else 0, new_axis=int(new))


@op("SequenceAt")
def sequence_at(g):
    made, items = sequence(g)
    g.begin("SequenceAt")
    g.node(made, position(g, 1, len(items)))


@op("SequenceLength")
def sequence_length(g):
    made = sequence(g)[0]
    g.node(made, op="SequenceLength")


@op("SequenceInsert")
def sequence_insert(g):
    made, items = sequence(g)
    g.begin("SequenceInsert")
    longer = g.node(made, g.choose(items), position(g, 2, len(items)) if g.chance(0.6) else None)
    g.node(longer, op="ConcatFromSequence", axis=0)


@op("SequenceErase")
def sequence_erase(g):
    made, items = sequence(g)
    if len(items) < 2:
        raise Impossible("nothing would be left")
    g.begin("SequenceErase")
    shorter = g.node(made, position(g, 1, len(items)) if g.chance(0.6) else None)
    g.node(shorter, op="ConcatFromSequence", axis=0)


@op("SequenceEmpty")
def sequence_empty(g):
    items = sequence(g)[1]
    g.begin("SequenceEmpty")
    made = g.node(dtype=onnx_type(items[0].dtype))
    for item in items:
        made = g.node(made, item, op="SequenceInsert")
    g.node(made, op="ConcatFromSequence", axis=0)


@op("SplitToSequence")
def split_to_sequence(g):
    x = g.arg(0, rank=(1, 3), sizes=(1, None), types=[np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.int32)])
    axis = g.axis(x)
    length = g.given(1, np.array(g.integer(1, x.shape[axis]), np.int64)) if g.chance(0.6) else None
    made = g.node(x, length, axis=axis)
    if g.chance(0.5):
        g.node(made, op="ConcatFromSequence", axis=axis)
    else:
        g.begin("SequenceAt")
        g.node(made, position(g, 1, 1))


@op("SequenceMap")
def sequence_map(g):
    made, items = sequence(g)
    g.begin("SequenceMap")
    dtype, rank, name = items[0].dtype, items[0].rank, f"m{g.count}"
    body = helper.make_graph([helper.make_node(g.choose(["Abs", "Neg"]), [name + "x"], [name + "y"])], "body", [info(name + "x", dtype, rank)], [info(name + "y", dtype, rank)])
    g.node(g.node(made, body=body), op="ConcatFromSequence", axis=0)


@op("Optional")
def optional(g):
    value = g.choose([v for v in g.values if v.dtype in NUMBERS] or [g.new(np.float32([1, 2]), (FLOATS[0], None, None))])
    made = g.node(value)
    g.values = [v for v in g.values if v is not made]
    g.node(made, op="OptionalGetElement")


@op("OptionalHasElement")
def optional_has_element(g):
    if g.chance(0.5):
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        made = g.node(op="Optional", type=kind)
    else:
        made = g.node(g.choose([v for v in g.values if v.dtype in NUMBERS] or [g.new(np.float32([1, 2]), (FLOATS[0], None, None))]), op="Optional")
        g.values = [v for v in g.values if v is not made]
    g.node(made, op="OptionalHasElement")
