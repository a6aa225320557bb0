"""Makes a failing case small: fewer outputs, nodes, inputs, attributes and elements, as long as the same goes wrong."""
import copy
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import numpy_helper, printer

from builder import initializer, tensor_info
from case import Case
from reference import Impossible, Reference, captured_names


def clean(case):
    """Without what no output needs."""
    graph = case.model.graph
    needed, kept = {output.name for output in graph.output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input) | set(captured_names(node))
    del graph.node[:]
    graph.node.extend(reversed(kept))
    for table in (graph.input, graph.initializer):
        wanted = [entry for entry in table if entry.name in needed]
        del table[:]
        table.extend(wanted)
    names = {entry.name for entry in graph.input}
    case.feeds = [{name: array for name, array in feed.items() if name in names} for feed in case.feeds]
    dims = {dim.dim_param for entry in graph.input for dim in entry.type.tensor_type.shape.dim}
    if "dim" in case.options:
        case.options["dim"] = [text for text in case.options["dim"] if text.split("=")[0] in dims]
    return case


def values_of(case):
    values = {}
    Reference(case.model).run(case.feeds[0], values=values)
    return values


def set_outputs(case, names, values):
    del case.model.graph.output[:]
    case.model.graph.output.extend(tensor_info(name, values[name], [None] * values[name].ndim) for name in names)
    return case


def steps(case):
    """Smaller cases, the boldest first; each is a function that changes a copy."""
    graph = case.model.graph
    try:
        values = values_of(case)
    except Impossible:
        values = {}
    tensors = {name for name, value in values.items() if isinstance(value, np.ndarray)}
    for i in range(len(case.feeds)):
        if len(case.feeds) > 1:
            yield lambda c, i=i: setattr(c, "feeds", [c.feeds[i]])
    if len(graph.output) > 1:
        for output in graph.output:
            yield lambda c, name=output.name: set_outputs(c, [name], values)
    for node in graph.node:
        results = [name for name in node.output if name in tensors]
        if results and node is not graph.node[-1]:
            yield lambda c, names=results: set_outputs(c, names, values)
    for node in graph.node:
        for name in node.output:
            if name in tensors and len(graph.node) > 1 and len(case.feeds) == 1:
                yield lambda c, name=name: cut(c, name, values[name])
    for key in list(case.options):
        yield lambda c, key=key: c.options.pop(key)
    for k in range(len(graph.node)):
        for a in range(len(graph.node[k].attribute)):
            yield lambda c, k=k, a=a: c.model.graph.node[k].attribute.pop(a)
    for k, entry in enumerate(graph.input):
        shape = entry.type.tensor_type.shape
        if any(dim.dim_param for dim in shape.dim):
            yield lambda c, k=k: fix_sizes(c, k)
    for entry in graph.input:
        if len(case.feeds) == 1:
            yield lambda c, name=entry.name: make_constant(c, name)
    sizes = sorted({size for entry in graph.input for size in case.feeds[0][entry.name].shape} | {size for t in graph.initializer for size in t.dims}, reverse=True)
    for size in sizes:
        for smaller in sorted({1, 2, size // 2, size - 1}):
            if 0 < smaller < size and len(case.feeds) == 1:
                yield lambda c, size=size, smaller=smaller: shrink(c, size, smaller)
    for entry in graph.input:
        array = case.feeds[0][entry.name]
        for simple in (np.zeros_like(array), np.ones_like(array)):
            if array.size and array.tobytes() != simple.tobytes() and array.dtype.kind not in "iu":
                yield lambda c, name=entry.name, simple=simple: c.feeds[0].__setitem__(name, simple)


def cut(case, name, value):
    """The value as an input instead of what computes it."""
    graph = case.model.graph
    for node in graph.node:
        if name in node.output:
            others = [o for o in node.output if o and o != name]
            if others:
                node.output[list(node.output).index(name)] = name + "_unused"
            else:
                graph.node.remove(node)
            break
    graph.input.append(tensor_info(name, value))
    case.feeds[0][name] = value
    kept = [output for output in graph.output if output.name != name]
    del graph.output[:]
    graph.output.extend(kept)


def fix_sizes(case, k):
    entry = case.model.graph.input[k]
    entry.CopyFrom(tensor_info(entry.name, case.feeds[0][entry.name]))
    case.feeds = case.feeds[:1]


def make_constant(case, name):
    graph = case.model.graph
    graph.initializer.append(initializer(name, case.feeds[0].pop(name)))
    graph.input.remove(next(entry for entry in graph.input if entry.name == name))


def shrink(case, size, smaller):
    """Every size of this number becomes a smaller one: of inputs and constants, and where constants tell it."""

    def less(array):
        array = array[tuple(slice(0, smaller) if s == size else slice(None) for s in array.shape)] if array.ndim else array
        return np.where(array == size, smaller, array).astype(array.dtype) if array.dtype == np.int64 and array.size < 9 else np.ascontiguousarray(array).reshape(array.shape)

    for entry in case.model.graph.input:
        case.feeds[0][entry.name] = less(case.feeds[0][entry.name])
        for dim in entry.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value == size:
                dim.dim_value = smaller
    for tensor in case.model.graph.initializer:
        tensor.CopyFrom(initializer(tensor.name, less(numpy_helper.to_array(tensor))))
    for output in case.model.graph.output:
        output.type.tensor_type.ClearField("shape")


def reduce(case, outcome, worker, seconds=90):
    """The smallest case found that fails in the same way, with its outcome. The worker tries each."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        found = True
        while found and time.monotonic() < end:
            found = False
            for step in steps(case):
                if time.monotonic() > end:
                    break
                smaller = Case(copy.deepcopy(case.model), [dict(feed) for feed in case.feeds], copy.deepcopy(case.options))
                try:
                    step(smaller)
                    clean(smaller)
                except Exception:
                    continue
                if not smaller.model.graph.output or not smaller.model.graph.node:
                    continue
                for old in Path(folder).iterdir():
                    old.unlink()
                smaller.save(folder)
                result = worker.ask({"kind": "saved", "folder": folder})[0]
                if result.is_failure and result.same_as(outcome):
                    case, outcome, found = smaller, result, True
                    break
    return case, outcome


def text(case):
    """The case, to be read."""
    lines = []
    for entry in case.model.graph.input:
        array = case.feeds[0][entry.name]
        dims = [dim.dim_param or dim.dim_value for dim in entry.type.tensor_type.shape.dim]
        lines.append(f"{entry.name}: {array.dtype}{dims} {list(array.shape)} {np.array2string(array.ravel()[:8], precision=4)}".replace("\n", " "))
    for tensor in case.model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        lines.append(f"{tensor.name} = {array.dtype}{list(array.shape)} {np.array2string(array.ravel()[:8], precision=4)}".replace("\n", " "))
    lines += [printer.to_text(node).strip() for node in case.model.graph.node]
    lines.append(f"gives {[output.name for output in case.model.graph.output]}, operator set {case.model.opset_import[0].version}, options {case.options}")
    return "\n".join("  " + line for line in lines)


