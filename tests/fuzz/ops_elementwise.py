"""Declarations of operators on single elements: what makes their operands legal."""
import numpy as np

from catalog import op
from values import BOOL, FLOATS, SIGNED, UNSIGNED, is_float, onnx_type


def broadcast(g, shape):
    """A shape that broadcasts to this one, or that both broadcast to another."""
    shape = tuple(1 if g.chance(0.2) else size for size in shape)
    return shape[g.integer(0, len(shape)):] if shape and g.chance(0.3) else shape


def unary(name, low=None, high=None, numbers=False, **chances):
    """An operator of one operand within bounds; `chances` make its attributes, where they are given at all."""

    @op(name)
    def declare(g):
        x = g.arg(0, low=low, high=high, numbers=numbers)
        g.node(x, **{key: make(g) for key, make in chances.items() if g.takes(key) and g.chance(0.6)})


def positive(g):
    return float(g.random.uniform(0.1, 2))


def real(g):
    return float(g.random.uniform(-2, 2))


for plain in ("Abs Atan Ceil Cos Erf Exp Floor HardSwish Identity IsNaN Mish Neg Not Reciprocal Relu Round Sigmoid Sign Sin Softplus Softsign Sqrt "
              "Tan Tanh Log BitwiseNot Asinh").split():
    unary(plain)
unary("Acos", -1, 1)
unary("Asin", -1, 1)
unary("Atanh", -0.999, 0.999)
unary("Acosh", 1, 50)
unary("Cosh", -20, 20)
unary("Sinh", -20, 20)
unary("Celu", alpha=positive)
unary("Elu", alpha=positive)
unary("Selu", alpha=positive, gamma=positive)
unary("LeakyRelu", alpha=real)
unary("HardSigmoid", alpha=real, beta=real)
unary("ThresholdedRelu", alpha=positive)
# A bias is added to integers as a float by some and as an integer by others, which shows where it leaves their range.
unary("Shrink", lambd=positive, bias=real, low=-100, high=100)
unary("Swish", alpha=real)
unary("Gelu", approximate=lambda g: g.choose(["none", "tanh"]))
unary("IsInf", detect_negative=lambda g: g.integer(0, 1), detect_positive=lambda g: g.integer(0, 1))


def binary(name, numbers=False, second=None):
    @op(name)
    def declare(g):
        a = g.arg(0, numbers=numbers)
        b = g.arg(1, shape=broadcast(g, a.shape), numbers=numbers, where=(lambda array: second(a.array, array)) if second else None)
        if g.takes("B") and g.chance(0.3) and second is None and g.formal(0).type_str == g.formal(1).type_str:
            a, b = b, a
        g.node(a, b)


for plain in "Add Sub Mul And Or Xor BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual".split():
    binary(plain)


def divides(a, b):
    # The smallest integer divided by -1 does not fit; nothing is divided by an integer 0.
    return is_float(b.dtype) or bool((b != 0).all() and (b.dtype.kind == "u" or not (b == -1).any() or (a != np.iinfo(a.dtype).min).all()))


binary("Div", second=divides)


@op("Mod")
def mod(g):
    a = g.arg(0)
    # Where the quotient nears an integer, or is large, the remainder hangs on its rounding.
    b = g.arg(1, shape=broadcast(g, a.shape), where=lambda b: divides(a.array, b) and (not is_float(b.dtype) or bool((np.abs(b) > 0.05).all())))
    # ONNX Runtime divides integers as doubles with fmod, which hold the smaller ones alone.
    exact = not is_float(a.dtype) and bool((np.abs(a.array.astype(np.float64)) <= 2**53).all())
    g.node(a, b, fmod=1 if is_float(a.dtype) or g.chance(0.4) and exact else None)


@op("Pow")
def power(g):
    x = g.arg(0, low=0.1, high=6)
    if is_float(x.dtype):
        y = g.arg(1, shape=broadcast(g, x.shape), low=-3, high=3)
    else:
        y = g.arg(1, shape=broadcast(g, x.shape), low=0, high=4, types=[x.dtype])
    g.node(x, y)


@op("BitShift")
def shift(g):
    a = g.arg(0)
    g.node(a, g.arg(1, shape=broadcast(g, a.shape), low=0, high=7), direction=g.choose(["LEFT", "RIGHT"]))


for several in ("Max", "Min", "Sum", "Mean"):

    @op(several)
    def variadic(g):
        first = g.arg(0, numbers=g.op in ("Max", "Min"))
        g.node(first, *(g.arg(0, shape=broadcast(g, first.shape), numbers=True) for _ in range(g.integer(0, 3))))


@op("Clip")
def clip(g):
    x = g.arg(0)
    bounds = sorted([g.integer(0, 5), g.integer(0, 5)]) if x.dtype.kind == "u" else sorted([g.integer(-4, 5), g.integer(-4, 5)])
    low, high = (g.given(i + 1, np.array(bound)) if g.chance(0.7) else None for i, bound in enumerate(bounds))
    g.node(x, low, high)


@op("Where")
def where(g):
    x = g.arg(1, numbers=False)
    g.node(g.arg(0, shape=broadcast(g, x.shape)), x, g.arg(2, shape=broadcast(g, x.shape), numbers=False))


@op("PRelu")
def prelu(g):
    x = g.arg(0)
    shape = tuple(1 if g.chance(0.3) else size for size in x.shape)
    g.node(x, g.arg(1, shape=shape[g.integer(0, len(shape)):] if shape else shape))


def fits_type(array, dtype):
    """Whether ONNX says what the elements are as elements of this type."""
    if not is_float(array.dtype) or is_float(dtype) or dtype == BOOL:
        return True
    info = np.iinfo(dtype)
    wide = array.astype(np.float64)
    # Rounding may carry a number over the border.
    return bool(np.isfinite(wide).all() and (wide > info.min - 0.9 if info.min else wide > -0.9).all() and (wide < float(info.max) * 0.999).all())


@op("Cast")
def cast(g):
    types = [t for t in (x.dtype for x in g.values)] + [FLOATS[0], SIGNED[0], *FLOATS, *g.types(0)]
    to = g.choose(types)
    x = g.arg(0, numbers=False, where=lambda a: fits_type(a, to))
    g.node(x, to=onnx_type(to))


@op("CastLike")
def cast_like(g):
    like = g.arg(1)
    g.node(g.arg(0, numbers=False, where=lambda a: fits_type(a, like.dtype)), like)


@op("Dropout")
def dropout(g):
    x = g.arg(0)
    ratio = g.given(1, np.array(0.4)) if g.takes("ratio") and len(g.schema.inputs) > 1 and g.chance(0.5) else None
    g.node(x, ratio, outputs=2, keep=[0] if g.chance(0.6) else [0, 1])


@op("BatchNormalization")
def batch_normalization(g):
    x = g.arg(0, rank=(2, 5))
    each = (x.shape[1],)
    g.node(x, g.arg(1, shape=each), g.arg(2, shape=each), g.arg(3, shape=each), g.arg(4, shape=each, low=0.2, high=3),
           epsilon=float(g.choose([1e-5, 1e-2])))


@op("SwiGLU")
def swiglu(g):
    a = g.arg(0)
    g.node(a, g.arg(1, shape=a.shape))


@op("BitCast")
def bit_cast(g):
    x = g.arg(0, where=lambda a: a.dtype != BOOL)
    g.node(x, to=onnx_type(g.choose([t for t in FLOATS + SIGNED + UNSIGNED if t.itemsize == x.dtype.itemsize])))
