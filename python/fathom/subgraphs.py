"""Branches and loop bodies as models of their own, so that a divergence can be followed into them.

What they take from around them are inputs, with the reference's values: an iteration starts where the reference's would.
"""

from __future__ import annotations

from typing import Callable, Iterator

import numpy as np

from .errors import Error
from .reference import import_onnx

# Operators of ONNX's own domain that hold graphs which are followed.
CONTROL = ("If", "Loop", "Scan")


class Step:
    """One branch or iteration: the graph, the values of its inputs, and in words which one it is."""

    def __init__(self, graph, feed: dict, where: str):
        self.graph, self.feed, self.where = graph, feed, where


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


def as_model(proto, graph, feed: dict, weights: dict):
    """`graph`, a part of `proto`, as a model with the inputs `feed` and those initializers among `weights` that it uses."""
    onnx = import_onnx()
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.graph.Clear()
    model.graph.name = graph.name or "part"
    model.graph.node.extend(graph.node)
    model.graph.initializer.extend(graph.initializer)
    model.graph.initializer.extend(weights[name] for name in free_names(graph) if name in weights)
    for name, value in feed.items():
        dtype = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, dtype, value.shape))
    model.graph.output.extend(graph.output)
    for info in model.graph.output:
        # Sizes are named after dimensions elsewhere.
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


def steps(node, values: Callable) -> Iterator[Step]:
    """The branch that is taken, or the iterations in order; each takes the results of the one before by send().

    `values(name)` gives the reference's value.
    """
    return {"If": _if_step, "Loop": _loop_steps, "Scan": _scan_steps}[node.op_type](node, values)


def require_arrays(names, values) -> list:
    for name, value in zip(names, values):
        if not isinstance(value, np.ndarray):
            raise Error(f"'{name}' is not a tensor", "F5001", 5)
    return list(values)
