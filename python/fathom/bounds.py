"""How far a model's values may be from a reference's, by the types that they are rounded to and how often they are."""

from __future__ import annotations

import math

from .reference import import_onnx

# The distance of neighbours beside 1, of the types that results are rounded to. What is wider is computed exactly beside them.
EPSILON = {"FLOAT": 2.0**-23, "FLOAT16": 2.0**-10, "BFLOAT16": 2.0**-7, "DOUBLE": 2.0**-52}
EPSILON |= {"FLOAT8E4M3FN": 2.0**-3, "FLOAT8E4M3FNUZ": 2.0**-3, "FLOAT8E5M2": 2.0**-2, "FLOAT8E5M2FNUZ": 2.0**-2}
# Levels of a quantised number.
LEVELS = {"UINT8": 255, "INT8": 255, "UINT16": 65535, "INT16": 65535, "UINT4": 15, "INT4": 15, "UINT2": 3, "INT2": 3}
LEVELS |= {"FLOAT4E2M1": 8}

PRODUCTS = ("Conv", "ConvTranspose", "MatMul", "Gemm", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul")
RECURRENT = ("LSTM", "GRU", "RNN")
# What multiplies has the errors of both factors.
FACTORS = (*PRODUCTS, "Mul", "Div", "Einsum", "Attention", "Pow")
SUMS = ("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "CumSum")
SUMS += ("AveragePool", "GlobalAveragePool", "LRN", "RMSNormalization", "LpNormalization", "MeanVarianceNormalization")
ROUNDS_TO_LEVELS = ("QuantizeLinear", "DynamicQuantizeLinear")  # and QLinear..., of whichever domain
# What moves elements or selects among them rounds nothing.
MOVES = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Concat", "Slice", "Gather", "GatherND", "Identity"}
MOVES |= {"GatherElements", "Split", "Expand", "Tile", "Pad", "MaxPool", "GlobalMaxPool", "Relu", "Max", "Min", "Clip"}
MOVES |= {"Where", "DepthToSpace", "SpaceToDepth", "Neg", "Abs", "ReduceMax", "ReduceMin", "ScatterND", "Dropout"}
MOVES |= {"ScatterElements", "Sign", "Floor", "Ceil", "Round", "ReverseSequence", "Constant", "MatMulInteger", "ConvInteger"}

# A product or sum of which nothing is known, a math function of --fp fast (in units in the last place), and what Winograd's
# tiles lose beside plain sums.
UNKNOWN_SUM, FUNCTION, WINOGRAD = 1024, 4, 16
# Roundings go either way: sums of K numbers have the errors of sqrt(K), and this many deviations are allowed.
SLACK = 4


class Bounds:
    """`of(name)`: how far a value may be off, relative to the magnitudes beside it; 0 where it is exact."""

    def __init__(self, proto, types: dict, is_strict: bool):
        self._onnx = import_onnx()
        self._types = types
        self._strict = is_strict
        self._weights = {tensor.name: tuple(tensor.dims) for tensor in proto.graph.initializer}
        self._errors: dict[str, float] = {}
        for node in proto.graph.node:
            self._visit(node)

    def of(self, name: str) -> float:
        return SLACK * self._errors.get(name, 0.0)

    def levels(self, name: str) -> int:
        """How many numbers apart a quantised value may be; 0 where integers are exact."""
        count = LEVELS.get(self._type(name), 0)
        error = self._errors.get(name, 0.0)
        return max(1, math.ceil(error * count)) if count and error else 0

    def _visit(self, node) -> None:
        given = [self._errors.get(name, 0.0) for name in node.input if name]
        error = sum(given) if node.op_type in FACTORS else max(given, default=0.0)
        for name in filter(None, node.output):
            # In strict mode a number is what the reference rounds to, as all that it is made of is.
            is_exact = self._strict and self._type(name) in LEVELS
            self._errors[name] = 0.0 if is_exact else error + self._own(node, name)

    def _own(self, node, output: str) -> float:
        """What the node itself adds."""
        kind = self._type(output)
        if kind in LEVELS and (node.op_type in ROUNDS_TO_LEVELS or node.op_type.startswith("QLinear")):
            # A number between two levels goes to either where it is off by anything at all.
            return 1 / LEVELS[kind]
        if kind not in EPSILON or node.op_type in MOVES:
            return 0.0
        return EPSILON[kind] * self._roundings(node)

    def _roundings(self, node) -> float:
        kind = node.op_type
        if inner := sum(len(a.g.node) for a in node.attribute if a.HasField("g")):
            return FUNCTION * inner * math.sqrt(UNKNOWN_SUM)
        if kind in PRODUCTS or kind == "Einsum" or "Attention" in kind or kind in RECURRENT:
            count = math.sqrt(self._summed(node))
            if kind == "Conv" and not self._strict:
                count *= WINOGRAD
            return count * (self._size(node.input[0], 0) if kind in RECURRENT else 1)
        if kind in SUMS or (kind.startswith("Reduce") and kind not in MOVES):
            return FUNCTION + math.sqrt(self._size(node.input[0], -1) if kind in ("Softmax", "LogSoftmax") else UNKNOWN_SUM)
        return 1 if kind in ("Add", "Sub", "Mul", "Div", "Sqrt", "Cast", "DequantizeLinear", "Sum", "Mean") else FUNCTION

    def _summed(self, node) -> int:
        """How many products an element of the result is the sum of."""
        kind = node.op_type
        where = {"QLinearConv": 3, "QLinearMatMul": 3}.get(kind, 1)
        shape = self._shape(node.input[where]) if len(node.input) > where else None
        if not shape:
            return UNKNOWN_SUM
        if kind in ("Conv", "ConvInteger", "QLinearConv"):
            sizes = shape[1:]
        elif kind == "ConvTranspose":
            sizes = (shape[0], *shape[2:])
        elif kind == "Gemm":
            transposed = any(a.name == "transB" and a.i for a in node.attribute)
            sizes = (shape[1 if transposed else 0],)
        elif kind in ("MatMul", "MatMulInteger", "QLinearMatMul"):
            sizes = (shape[-2] if len(shape) > 1 else shape[0],)
        else:
            sizes = (shape[-1],)
        return math.prod(size or UNKNOWN_SUM for size in sizes)

    def _shape(self, name: str) -> tuple | None:
        if name in self._weights:
            return self._weights[name]
        declared = self._types.get(name)
        if declared is None or not declared.tensor_type.HasField("shape"):
            return None
        return tuple(dim.dim_value for dim in declared.tensor_type.shape.dim)

    def _size(self, name: str, axis: int) -> int:
        shape = self._shape(name)
        return (shape[axis] or UNKNOWN_SUM) if shape and -len(shape) <= axis < len(shape) else UNKNOWN_SUM

    def _type(self, name: str) -> str:
        declared = self._types.get(name)
        if declared is None:
            return ""
        return self._onnx.TensorProto.DataType.Name(declared.tensor_type.elem_type)
