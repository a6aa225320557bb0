"""Which operators compute with numbers of 8 bits, and which values are such numbers therefore."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..subgraphs import attribute_of, name_of
from .network import Network, is_op
from .weights import DEEPEST

PRODUCTS = ("Conv", "MatMul", "Gemm")
# What is in a model that was quantised by somebody.
QUANTIZED = ("Quantize", "Dequantize", "QLinear", "QAttention", "QGemm", "ConvInteger", "MatMulInteger", "MatMulNBits", "DynamicQuantize")

# What moves numbers, or chooses among them, keeps their scale.
_MOVES = (
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Slice", "Split", "Expand", "Gather", "DepthToSpace",
    "SpaceToDepth", "Pad", "MaxPool", "Resize", "Concat",
)  # fmt: skip
_CLIPS = ("Relu", "Clip")
_PAIRS = ("Add", "Mul")
_OTHERS = (
    *_CLIPS, *_PAIRS, "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "AveragePool", "GlobalAveragePool", "ReduceMean",
)  # fmt: skip


@dataclass
class Product:
    """A Conv, MatMul or Gemm with constant weights."""

    node: object
    name: str
    data: str
    weight: str
    axis: int  # of the weights: along the channels of the result
    bias: str  # a constant, or empty
    result: str
    shift: object = None  # of a MatMul the Add behind it that adds the bias

    @property
    def op(self) -> str:
        return self.node.op_type

    def weights(self, network: Network) -> np.ndarray:
        alpha = attribute_of(self.node, "alpha", 1.0) if self.op == "Gemm" else 1.0
        array = network.floats(self.weight)
        return array if alpha == 1 else array * np.float32(alpha)

    def channels(self, network: Network) -> int:
        return network.constant(self.weight).shape[self.axis]

    def biases(self, network: Network) -> np.ndarray | None:
        if not self.bias:
            return None
        beta = attribute_of(self.node, "beta", 1.0) if self.op == "Gemm" else 1.0
        return np.broadcast_to(network.floats(self.bias).reshape(-1) * np.float32(beta), self.channels(network))


def find_products(network: Network) -> tuple[list[Product], dict[str, str]]:
    """Those that can be of 8 bits, and of the others by name why not."""
    products, refused = [], {}
    for node in network.proto.graph.node:
        if is_op(node, *PRODUCTS):
            if why := _why_not(network, node):
                refused[name_of(node)] = why
            else:
                products.append(_product(network, node))
    return products, refused


def _bias_of(node) -> str:
    return node.input[2] if node.op_type != "MatMul" and len(node.input) > 2 else ""


def _axis_of(node) -> int:
    return 0 if node.op_type == "Conv" or attribute_of(node, "transB", 0) else 1


def _why_not(network: Network, node) -> str:
    weights = network.constant(node.input[1])
    if weights is None:
        return "its weights are not constant"
    if weights.dtype != np.float32:
        return f"its weights are of {weights.dtype}"
    if weights.ndim < 2 or (node.op_type != "Conv" and weights.ndim != 2):
        return "its weights are no matrix"
    if not np.isfinite(weights).all():
        return "its weights are not finite"
    if not weights.size:
        return "it has no weights"
    if attribute_of(node, "transA", 0):
        return "it transposes what it multiplies"
    axis = _axis_of(node)
    if weights.size // weights.shape[axis] > DEEPEST:
        return f"sums of more than {DEEPEST} products may not fit into 32 bits"
    if _bias_of(node):
        bias = network.floats(_bias_of(node))
        if bias is None:
            return "its bias is not constant"
        if not np.isfinite(bias).all():
            return "its bias is not finite"
        if bias.size not in (1, weights.shape[axis]) or (bias.size > 1 and bias.shape[-1] != bias.size):
            return "its bias is not one number for each channel"
    return ""


def _product(network: Network, node) -> Product:
    product = Product(node, name_of(node), node.input[0], node.input[1], _axis_of(node), _bias_of(node), node.output[0])
    behind = network.only_reader(product.result)
    if node.op_type == "MatMul" and behind is not None and is_op(behind, "Add"):
        added = network.floats(other_input(behind, product.result))
        if added is not None and added.size == product.channels(network) and added.shape[-1:] == (added.size,) and np.isfinite(added).all():
            product.shift, product.bias = behind, other_input(behind, product.result)
    return product


def other_input(node, name: str) -> str:
    return node.input[1] if node.input[0] == name else node.input[0]


@dataclass
class Plan:
    products: list[Product]
    # The values that are numbers, each with whether all that read it take these: then it is nothing else in memory.
    values: dict[str, bool] = field(default_factory=dict)
    # Outputs of nodes that are no products and read numbers, too.
    passing: set[str] = field(default_factory=set)
    # Values of one scale, by the one that stands for all.
    groups: dict[str, list[str]] = field(default_factory=dict)

    def reads_numbers(self, node) -> bool:
        return node.output[0] in self.passing or any(product.result == node.output[0] for product in self.products)


def settled(network: Network, value: str) -> str:
    """The value, or what a Relu or Clip makes of it that alone reads it: the quantiser's range stands for such a limit."""
    reader = network.only_reader(value)
    return reader.output[0] if reader is not None and is_op(reader, *_CLIPS) and reader.input[0] == value else value


def make_plan(network: Network, products: list[Product], forbidden=frozenset()) -> Plan:
    """`forbidden` are values that have no range. A plan for fewer products has no values that one for more has not."""
    products = [product for product in products if product.data not in forbidden]
    fed = {product.data for product in products}
    # ONNX Runtime computes a convolution in integers only where its result is one. The model's own results stay as they are.
    results = {settled(network, product.result) for product in products if product.op == "Conv"}
    at_rest = {value for value in results - network.outputs if value not in forbidden}
    available = fed | at_rest
    candidates = []
    for node in network.proto.graph.node:
        data = _data_of(network, node)
        if not data or not all(name in available or _is_number(network, node, name) for name in data):
            continue
        if not available.intersection(data) or forbidden.intersection(_results_of(network, node)):
            continue
        candidates.append(node)
        available.update(_results_of(network, node))
    plan = Plan(products, dict.fromkeys(fed, False) | dict.fromkeys(at_rest, True))
    union: dict[str, str] = {}
    # Only what leads to a product is worth it.
    wanted = set(fed)
    for node in reversed(candidates):
        made = _results_of(network, node)
        if not wanted.intersection(made):
            continue
        data = [name for name in _data_of(network, node) if not network.is_constant(name)]
        plan.passing.add(node.output[0])
        wanted.update(data)
        for name in data:
            plan.values.setdefault(name, False)
        plan.values.update((name, name not in network.outputs) for name in made)
        if is_op(node, *_MOVES):
            for name in [*data, *made]:
                union[_root(union, name)] = _root(union, data[0])
    for name in plan.values:
        plan.groups.setdefault(_root(union, name), []).append(name)
    return plan


def _root(union: dict, name: str) -> str:
    while union.get(name, name) != name:
        name = union[name]
    return name


def _data_of(network: Network, node) -> list[str]:
    """The inputs of a node that would be numbers; none where it is no such node."""
    if not is_op(node, *_MOVES, *_OTHERS) or not node.output[0]:
        return []
    if node.op_type == "MaxPool" and len(node.output) > 1 and node.output[1]:
        return []
    if node.op_type == "Resize" and not _keeps_range(node):
        return []
    if node.op_type == "Pad" and not _pads_with_zeros(network, node):
        return []
    return list(node.input) if node.op_type == "Concat" or node.op_type in _PAIRS else [node.input[0]]


def _results_of(network: Network, node) -> list[str]:
    if is_op(node, *_MOVES):
        return [name for name in node.output if name]
    return [settled(network, node.output[0])]


def _is_number(network: Network, node, name: str) -> bool:
    """Whether a constant can be a number beside others."""
    value = network.floats(name) if is_op(node, *_PAIRS) else None
    return value is not None and bool(np.isfinite(value).all())


def _keeps_range(node) -> bool:
    where = attribute_of(node, "coordinate_transformation_mode", b"half_pixel")
    return attribute_of(node, "mode", b"nearest") in (b"nearest", b"linear") and where != b"tf_crop_and_resize"


def _pads_with_zeros(network: Network, node) -> bool:
    if attribute_of(node, "mode", b"constant") != b"constant" or len(node.input) < 3 or not node.input[2]:
        return True
    value = network.floats(node.input[2])
    return value is not None and not value.any()
