"""The graph with QuantizeLinear and DequantizeLinear: what computes with numbers of 8 bits stands between such pairs."""

from __future__ import annotations

import numpy as np

from ..subgraphs import attribute_of
from .network import Network, is_op, prune
from .plan import Plan, Product
from .ranges import levels_of
from .weights import Weights, quantize_bias, quantize_weights


class Settings:
    """What was found by calibration: scale and zero point of each value, and the numbers of weights and biases."""

    def __init__(self, network: Network, plan: Plan, ranges: dict, per_channel: bool):
        self.network, self.per_channel = network, per_channel
        self.levels: dict[str, tuple[np.float32, np.uint8]] = {}
        for group in plan.groups.values():
            low, high = (choose(ends) for choose, ends in zip((min, max), zip(*(ranges[name] for name in group))))
            self.levels.update(dict.fromkeys(group, levels_of(low, high)))
        # What the correction found to be missing in results on average, by the product's result.
        self.missing: dict[str, np.ndarray] = {}
        self._weights: dict[str, Weights] = {}

    def weights(self, product: Product) -> Weights:
        if product.result not in self._weights:
            array, scale = product.weights(self.network), self.levels[product.data][0]
            bias = product.biases(self.network)
            self._weights[product.result] = quantize_weights(array, product.axis, self.per_channel, scale, bias)
        return self._weights[product.result]

    def bias(self, product: Product) -> np.ndarray | None:
        """The floats that are added to the products."""
        bias, missing = product.biases(self.network), self.missing.get(product.result)
        if missing is None:
            return bias
        return missing.astype(np.float32) if bias is None else (bias + missing).astype(np.float32)


class Writer:
    """Nodes in the making, to be put among those of a network's model."""

    def __init__(self, network: Network, settings: Settings):
        self.network, self.settings = network, settings
        self.helper = network.onnx.helper
        self.nodes: list = []

    def add(self, op: str, inputs: list[str], output: str, **attributes) -> str:
        name = self.network.fresh(output)
        self.nodes.append(self.helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def number(self, wanted: str, array) -> str:
        return self.network.add_tensor(wanted, np.asarray(array))

    def quantized(self, value: str, name: str) -> str:
        """The value rounded to its levels, as floats."""
        scale, zero = self.settings.levels[name]
        constants = [self.number(f"{name}.scale", scale), self.number(f"{name}.zero", zero)]
        numbers = self.add("QuantizeLinear", [value, *constants], f"{name}.numbers")
        return self.add("DequantizeLinear", [numbers, *constants], f"{name}.rounded")

    def dequantized(self, name: str, numbers: np.ndarray, scale: np.ndarray, axis: int) -> str:
        zero = np.zeros(scale.shape, numbers.dtype)
        inputs = [self.number(f"{name}.{part}", array) for part, array in (("numbers", numbers), ("scale", scale), ("zero", zero))]
        return self.add("DequantizeLinear", inputs, f"{name}.rounded", **({"axis": axis} if scale.ndim else {}))

    def constant(self, name: str) -> str:
        """A constant beside numbers is of unsigned ones, too."""
        array = self.network.floats(name)
        scale, zero = levels_of(min(float(array.min(initial=0)), 0.0), max(float(array.max(initial=0)), 0.0))
        numbers = np.clip(np.rint(array.astype(np.float64) / scale) + zero, 0, 255).astype(np.uint8)
        inputs = [self.number(f"{name}.{part}", value) for part, value in (("numbers", numbers), ("scale", scale), ("zero", zero))]
        return self.add("DequantizeLinear", inputs, f"{name}.rounded")

    def product(self, product: Product, data: str, result: str):
        """The node with weights and bias of whole numbers."""
        weights = self.settings.weights(product)
        inputs = [data, self.dequantized(product.weight, weights.numbers, weights.scale, weights.axis)]
        if product.op != "MatMul" and (bias := self.bias(product)):
            inputs.append(bias)
        node = copy_of(product.node)
        node.input[:], node.output[:] = inputs, [result]
        # They are in the numbers.
        for attribute in [entry for entry in node.attribute if entry.name in ("alpha", "beta")]:
            node.attribute.remove(attribute)
        self.nodes.append(node)

    def bias(self, product: Product) -> str:
        """The rounded bias, or nothing where there is none."""
        bias, weights = self.settings.bias(product), self.settings.weights(product)
        if bias is None:
            return ""
        numbers, scale = quantize_bias(bias, weights, self.settings.levels[product.data][0])
        return self.dequantized(product.bias or f"{product.result}.bias", numbers, scale, 0)

    def shifted(self, product: Product):
        """The Add behind a MatMul with the rounded bias: ONNX Runtime makes a product of integers of both, as of a Gemm."""
        node, bias = copy_of(product.shift), self.bias(product)
        node.input[:] = [bias if name == product.bias else name for name in node.input]
        return node


def copy_of(node):
    copied = type(node)()
    copied.CopyFrom(node)
    return copied


def scratch(network: Network) -> Network:
    """The same network with a model of its own, to be written into."""
    model = network.onnx.ModelProto()
    model.CopyFrom(network.proto)
    return Network(model, network.folder, network.inputs)


def replace_nodes(network: Network, nodes: list):
    """What is written is whole: nothing that it does not need."""
    del network.proto.graph.node[:]
    network.proto.graph.node.extend(nodes)
    prune(network.proto)
    return network.proto


def rewrite(network: Network, plan: Plan, settings: Settings):
    """The model with pairs around all that the plan has; the network's own stays as it is."""
    writer = Writer(scratch(network), settings)
    products = {product.result: product for product in plan.products}
    shifts = {product.shift.output[0]: product for product in plan.products if product.shift is not None}
    rounded: dict[str, str] = {}

    def take(node, name: str) -> str:
        all_read_numbers = plan.values.get(name)
        if all_read_numbers is None or not (all_read_numbers or plan.reads_numbers(node)):
            return name
        return rounded.get(name, name)

    for name in plan.values:
        if name not in network.producers:
            rounded[name] = writer.quantized(name, name)
    for node in network.proto.graph.node:
        if node.output and node.output[0] in shifts:
            node = writer.shifted(shifts[node.output[0]])
        key = node.output[0] if node.output else ""
        made = [name for name in node.output if name in plan.values]
        if key in products:
            writer.product(products[key], take(node, node.input[0]), key)
        elif made and _is_in_levels(network, plan, settings, node):
            rounded[key] = writer.quantized(take(node, node.input[0]), key)
            continue
        else:
            copied = copy_of(node)
            copied.input[:] = [take(node, name) for name in node.input]
            if key in plan.passing and node.op_type in ("Add", "Mul"):
                copied.input[:] = [writer.constant(name) if network.is_constant(name) else name for name in copied.input]
            writer.nodes.append(copied)
        for name in made:
            rounded[name] = writer.quantized(name, name)
    return replace_nodes(writer.network, writer.nodes)


def _is_in_levels(network: Network, plan: Plan, settings: Settings, node) -> bool:
    """Whether a Relu or Clip only cuts off what is beyond all levels anyway, and nobody needs its floats."""
    if not is_op(node, "Relu", "Clip") or node.output[0] in network.kept:
        return False
    value = node.output[0]
    if not plan.values[value] and not all(plan.reads_numbers(reader) for reader in network.readers[value]):
        return False
    scale, zero = settings.levels[value]
    least, most = (float(scale) * (level - int(zero)) for level in (0, 255))
    low, high = limits_of(network, node)
    # The scale itself is rounded.
    room = float(scale) * 1e-3
    return low is not None and low <= least + room and high >= most - room


def limits_of(network: Network, node) -> tuple:
    """The ends that a Relu or Clip keeps numbers between; (None, None) where they are not known."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    ends = []
    for index, (attribute, unlimited) in enumerate((("min", -np.inf), ("max", np.inf)), 1):
        name = node.input[index] if len(node.input) > index else ""
        value = network.constant(name) if name else np.array(attribute_of(node, attribute, unlimited))
        if value is None or value.size != 1:
            return None, None
        ends.append(float(value.reshape(())))
    return ends[0], ends[1]
