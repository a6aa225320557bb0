"""Declarations of operators whose indices, positions or sizes data decides."""
import numpy as np

from catalog import op
from reference import Impossible
from values import FLOATS, is_float, random_array


@op("Gather", 2)
def gather(g):
    x = g.arg(0, rank=(1, 4), numbers=False)
    axis = g.axis(x)
    g.node(x, g.index(1, g.shape((0, 2), high=7), x.shape[axis]), axis=axis if g.chance(0.8) or axis not in (0, -x.rank) else None)


@op("GatherElements")
def gather_elements(g):
    x = g.arg(0, rank=(1, 4), numbers=False)
    axis = g.axis(x)
    shape = [g.integer(min(1, size), size) for size in x.shape]
    shape[axis] = g.size(high=9)
    g.node(x, g.index(1, shape, x.shape[axis]), axis=axis)


def tuples(g, i, lead, sizes, distinct=False):
    """Rows of indices into the first dimensions of these sizes."""
    count = int(np.prod(lead, dtype=object))
    if distinct:
        places = int(np.prod(sizes, dtype=object))
        if places < count:
            raise Impossible("not so many places")
        flat = g.random.permutation(places)[:count]
        array = np.stack(np.unravel_index(flat, sizes), -1) if sizes else np.zeros((count, 0))
    else:
        if count and 0 in sizes:
            raise Impossible("nothing to index")
        array = np.stack([g.random.integers(0, max(s, 1), count) for s in sizes], -1) if sizes else np.zeros((count, 0))
    return g.given(i, array.reshape(*lead, len(sizes)).astype(np.int64), np.int64, run_time=0.6)


@op("GatherND")
def gather_nd(g):
    x = g.arg(0, rank=(1, 4), numbers=False)
    batch = g.integer(0, x.rank - 1) if g.chance(0.4) else 0
    depth = g.integer(1, x.rank - batch)
    lead = (*x.shape[:batch], *g.shape((0 if batch else 1, 2), high=5))
    g.node(x, tuples(g, 1, lead, x.shape[batch:batch + depth]), batch_dims=batch or None)


def reduction(g, x):
    """A reduction that this operator set has for the type. A product of several narrow floats overflows on the way or not, depending on the order."""
    kinds = ["none"]
    if x.dtype.kind != "b" and g.opset >= 16:
        kinds += ["add"] if is_float(x.dtype) and x.dtype.itemsize < 4 else ["add", "mul"]
    if x.dtype.kind != "b" and g.opset >= 18:
        kinds += ["max", "min"]
    return g.choose(kinds)


@op("ScatterElements")
def scatter_elements(g):
    x = g.arg(0, rank=(1, 3))
    axis, kind = g.axis(x), reduction(g, x)
    shape = [g.integer(min(1, size), size) for size in x.shape]
    if kind == "none" or not is_float(x.dtype):
        # Which of two writes to one place comes last is not said.
        index = np.argsort(g.random.random(x.shape), axis)
        index = index[tuple(slice(0, size) for size in shape)]
    else:
        if x.shape[axis] == 0:
            raise Impossible("nothing to index")
        index = g.random.integers(0, x.shape[axis], shape)
    indices = g.given(1, index.astype(np.int64), np.int64, run_time=0.6)
    g.node(x, indices, g.arg(2, shape=index.shape), axis=axis, reduction=kind if g.takes("reduction") else None)


@op("ScatterND")
def scatter_nd(g):
    x = g.arg(0, rank=(1, 4))
    depth, kind = g.integer(1, x.rank), reduction(g, x)
    lead = g.shape((1, 2), high=4)
    indices = tuples(g, 1, lead, x.shape[:depth], distinct=kind == "none")
    g.node(x, indices, g.arg(2, shape=(*lead, *x.shape[depth:])), reduction=kind if g.takes("reduction") else None)


@op("TensorScatter")
def tensor_scatter(g):
    x = g.arg(0, rank=(3, 4), sizes=(1, None))
    axis = g.integer(1, x.rank - 1)
    shape = list(x.shape)
    shape[axis] = g.integer(1, x.shape[axis])
    mode = g.choose(["linear", "circular"])
    last = x.shape[axis] - (shape[axis] if mode == "linear" else 1)
    starts = np.array([g.integer(0, last) for _ in range(x.shape[0])], np.int64)
    g.node(x, g.arg(1, shape=shape), g.given(2, starts, run_time=0.6) if g.chance(0.8) else None, axis=axis, mode=mode)


@op("OneHot")
def one_hot(g):
    depth = g.integer(1, 7)
    indices = g.arg(0, rank=(0, 3), low=-depth, high=depth - 1, types=[np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8)])
    axis = g.integer(-indices.rank - 1, indices.rank)
    values = g.given(2, random_array(g.random, g.pick_type(g.types(2)), (2,)), run_time=0.3)
    g.node(indices, g.given(1, np.array(depth if g.chance(0.5) else [depth], np.int64), np.int64), values, axis=axis)


@op("TopK")
def top_k(g):
    # Which of equal elements come is said, where NaN stands is not.
    x = g.arg(0, rank=(1, 4), sizes=(1, None))
    axis = g.axis(x)
    g.node(x, g.given(1, np.array([g.integer(0 if g.empty else 1, x.shape[axis])], np.int64)), axis=axis, outputs=2,
           largest=g.integer(0, 1), keep=g.choose([[0, 1], [0], [1]]))


@op("NonZero")
def non_zero(g):
    g.node(g.arg(0, rank=(1, 4)))


@op("Compress")
def compress(g):
    x = g.arg(0, rank=(1, 4), numbers=False)
    axis = g.axis(x) if g.chance(0.7) else None
    length = x.array.size if axis is None else x.shape[axis]
    mask = g.random.integers(0, 2, g.integer(min(1, length), length)).astype(bool)
    g.node(x, g.given(1, mask, run_time=0.7), axis=axis)


@op("Unique")
def unique(g):
    x = g.arg(0, rank=(1, 3), sizes=(1, None))
    g.node(x, axis=g.axis(x) if g.chance(0.4) else None, sorted=1, outputs=4, keep=g.choose([[0], [0, 1, 2, 3], [0, 2], [1], [0, 3]]))


@op("NonMaxSuppression")
def non_max_suppression(g):
    batch, boxes, classes = g.integer(1, 2), g.integer(1, 9), g.integer(1, 3)
    corners = g.random.uniform(0, 4, (batch, boxes, 4)).astype(np.float32)
    scores = g.random.permutation(batch * classes * boxes).reshape(batch, classes, boxes).astype(np.float32) / 8
    g.node(g.given(0, corners, run_time=1), g.given(1, scores, run_time=1), g.given(2, np.array(g.integer(0, 5), np.int64)) if g.chance(0.8) else None,
           g.given(3, np.array([g.random.uniform(0, 1)], np.float32)) if g.chance(0.7) else None,
           g.given(4, np.array([g.random.uniform(0, 2)], np.float32)) if g.chance(0.4) else None, center_point_box=g.integer(0, 1))


@op("MaxUnpool")
def max_unpool(g):
    x = g.arg(0, rank=4, shape=(g.integer(1, 2), g.integer(1, 3), 2 * g.size(1, 4), 2 * g.size(1, 4)), types=FLOATS[:1])
    pooled, places = g.node(x, op="MaxPool", kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    g.node(pooled, places, kernel_shape=[2, 2], strides=[2, 2])


@op("CumSum")
def cum_sum(g):
    accumulate(g)


@op("CumProd")
def cum_prod(g):
    # A product that has left the range of 16 bits does not come back to it, unless it is kept in another type.
    accumulate(g, where=lambda x: x.dtype != np.float16 or bool(np.prod(np.maximum(np.abs(x.astype(np.float64)), 1)) < 1e4))


def accumulate(g, where=None):
    x = g.arg(0, rank=(1, 4), where=where)
    axis = g.given(1, np.array(g.axis(x), g.choose([np.int64, np.int32])))
    g.node(x, axis, exclusive=g.integer(0, 1), reverse=g.integer(0, 1))
