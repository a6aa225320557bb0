"""Branches, loop bodies and functions as models of their own, so that a divergence can be followed into them.

What they take from around them are inputs, with the reference's values: an iteration starts where the reference's would.
"""

from __future__ import annotations

from typing import Callable, Iterator

import numpy as np

from .errors import Error
from .reference import import_onnx

# Operators of ONNX's own domain that hold graphs which are followed.
CONTROL = ("If", "Loop", "Scan", "SequenceMap")


class Step:
    """One branch, iteration or call: the graph, the values of its inputs, and in words which one it is.

    `opsets` are those that its nodes are written for, where they are not the model's.
    """

    def __init__(self, graph, feed: dict, where: str, opsets=()):
        self.graph, self.feed, self.where, self.opsets = graph, feed, where, opsets


def name_of(node) -> str:
    """A node's name, or what the compiler calls one that has none."""
    output = next(filter(None, node.output), "")
    return node.name or (f"{node.op_type}_{output}" if output else node.op_type)


def attribute_of(node, name: str, default=None):
    onnx = import_onnx()
    for attribute in node.attribute:
        if attribute.name == name:
            return onnx.helper.get_attribute_value(attribute)
    return default


def free_names(graph) -> list[str]:
    """The values that a graph takes from around it, in order of use."""
    known = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    free: dict[str, None] = {}
    for node in graph.node:
        used = [name for name in node.input if name]
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                used += free_names(inner)
        free.update((name, None) for name in used if name not in known)
        known.update(node.output)
    free.update((info.name, None) for info in graph.output if info.name not in known)
    return list(free)


def graphs_of(node) -> list:
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def function_of(proto, node):
    """The model-local function that a node calls, or None."""
    for function in proto.functions:
        if (function.domain, function.name, function.overload) == (node.domain, node.op_type, node.overload):
            return function
    return None


def _element_shape(values: list):
    """The shape that all elements have as far as a type can say it: their rank."""
    ranks = {value.ndim for value in values}
    return [None] * ranks.pop() if len(ranks) == 1 else None


def type_of(value, declared):
    """The type of an input with this value. `declared` is what the model says of it, or None."""
    onnx = import_onnx()
    if declared is not None and declared.HasField("optional_type"):
        if value is None:
            return declared
        return onnx.helper.make_optional_type_proto(type_of(value, declared.optional_type.elem_type))
    if isinstance(value, list) and not value:
        if declared is None:
            raise Error("the type of an empty sequence is not known", "F5001", 5)
        return declared
    if isinstance(value, list):
        dtype = onnx.helper.np_dtype_to_tensor_dtype(value[0].dtype)
        element = onnx.helper.make_tensor_type_proto(dtype, _element_shape(value))
        return onnx.helper.make_sequence_type_proto(element)
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def as_model(proto, step: Step, feed: dict, weights: dict, types: dict):
    """A step of a part of `proto` as a model with the inputs `feed` and those initializers among `weights` that it uses.

    `types` are declared ones by name, for values that do not show their type.
    """
    onnx = import_onnx()
    graph = step.graph
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.graph.Clear()
    opsets = {entry.domain: entry for entry in [*proto.opset_import, *step.opsets]}
    del model.opset_import[:]
    model.opset_import.extend(opsets.values())
    model.graph.name = graph.name or "part"
    model.graph.node.extend(graph.node)
    model.graph.initializer.extend(graph.initializer)
    model.graph.initializer.extend(weights[name] for name in free_names(graph) if name in weights)
    declared = types | {info.name: info.type for info in graph.input if info.HasField("type")}
    for name, value in feed.items():
        model.graph.input.append(onnx.helper.make_value_info(name, type_of(value, declared.get(name))))
    model.graph.output.extend(graph.output)
    for info in model.graph.output:
        # Sizes are named after dimensions elsewhere.
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
        del model.graph.output[:]
        model.graph.output.extend(inferred.graph.output)
    except Exception:
        # The types that the file gives must do.
        pass
    return model


def _if_step(node, values: Callable) -> Iterator[Step]:
    taken = bool(np.all(values(node.input[0])))
    branch = attribute_of(node, "then_branch" if taken else "else_branch")
    yield Step(branch, {}, f"the {'then' if taken else 'else'} branch")


def _loop_steps(node, values: Callable) -> Iterator[Step]:
    body = attribute_of(node, "body")
    given = [*node.input] + [""] * (2 - len(node.input))
    trip, condition, *carried = (values(name) if name else None for name in given)
    names = [info.name for info in body.input]
    going, i = True if condition is None else bool(np.all(condition)), 0
    while going and (trip is None or i < int(np.ravel(trip)[0])):
        start = [np.array(i, np.int64), np.array(True), *carried]
        results = yield Step(body, dict(zip(names, start)), f"iteration {i}")
        going, carried = bool(np.all(results[0])), results[1 : 1 + len(carried)]
        i += 1


def _scan_steps(node, values: Callable) -> Iterator[Step]:
    body, count = attribute_of(node, "body"), attribute_of(node, "num_scan_inputs")
    given = [values(name) for name in node.input]
    states, sequences = given[: len(given) - count], given[len(given) - count :]
    axes = attribute_of(node, "scan_input_axes") or [0] * count
    backwards = attribute_of(node, "scan_input_directions") or [0] * count
    names, length = [info.name for info in body.input], sequences[0].shape[axes[0]]
    for i in range(length):
        slices = [np.take(x, length - 1 - i if back else i, axis) for x, axis, back in zip(sequences, axes, backwards)]
        results = yield Step(body, dict(zip(names, [*states, *slices])), f"iteration {i}")
        states = results[: len(states)]


def _map_steps(node, values: Callable) -> Iterator[Step]:
    body = attribute_of(node, "body")
    given = [values(name) for name in node.input]
    names = [info.name for info in body.input]
    for i in range(len(given[0])):
        elements = [value[i] if isinstance(value, list) else value for value in given]
        yield Step(body, dict(zip(names, elements)), f"element {i}")


def _resolve(nodes, given: dict, absent: set):
    """Puts a call's attributes in the place of references to them, and nothing in that of inputs it does not give."""
    for node in nodes:
        node.input[:] = ["" if name in absent else name for name in node.input]
        for attribute in list(node.attribute):
            if attribute.ref_attr_name:
                name, referred = attribute.name, given.get(attribute.ref_attr_name)
                node.attribute.remove(attribute)
                if referred is not None:
                    node.attribute.add().CopyFrom(referred)
                    node.attribute[-1].name = name
            elif attribute.HasField("g"):
                _resolve(attribute.g.node, given, absent)


def call_step(node, function, values: Callable) -> Step:
    """The body of a function as this node calls it."""
    onnx = import_onnx()
    given = {attribute.name: attribute for attribute in [*function.attribute_proto, *node.attribute]}
    inputs = dict(zip(function.input, node.input))
    feed = {inner: values(outer) for inner, outer in inputs.items() if outer}
    graph = onnx.GraphProto(name=function.name, node=function.node)
    _resolve(graph.node, given, set(function.input) - feed.keys())
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    return Step(graph, feed, f"function '{function.name}'", function.opset_import)


def steps(node, values: Callable) -> Iterator[Step]:
    """The branch that is taken, or the iterations in order; each takes the results of the one before by send().

    `values(name)` gives the reference's value.
    """
    kinds = {"If": _if_step, "Loop": _loop_steps, "Scan": _scan_steps, "SequenceMap": _map_steps}
    return kinds[node.op_type](node, values)
