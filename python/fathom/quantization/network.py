"""A model's graph that can be asked who makes and who reads a value, and what is constant in it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ..reference import import_onnx
from ..subgraphs import attribute_of, free_names

# What only hands a constant on. Exporters write these where layers share weights, or keep them the other way round.
_HANDS_ON = ("Identity", "Transpose")


def is_op(node, *names: str) -> bool:
    """Whether a node is one of ONNX's own operators with these names."""
    return node.domain in ("", "ai.onnx") and node.op_type in names


class Network:
    """`proto` is changed by whoever changes the network. Weights may lie in files beneath `folder`, from which they are read one by one."""

    def __init__(self, proto, folder: str, inputs):
        self.onnx = import_onnx()
        self.proto, self.folder = proto, folder
        self.inputs = set(inputs)
        self.index()

    def index(self):
        """Looks at the graph again, as it is now."""
        graph = self.proto.graph
        # A tensor that is an input as well is only what the input is where nobody gives it.
        self.tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in self.inputs}
        self.outputs = {info.name for info in graph.output}
        self.producers, self.readers, captured = {}, defaultdict(list), set()
        for node in graph.node:
            self.producers.update((name, node) for name in node.output if name)
            for name in node.input:
                self.readers[name].append(node)
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    captured.update(free_names(inner))
        # Values that keep their names and numbers: others read them than nodes of this graph.
        self.kept = self.outputs | captured
        self.names = {*self.producers, *self.readers, *self.inputs, *self.kept} | {tensor.name for tensor in graph.initializer}

    def fresh(self, wanted: str) -> str:
        """A name that nothing has yet."""
        name, number = wanted, 1
        while name in self.names:
            number += 1
            name = f"{wanted}.{number}"
        self.names.add(name)
        return name

    def is_constant(self, name: str) -> bool:
        if name in self.tensors:
            return True
        node = self.producers.get(name)
        return node is not None and (
            is_op(node, "Constant") or (is_op(node, *_HANDS_ON) and self.is_constant(node.input[0]))
        )

    def constant(self, name: str) -> np.ndarray | None:
        """The numbers of a value that is the same in every run, or None."""
        if name in self.tensors:
            return self._array(self.tensors[name])
        node = self.producers.get(name)
        if node is None or not self.is_constant(name):
            return None
        if is_op(node, "Constant"):
            [attribute] = node.attribute
            value = self.onnx.helper.get_attribute_value(attribute)
            if attribute.name == "value":
                return self._array(value)
            dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
            return np.array(value, dtypes[attribute.name]) if attribute.name in dtypes else None
        value = self.constant(node.input[0])
        if value is None or is_op(node, "Identity"):
            return value
        return np.transpose(value, attribute_of(node, "perm"))

    def floats(self, name: str) -> np.ndarray | None:
        """The same where it is of 32-bit floats."""
        value = self.constant(name)
        return value if value is not None and value.dtype == np.float32 else None

    def _array(self, tensor) -> np.ndarray:
        # onnx reads external data into the tensor that it is given: a model must not grow by being looked at.
        own = self.onnx.TensorProto()
        own.CopyFrom(tensor)
        return self.onnx.numpy_helper.to_array(own, self.folder)

    def only_reader(self, name: str):
        """The node that alone reads a value, or None."""
        readers = self.readers[name]
        return readers[0] if len(readers) == 1 and name not in self.kept else None

    def add_tensor(self, wanted: str, array: np.ndarray) -> str:
        name = self.fresh(wanted)
        self.proto.graph.initializer.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def fold_normalisations(network: Network) -> int:
    """Convolutions take over the normalisation behind them, so that no rounding comes between; returns how many did."""
    graph, folded = network.proto.graph, []
    for node in graph.node:
        conv = network.producers.get(node.input[0]) if is_op(node, "BatchNormalization") else None
        if conv is None or not is_op(conv, "Conv") or network.only_reader(node.input[0]) is None:
            continue
        if attribute_of(node, "training_mode", 0) or any(node.output[1:]):
            continue
        weight = network.floats(conv.input[1])
        constants = [network.floats(name) for name in node.input[1:5]]
        has_bias = len(conv.input) > 2 and conv.input[2]
        bias = network.floats(conv.input[2]) if has_bias else np.zeros(1, np.float32)
        if weight is None or bias is None or any(constant is None for constant in constants):
            continue
        scale, shift, mean, variance = (constant.astype(np.float64) for constant in constants)
        factor = scale / np.sqrt(variance + attribute_of(node, "epsilon", 1e-5))
        weight = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
        bias = (bias - mean) * factor + shift
        inputs = [conv.input[0]]
        for name, array in ((conv.input[1], weight), (node.input[2], bias)):
            inputs.append(network.add_tensor(f"{name}.folded", array.astype(np.float32)))
        conv.input[:] = inputs
        conv.output[0] = node.output[0]
        folded.append(node)
    for node in folded:
        graph.node.remove(node)
    network.index()
    return len(folded)


def prune(proto):
    """Removes nodes and tensors that nothing needs any more, and what is said of values that are gone."""
    graph = proto.graph
    needed, nodes = {info.name for info in graph.output}, []
    for node in reversed(graph.node):
        if needed.intersection(filter(None, node.output)):
            nodes.append(node)
            needed.update(node.input)
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    needed.update(free_names(inner))
    made = {name for node in nodes for name in node.output}
    kept = {
        "node": nodes[::-1],
        "initializer": [tensor for tensor in graph.initializer if tensor.name in needed],
        "value_info": [info for info in graph.value_info if info.name in made],
    }
    for field, entries in kept.items():
        del getattr(graph, field)[:]
        getattr(graph, field).extend(entries)
