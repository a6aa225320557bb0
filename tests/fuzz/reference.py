"""What a model means: its nodes one after the other, each by ONNX Runtime, or by ONNX's reference evaluator where that has no such operator or type.

Half-precision floats are computed in float32 and rounded after every node. A run can disturb the operands and results of every node by as much as
an implementation may differ there (FAMILIES): many such runs tell what a graph makes of rounding, and which of its comparisons and
indices hang on it."""
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # scripts come here, too
from support import tolerances

from contradictions import BY_NUMPY, runtime_is_wrong
from values import BFLOAT16, HALVES, epsilon, is_float, numpy_type, onnx_type


class Impossible(Exception):
    """No reference computes this."""


class Sequence(list):
    """A sequence of tensors; an empty one has a type, too."""

    def __init__(self, items, dtype):
        super().__init__(items)
        self.dtype = dtype


class Rounding(NamedTuple):
    """By how many epsilons a right implementation may differ in a node: of each of its operands, of each element of its result, of the result's
    largest element, and of 1."""

    operands: float = 0
    result: float = 0
    largest: float = 0
    one: float = 0


EXACT = Rounding()
ARITHMETIC = Rounding(result=1)
FUNCTION = Rounding(operands=1, result=6)
# Computed as a difference of numbers near 1 and more, as `1 + erf(x)` or `e^x - 1`; ONNX Runtime's Sigmoid is right to so much of 1 only.
DIFFERENCE = Rounding(operands=2, result=6, one=8)
# What sums up cancels among its operands.
SUM = Rounding(operands=6, result=6)
# Logarithms of sums are near 0 where the sum is near 1.
LOGARITHM = Rounding(operands=6, result=6, one=8)
# Windows are differences of numbers below 1, whose ends are near 0: a short one has nothing else.
WINDOW = Rounding(result=6, one=2)
# Tables of sines, transforms, convolutions in tiles, weights of pixels.
LARGEST = Rounding(operands=6, result=6, largest=6)
# Gates are numbers up to 1, which ONNX Runtime cuts off near zero: a state that one nearly closes is nothing there.
GATES = Rounding(operands=6, result=6, largest=6, one=8)
FAMILIES = {
    EXACT: tolerances.FAMILIES["exact"] + " If",
    ARITHMETIC: tolerances.FAMILIES["arithmetic"],
    FUNCTION: "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Pow Shrink Sin Sinh Softsign Tan Tanh DequantizeLinear QuantizeLinear",
    DIFFERENCE: "Celu Elu Gelu HardSigmoid HardSwish Mish Selu Sigmoid Softplus Swish SwiGLU",
    LOGARITHM: "LogSoftmax ReduceLogSum ReduceLogSumExp SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss",
    WINDOW: "BlackmanWindow HammingWindow HannWindow",
    LARGEST: "GroupNormalization MelWeightMatrix DFT STFT Conv Resize GridSample AffineGrid",
    GATES: "LSTM GRU RNN",
}
FAMILY = {op: family for family, names in FAMILIES.items() for op in names.split()}


def family(op):
    return FAMILY.get(op, SUM)


# The references compute these in float32, or with constants and attributes that are rounded to it, for doubles as well.
IN_SINGLE = set("""Attention BlackmanWindow Celu DFT Elu Erf Gelu GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish LeakyRelu MelWeightMatrix Mish Resize
    RoiAlign Selu Shrink Softplus STFT Swish SwiGLU ThresholdedRelu""".split())


# Floats among their further operands decide how large the result is.
SIZED_BY_OPERANDS = {"Resize", "Upsample", "Range"}


def disturbed(value, amount, random, of_largest=0, of_one=0, single=False):
    """With every element changed by up to so many epsilons of its own, of the largest, and of 1."""
    if isinstance(value, Sequence):
        return Sequence([disturbed(item, amount, random, of_largest, of_one) for item in value], value.dtype)
    if not amount or not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
        return value
    unit = epsilon(np.float32) if single and value.dtype == np.float64 else epsilon(value.dtype)
    with np.errstate(all="ignore"):
        wide = value.astype(np.float64)
        changed = wide * (1 + amount * unit * random.uniform(-1, 1, value.shape))
        if of_largest or of_one:
            largest = np.max(np.abs(np.where(np.isfinite(wide), wide, 0)))
            room = (of_largest * largest + of_one) * unit
            changed = changed + room * random.uniform(-1, 1, value.shape)
            # What may be a rounding of zero is zero elsewhere, and its logarithm or quotient infinite.
            changed = np.where((np.abs(wide) <= room) & (random.uniform(0, 1, value.shape) < 0.25), 0, changed)
        return np.asarray(changed, value.dtype)


def captured_names(node):
    """Values of the outside that the node's subgraphs use."""
    names = []

    def visit(graph, known):
        known = known | {value.name for value in [*graph.input, *graph.initializer]}
        for inner in graph.node:
            names.extend(name for name in inner.input if name and name not in known)
            for attribute in inner.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g, known)
            known |= set(inner.output)
        names.extend(value.name for value in graph.output if value.name not in known)

    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            visit(attribute.g, set())
    return list(dict.fromkeys(names))


def value_info(name, value):
    if isinstance(value, Sequence):
        return helper.make_tensor_sequence_value_info(name, onnx_type(value.dtype), None)
    return helper.make_tensor_value_info(name, onnx_type(value.dtype), [None] * value.ndim)


def runtime_session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# Attributes that name a type: what the node gives does not follow from its operands.
TYPE_ATTRIBUTES = {"to", "dtype", "output_dtype", "output_datatype", "value"}
OPTIONALS = {"Optional", "OptionalHasElement", "OptionalGetElement"}
# The evaluator leaves out an axis here.
NOT_BY_EVALUATOR = {"GlobalMaxPool"}
# The evaluator runs through all steps, whatever `sequence_lens` says.
LENGTHS_NOT_BY_EVALUATOR = {"RNN", "GRU", "LSTM"}
# Of integers they are computed in doubles here: ONNX Runtime cuts off what is behind the point in every term, not in the sum, and the evaluator refuses them.
INTEGERS_IN_DOUBLE = {"ReduceLogSumExp"}


class NodeReference:
    """Runs single nodes; sessions are kept, as a node is run many times."""

    def __init__(self, opset):
        self.opset, self.kept = opset, {}

    def run(self, node, values):
        """Its results that have a name. Values are those that it and its subgraphs read, by name."""
        if node.op_type in OPTIONALS:
            return self.optional(node, values)
        names = list(dict.fromkeys([name for name in node.input if name] + captured_names(node)))
        values = {name: values[name] for name in names}
        if node.op_type in INTEGERS_IN_DOUBLE and not is_float(values[names[0]].dtype):
            results = self.compute(node, values | {names[0]: values[names[0]].astype(np.float64)})
            if not all(np.isfinite(result).all() for result in results):
                raise Impossible("infinity as an integer")  # the logarithm of nothing
            return [np.asarray(result, values[names[0]].dtype) for result in results]
        widened = self.widens(node, values)
        fed = {name: wide(value) for name, value in values.items()} if widened else values
        results = self.compute(node, fed)
        if widened:
            results = [narrow(result, dtype) for result, dtype in zip(results, self.result_types(node, values), strict=True)]
        return [self.typed(node, result, values) for result in results]

    def optional(self, node, values):
        value = values.get(node.input[0]) if node.input else None
        return [np.array(value is not None)] if node.op_type == "OptionalHasElement" else [value]

    def typed(self, node, result, values):
        if not isinstance(result, list):
            return np.asarray(result)
        attribute = [a.i for a in node.attribute if a.name == "dtype"]
        kinds = [item.dtype for item in result] + [numpy_type(kind) for kind in attribute]
        kinds += [value.dtype for value in values.values() if isinstance(value, Sequence)]
        return Sequence(result, kinds[0] if kinds else np.dtype(np.float32))

    def widens(self, node, values):
        has_half = any(value.dtype in HALVES for value in values.values())
        own_types = any(attribute.name in TYPE_ATTRIBUTES or attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute)
        return has_half and not own_types and node.op_type not in ("CastLike", "QuantizeLinear", "DequantizeLinear", "BitCast")

    def result_types(self, node, values):
        """Of every result that has a name: the half that it has with half operands, or None."""
        schema = defs.get_schema(node.op_type, self.opset, node.domain)
        bound = {}
        for i, name in enumerate(node.input):
            if name and values[name].dtype in HALVES:
                bound[schema.inputs[min(i, len(schema.inputs) - 1)].type_str.removeprefix("seq(")] = values[name].dtype
        formals = [schema.outputs[min(i, len(schema.outputs) - 1)] for i in range(len(node.output))]
        fallback = next(iter(bound.values())) if len(bound) == 1 else None
        types = []
        for formal, name in zip(formals, node.output, strict=True):
            own = formal.type_str not in {given.type_str for given in schema.inputs} and any("float16" in text for text in formal.types)
            types += [bound.get(formal.type_str, fallback if own else None)] if name else []
        return types

    def compute(self, node, values):
        by_evaluator = runtime_is_wrong(node, values)
        key = (node.SerializeToString(), by_evaluator, *((name, str(value.dtype), type(value), getattr(value, "ndim", 0)) for name, value in values.items()))
        if key not in self.kept:
            self.kept[key] = self.open(node, values, by_evaluator)
        try:
            with np.errstate(all="ignore"):
                return self.kept[key](values)
        except Impossible:
            raise
        except Exception as error:
            raise Impossible(f"{node.op_type}: {error}") from None

    def open(self, node, values, by_evaluator):
        if node.op_type in BY_NUMPY:
            return lambda fed: BY_NUMPY[node.op_type](node, fed)
        infos = [value_info(name, value) for name, value in values.items()]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "g", infos, results)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        if not by_evaluator and not any(value.dtype == BFLOAT16 for value in values.values()):
            try:
                session = runtime_session(model)
                if all("bfloat16" not in output.type for output in session.get_outputs()):
                    return lambda fed: session.run(None, fed)
            except Exception:
                pass  # an operator or type that it does not have
        if node.op_type in NOT_BY_EVALUATOR or node.op_type in LENGTHS_NOT_BY_EVALUATOR and len(node.input) > 4 and node.input[4]:
            raise Impossible(node.op_type)
        try:
            evaluator = ReferenceEvaluator(model)
        except Exception as error:
            raise Impossible(f"{node.op_type}: {error}") from None
        return lambda fed: self.as_declared(node, values, evaluator.run(None, fed))

    def as_declared(self, node, values, results):
        """The evaluator leaves it to NumPy which type a result has."""
        # One element is resized from the first one, as ONNX's text and ONNX Runtime have it; the evaluator looks half a pixel before it.
        modes = [attribute.s for attribute in node.attribute if attribute.name == "coordinate_transformation_mode"]
        if modes == [b"pytorch_half_pixel"] and any(new == 1 and old > 1 for new, old in zip(results[0].shape, values[node.input[0]].shape, strict=True)):
            raise Impossible("Resize to one element")
        schema = defs.get_schema(node.op_type, self.opset, node.domain)
        bound = {schema.inputs[min(i, len(schema.inputs) - 1)].type_str: values[name].dtype for i, name in enumerate(node.input) if name}
        formals = [schema.outputs[min(i, len(schema.outputs) - 1)] for i, name in enumerate(node.output) if name]
        return [result if isinstance(result, list) else np.asarray(result, bound.get(formal.type_str)) for formal, result in zip(formals, results, strict=True)]


def wide(value):
    if value.dtype not in HALVES:
        return value
    if isinstance(value, Sequence):
        return Sequence([item.astype(np.float32) for item in value], np.dtype(np.float32))
    return value.astype(np.float32)


def narrow(result, dtype):
    if dtype is None:
        return result
    with np.errstate(all="ignore"):
        if isinstance(result, list):
            return [item.astype(dtype) if item.dtype == np.float32 else item for item in result]
        return result.astype(dtype) if np.asarray(result).dtype == np.float32 else result


def with_own_operands(node, reads):
    """A node that reads a value twice reads two, which are disturbed apart: an implementation rounds at one place and not at the other."""
    own = onnx.NodeProto()
    own.CopyFrom(node)
    for i, name in enumerate(node.input):
        if name in node.input[:i] and name:
            own.input[i] = f"{name}, operand {i}"
            reads = reads | {own.input[i]: reads[name]}
    return own, reads


class Reference:
    """A whole model."""

    def __init__(self, model):
        self.model = model
        opsets = {entry.domain: entry.version for entry in model.opset_import}
        self.by_node = NodeReference(opsets.get("", 1))
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}

    def run(self, feeds, random=None, values=None):
        """Outputs by name; with random numbers, disturbed. `values` is filled with all that there is on the way."""
        values = {} if values is None else values
        values.update({**self.constants, **feeds})
        for node in self.model.graph.node:
            rounding = family(node.op_type) if random is not None else EXACT
            reads = {name: values[name] for name in [*node.input, *captured_names(node)] if name}
            if rounding.operands and len(set(node.input)) < len(node.input):
                node, reads = with_own_operands(node, reads)
            for name in {*node.input[:1]} if node.op_type in SIZED_BY_OPERANDS else reads:
                reads[name] = disturbed(reads[name], rounding.operands, random, single=node.op_type in IN_SINGLE)
            results = self.by_node.run(node, reads)
            for name, result in zip([name for name in node.output if name], results, strict=True):
                values[name] = disturbed(result, rounding.result, random, rounding.largest, rounding.one, node.op_type in IN_SINGLE)
        return {output.name: values[output.name] for output in self.model.graph.output}
