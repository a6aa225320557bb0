"""Declarations of operators that move elements, and of shape arithmetic."""
import numpy as np

from builder import initializer
from catalog import op
from reference import Impossible
from values import ALL_TYPES, BFLOAT16, is_float, onnx_type, random_array

# The evaluator has no constants of the other.
FILLS = [t for t in ALL_TYPES if t != BFLOAT16]


@op("Transpose")
def transpose(g):
    x = g.arg(0, rank=(0, 5), numbers=False)
    g.node(x, perm=g.random.permutation(x.rank).tolist() if x.rank and g.chance(0.8) else None)


def factors(g, count):
    """Sizes whose product is this."""
    sizes = []
    while count > 1 and len(sizes) < 4:
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        sizes.append(g.choose(divisors))
        count //= sizes[-1]
    return sizes + [count] if count > 1 or g.chance(0.3) else sizes


@op("Reshape", 2)
def reshape(g):
    x = g.arg(0, numbers=False)
    if x.array.size == 0:
        sizes = [0, *g.shape((0, 2), low=1)] if g.chance(0.5) else list(x.shape)
        g.node(x, g.given(1, np.array(sizes, np.int64)), allowzero=1 if g.takes("allowzero") else None)
        return
    sizes = factors(g, x.array.size)
    if sizes and g.chance(0.4):
        sizes[g.integer(0, len(sizes) - 1)] = -1
    for k in range(min(len(sizes), x.rank)):
        if sizes[k] == x.shape[k] and g.chance(0.5):
            sizes[k] = 0
    g.node(x, g.given(1, np.array(sizes, np.int64)))


@op("Flatten")
def flatten(g):
    x = g.arg(0, numbers=False)
    g.node(x, axis=g.integer(-x.rank, x.rank))


@op("Squeeze")
def squeeze(g):
    x = g.arg(0, numbers=False, where=lambda a: 1 in a.shape)
    # Some squeeze everything where the list is empty, some nothing.
    ones = [k for k in range(x.rank) if x.shape[k] == 1]
    axes = [k for k in ones if g.chance(0.7)] or ones[:1]
    given_or_attribute(g, x, axes, run_time=0)


@op("Unsqueeze")
def unsqueeze(g):
    x = g.arg(0, numbers=False, rank=(0, 3))
    given_or_attribute(g, x, g.axes(x.rank + g.integer(1, 2), least=1)[: 4 - x.rank] or [0], run_time=0)


def given_or_attribute(g, x, axes, run_time=None, **attributes):
    """Axes are an operand in newer operator sets."""
    if len(g.schema.inputs) > 1:
        return g.node(x, g.given(1, np.array(axes, np.int64), run_time=run_time), **attributes)
    return g.node(x, axes=axes, **attributes)


@op("Expand")
def expand(g):
    x = g.arg(0, numbers=False, rank=(0, 3))
    target = [g.size(1, 7) if size == 1 and g.chance(0.7) else size for size in x.shape]
    target = [1 if g.chance(0.2) else size for size in target]
    target = [g.size(1, 5)] * (g.integer(0, 1)) + target
    g.node(x, g.given(1, np.array(target, np.int64)))


@op("Tile")
def tile(g):
    x = g.arg(0, numbers=False)
    g.node(x, g.given(1, np.array([g.choose([1, 1, 2, 3, 0] if g.empty else [1, 1, 2, 3]) for _ in x.shape], np.int64)))


@op("Concat", 2)
def concat(g):
    x = g.arg(0, numbers=False, rank=(1, 4))
    axis = g.axis(x)

    def other():
        shape = list(x.shape)
        shape[axis] = g.size()
        return g.arg(0, shape=shape, numbers=False)

    operands = [x] + [x if g.chance(0.15) else other() for _ in range(g.integer(0, 3))]
    g.node(*(operands[k] for k in g.random.permutation(len(operands))), axis=axis)


@op("Split", 2)
def split(g):
    x = g.arg(0, numbers=False, rank=(1, 4), sizes=(1, None))
    axis = g.axis(x)
    size = x.shape[axis]
    count = g.integer(1, min(size, 4)) if size else 1
    if g.takes("num_outputs") and g.chance(0.4):
        # The last part is smaller where they do not divide evenly, and there must be one.
        if -(-size // count) * (count - 1) >= size:
            raise Impossible("no last part")
        g.node(x, axis=axis, outputs=count, num_outputs=count)
        return
    cuts = sorted(g.integer(0, size) for _ in range(count - 1))
    parts = np.diff([0, *cuts, size]).astype(np.int64)
    if len(g.schema.inputs) > 1:
        g.node(x, g.given(1, parts), axis=axis, outputs=count)
    else:
        g.node(x, axis=axis, split=parts.tolist(), outputs=count)


@op("Slice", 2)
def slice_(g):
    x = g.arg(0, numbers=False, rank=(1, 4))
    axes = g.axes(x, least=1)
    starts, ends, steps = [], [], []
    for axis in axes:
        size = x.shape[axis]
        steps.append(g.choose([1, 1, 1, 2, 3, -1, -2]))
        low, high = sorted([g.integer(-1, size + 1), g.integer(-1, size + 1)])
        start, end = (low, high) if steps[-1] > 0 else (high, low - 1)
        end = g.choose([end, 2**31 - 1 if steps[-1] > 0 else -(2**31)]) if g.chance(0.3) else end
        starts.append(start - size if g.chance(0.2) and 0 <= start < size else start)
        ends.append(end)
    if len(g.schema.inputs) < 5:
        raise Impossible("an old form")
    dtype = g.choose([np.int64, np.int32])
    operands = [g.given(k + 1, np.array(numbers, dtype), dtype) for k, numbers in enumerate((starts, ends, axes, steps))]
    g.node(x, *operands[:3], operands[3] if any(s != 1 for s in steps) or g.chance(0.5) else None)


@op("Pad")
def pad(g):
    mode = g.choose(["constant"] * 3 + ["reflect", "edge", "wrap"])
    if mode == "wrap" and g.opset < 19 or len(g.schema.inputs) < 2:
        mode = "constant"
    x = g.arg(0, numbers=False, rank=(1, 4), sizes=(1, None))
    if mode == "constant":
        pads = [g.integer(-(size - 1) // 2 if g.chance(0.2) else 0, 3) for size in [*x.shape, *x.shape]]
    else:
        pads = [g.integer(0, min(2, size - 1 if mode == "reflect" else size)) for size in [*x.shape, *x.shape]]
    fill = g.given(2, random_array(g.random, x.dtype, ())) if mode == "constant" and g.chance(0.6) else None
    axes = None
    if g.takes("axes") and g.chance(0.3):
        axes = g.axes(x, least=1)
        pads = [pads[axis] for axis in axes] + [pads[axis + (x.rank if axis >= 0 else 0)] for axis in axes]
        axes = g.given(3, np.array(axes, np.int64))
    g.node(x, g.given(1, np.array(pads, np.int64)), fill, axes, mode=mode)


@op("Shape", 2)
def shape(g):
    x = g.arg(0, numbers=False)
    rank = x.rank
    bounds = {"start": g.integer(-rank - 1, rank), "end": g.integer(-rank - 1, rank)} if g.takes("start") and g.chance(0.4) else {}
    g.node(x, **bounds)


@op("Size")
def size(g):
    g.node(g.arg(0, numbers=False))


@op("ConstantOfShape")
def constant_of_shape(g):
    fill = initializer("value", random_array(g.random, g.pick_type([t for t in FILLS if t.itemsize > 1 or g.chance(0.5)]), (1,)))
    # A computed shape where the graph has one.
    shapes = [v for v in g.values if v.dtype == np.int64 and v.rank == 1 and len(v.array) <= 4 and (v.array >= 0).all() and v.array.prod() <= 600]
    x = g.choose(shapes) if shapes and g.chance(0.6) else g.given(0, np.array(g.shape((0, 3)), np.int64))
    g.node(x, value=fill if g.chance(0.8) else None)


@op("DepthToSpace")
def depth_to_space(g):
    block = g.choose([1, 2, 2, 3])
    x = g.arg(0, rank=4, shape=(g.size(1, 3), block * block * g.size(1, 3), g.size(1, 5), g.size(1, 5)), numbers=False)
    g.node(x, blocksize=block, mode=g.choose(["DCR", "CRD"]))


@op("SpaceToDepth")
def space_to_depth(g):
    block = g.choose([1, 2, 2, 3])
    g.node(g.arg(0, rank=4, shape=(g.size(1, 3), g.size(1, 5), block * g.size(1, 5), block * g.size(1, 5)), numbers=False), blocksize=block)


@op("Trilu")
def trilu(g):
    x = g.arg(0, rank=(2, 4), numbers=False)
    k = g.given(1, np.array(g.integer(-4, 4), np.int64)) if g.chance(0.7) else None
    g.node(x, k, upper=g.integer(0, 1) if g.chance(0.7) else None)


@op("EyeLike")
def eye_like(g):
    x = g.arg(0, rank=2, numbers=False)
    g.node(x, k=g.integer(-3, 3) if g.chance(0.6) else None, dtype=onnx_type(g.choose([t for t in g.types(0)])) if g.chance(0.4) else None)


@op("CenterCropPad")
def center_crop_pad(g):
    x = g.arg(0, rank=(1, 4), numbers=False)
    axes = g.axes(x, least=1) if g.chance(0.6) else None
    count = len(axes) if axes else x.rank
    g.node(x, g.given(1, np.array([g.size(1, 9) for _ in range(count)], g.choose([np.int64, np.int32]))), axes=axes)


@op("ReverseSequence")
def reverse_sequence(g):
    x = g.arg(0, rank=(2, 4), sizes=(1, None), numbers=False)
    batch = g.integer(0, 1)
    lengths = np.array([g.integer(1, x.shape[1 - batch]) for _ in range(x.shape[batch])], np.int64)
    g.node(x, g.given(1, lengths, run_time=0.6), batch_axis=batch, time_axis=1 - batch)


@op("Range")
def range_(g):
    dtype = g.pick_type([t for t in g.types(0)])
    step = g.choose([1, 2, -1, 3, 0.5] if is_float(dtype) else [1, 2, -1, 3])
    start = g.integer(-5, 5)
    end = start + step * g.integer(0 if g.empty else 1, 12)
    g.node(*(g.given(k, np.array(number, dtype), dtype) for k, number in enumerate((start, end, step))))


@op("Constant")
def constant(g):
    array = random_array(g.random, g.pick_type(FILLS), g.shape((0, 3)))
    kind = g.integer(0, 4) if g.opset >= 12 else 0
    forms = [{"value": initializer("value", array)}, {"value_float": 1.25}, {"value_floats": [0.5, -2.0, 3.0]}, {"value_int": 3}, {"value_ints": [2, -1, 0]}]
    g.node(**forms[kind])
