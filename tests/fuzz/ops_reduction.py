"""Declarations of reductions and of what normalises along axes."""
import numpy as np

from catalog import op



def reduces(name, **bounds):
    @op(name)
    def declare(g):
        x = g.arg(0, rank=(0, 4), **bounds)
        attributes = {"keepdims": g.integer(0, 1)} if g.chance(0.7) else {}
        axes = g.axes(x)
        if g.takes("noop_with_empty_axes") and g.chance(0.2):
            attributes["noop_with_empty_axes"] = g.integer(0, 1)
        if g.chance(0.2) or not axes and len(g.schema.inputs) < 2:
            g.node(x, **attributes)
        elif len(g.schema.inputs) > 1:
            g.node(x, g.given(1, np.array(axes, np.int64)), **attributes)
        else:
            g.node(x, axes=axes, **attributes)


def small(array):
    """Whether sums and products do not overflow: ONNX does not say what integers do then."""
    return array.dtype.kind not in "iu" or bool((np.abs(array.astype(np.float64)) < 2 ** (4 * array.dtype.itemsize - 1)).all())


def small_product(array):
    """Whether the product of all elements does not overflow, either."""
    return array.dtype.kind not in "iu" or bool(np.log2(np.maximum(np.abs(array.astype(np.float64)), 1)).sum() < 8 * array.dtype.itemsize - 1)


def has_elements(array):
    return array.size > 0


for plain in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"):
    reduces(plain, where=small)
# The product of many elements leaves every type's range.
reduces("ReduceProd", low=0, high=3, where=small_product)
reduces("ReduceLogSum", low=0.1)
# Nothing has no mean, and ONNX Runtime no largest element of nothing. ONNX's evaluator sums up unsigned integers in their own type.
reduces("ReduceMean", where=lambda array: has_elements(array) and (array.dtype.itemsize < 4 or small(array)))
for plain in ("ReduceMax", "ReduceMin"):
    reduces(plain, where=has_elements)

for name in ("ArgMax", "ArgMin"):

    @op(name)
    def arg_extreme(g):
        x = g.arg(0, rank=(1, 4), sizes=(1, None))
        g.node(x, axis=g.axis(x), keepdims=g.integer(0, 1), select_last_index=g.integer(0, 1) if g.chance(0.5) else None)


for name in ("Softmax", "LogSoftmax", "Hardmax"):

    @op(name)
    def softmax(g):
        x = g.arg(0, rank=(1, 4), sizes=(1, None))
        g.node(x, axis=g.axis(x) if g.chance(0.8) else None)


@op("LpNormalization")
def lp_normalization(g):
    x = g.arg(0, rank=(1, 4), low=0.1, high=9)
    g.node(x, axis=g.axis(x), p=g.integer(1, 2))


@op("LayerNormalization")
def layer_normalization(g):
    x = g.arg(0, rank=(1, 4), sizes=(1, None))
    axis = g.axis(x)
    inner = x.shape[axis:]
    # With one element there is no variance, and a difference of rounding is divided by the root of epsilon.
    g.node(x, g.arg(1, shape=inner), g.arg(2, shape=inner) if g.chance(0.7) else None, axis=axis, epsilon=float(g.choose([1e-5, 1e-2])))


@op("RMSNormalization")
def rms_normalization(g):
    x = g.arg(0, rank=(1, 4), sizes=(1, None))
    axis = g.axis(x)
    g.node(x, g.arg(1, shape=x.shape[axis:], types=[x.dtype]), axis=axis)


@op("InstanceNormalization")
def instance_normalization(g):
    x = g.arg(0, rank=(3, 5), sizes=(1, None))
    g.node(x, g.arg(1, shape=(x.shape[1],)), g.arg(2, shape=(x.shape[1],)), epsilon=float(g.choose([1e-5, 1e-2])))


@op("GroupNormalization")
def group_normalization(g):
    groups = g.integer(1, 3)
    channels = groups * g.integer(1, 3)
    x = g.arg(0, shape=(g.size(1, 3), channels, *g.shape((1, 2), low=1, high=7)))
    each = (channels if g.opset >= 21 else groups,)
    g.node(x, g.arg(1, shape=each), g.arg(2, shape=each), num_groups=groups)


@op("MeanVarianceNormalization")
def mean_variance_normalization(g):
    axes = g.choose([[0, 2, 3], [0, 1, 2, 3], [2, 3]]) if g.chance(0.7) else None

    def varies(array):
        # Equal elements are divided by a small number here and by 0 there; the references' variance is a difference of squares' means, of which
        # little is left where the elements are large, and which can be negative in 16 bits.
        axis = tuple(axes or [0, 2, 3])
        return array.size > 0 and array.itemsize > 2 and bool((array.var(axis=axis) > 1e-3 * np.maximum(1, np.square(array).mean(axis=axis))).all())

    g.node(g.arg(0, rank=4, sizes=(1, None), where=varies), axes=axes)


@op("LRN")
def lrn(g):
    x = g.arg(0, rank=4, sizes=(1, None))
    g.node(x, size=g.choose([1, 3, 5]), alpha=0.05, beta=0.75, bias=float(g.choose([1.0, 2.0])))


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(g):
    loss(g, numbers_low=-9)


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(g):
    loss(g)


def loss(g, numbers_low=None):
    classes = g.integer(1, 5)
    x = g.arg(0, shape=(g.size(1, 5), classes, *g.shape((0, 2), low=1, high=4)))
    target = g.index(1, (x.shape[0], *x.shape[2:]), classes, negative=False)
    weight = g.arg(2, shape=(classes,), low=0.2, high=2) if g.chance(0.5) else None
    g.node(x, target, weight, reduction=g.choose(["mean", "sum", "none"]), ignore_index=g.integer(0, classes - 1) if g.chance(0.3) and classes > 1 else None)


@op("Det")
def determinant(g):
    n = g.integer(1, 4)
    g.node(g.arg(0, shape=(*g.shape((0, 2), low=1, high=3), n, n)))



