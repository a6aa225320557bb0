"""How far results may differ from a reference's: one table, by family of operators and by type, in multiples of the type's epsilon.

An element may differ by  multiple * epsilon * (its own magnitude + the magnitudes beside it),  where the latter are the smallest of the largest
magnitudes of its row, its column, its channel (fathom.compare.tolerance): a large row does not hide errors of the others.
"""
import ml_dtypes
import numpy as np
from fathom.compare import tolerance

# From the tightest on. What is summed up in 32 bits and rounded once to a half type differs by one of its digits.
FAMILIES = {
    # What moves, compares, selects and counts.
    "exact": """Abs And ArgMax ArgMin BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil CenterCropPad Clip Compress Concat
        ConcatFromSequence Constant ConstantOfShape DepthToSpace Dropout Equal Expand EyeLike Flatten Floor Gather GatherElements GatherND GlobalMaxPool
        Greater GreaterOrEqual Hardmax Identity IsInf IsNaN Less LessOrEqual Max MaxPool MaxUnpool Min Neg NonZero Not OneHot Optional OptionalGetElement
        OptionalHasElement Or Pad ReduceMax ReduceMin Relu Reshape ReverseSequence Round Scatter SequenceAt SequenceConstruct SequenceEmpty SequenceErase
        SequenceInsert SequenceLength Shape Sign Size Slice SpaceToDepth Split SplitToSequence Squeeze TensorScatter Tile TopK Transpose Trilu Unique
        Unsqueeze Where Xor""",
    # One rounding, or a few, between which numbers may cancel.
    "arithmetic": "Add Sub Mul Div Mod PRelu LeakyRelu Reciprocal Sqrt ThresholdedRelu Range",
    # Functions, sums, normalisations, pools, recurrent cells: all that is not named elsewhere.
    "sum": None,
    # Some of these one behind the other.
    "chain": "Attention MultiHeadAttention GroupQueryAttention",
    # Sums of products that may cancel; pixels between others, whose places are rounded before.
    "product": "MatMul Gemm Einsum MatMulInteger QLinearMatMul FusedMatMul Resize Upsample GridSample RoiAlign AffineGrid",
    # The same in tiles, whose errors are of the tile's largest element, and many one behind another.
    "convolution": "Conv ConvTranspose ConvInteger QLinearConv DeformConv",
    # Whole networks.
    "network": "",
    # Beside a reference that rounds each of several steps to a half type.
    "steps": "",
    # Beside slopes by differences of a function, which have the first digits alone; and beside differences of such slopes.
    "slope": "",
    "curvature": "",
    # What is rounded to 8 bits on the way: a number between two may fall to either side.
    "bytes": "",
}
ORDER = list(FAMILIES)
FAMILY = {op: family for family, names in FAMILIES.items() for op in (names or "").split()}

MULTIPLES = {
    #              float32  float64  float16  bfloat16
    "exact":       (0,      0,       0,       0),
    "arithmetic":  (40,     40,      0.5,     0.5),
    "sum":         (64,     64,      0.5,     0.5),
    "chain":       (72,     72,      0.5,     0.5),
    "product":     (80,     80,      0.5,     0.5),
    "convolution": (160,    160,     0.5,     0.5),
    "network":     (838,    838,     0.5,     0.5),
    "steps":       (838,    838,     1,       1),
    "slope":       (2**9,   2**32,   0.5,     0.5),
    "curvature":   (2**9,   2**36,   0.5,     0.5),
    "bytes":       (2**19,  2**36,   0.5,     0.5),
}
# In a network, an element is computed from others that are as large as itself many times over: its own magnitude counts more.
OWN = {"network": 10}
TYPES = ("float32", "float64", "float16", "bfloat16")


def is_float(dtype):
    return np.dtype(dtype).name in TYPES


def operators(graph):
    """The types of all nodes, also of those in branches and loops."""
    for node in graph.node:
        if not any(attribute.HasField("g") for attribute in node.attribute):
            yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from operators(attribute.g)


def family_of(proto, most=ORDER[-1]):
    """That of the operator which may differ most, or `most` where that is tighter."""
    graphs = (proto.graph, *proto.functions)
    found = {FAMILY.get(op, "sum") for graph in graphs for op in operators(graph)}
    return ORDER[min(ORDER.index(most), max((ORDER.index(family) for family in found), default=0))]


def allowed(magnitude, family, dtype, data=0.0):
    """How far elements may be from ones of these (finite) magnitudes. Of 32-bit floats they may be as far as sums of numbers of the magnitude `data`
    are that cancel."""
    dtype = np.dtype(dtype)
    if not is_float(dtype):
        return np.zeros(np.shape(magnitude))
    part = MULTIPLES[family][TYPES.index(dtype.name)] * float(ml_dtypes.finfo(dtype).eps)
    least = part * data if dtype.itemsize >= 4 else 0
    return np.maximum(tolerance(np.asarray(magnitude, np.float64), OWN.get(family, 1) * part, part), least)
