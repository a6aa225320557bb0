"""Finds the first node of a model whose result differs from the reference's."""

from __future__ import annotations

from .compare import Comparison, compare, tensors_of
from .compile import compile as compile_model
from .errors import Error
from .reference import import_onnx
from .session import Session
from .subgraphs import CONTROL, as_model, call_step, free_names, function_of, graphs_of, name_of, steps

# Every value that becomes an output stays in memory, so not all of them at once.
BATCH = 48


class Bisection:
    """`check(model)` compares all outputs of a changed model; see run()."""

    def __init__(
        self, proto, folder: str, reference, inputs: dict, options: dict, run_on: dict, tolerated, note
    ):
        self.onnx = import_onnx()
        self.proto = proto
        self.folder = folder
        self.reference = reference
        self.inputs = inputs
        self.options = options
        self.run_on = run_on  # keywords of a Session
        self.tolerated = tolerated  # what compare() takes for a value, by its name
        self.note = note
        self.declared = declared_values(proto)
        # Of all values, inputs too.
        self.types = declared_types(proto, self.declared)
        self.candidates = [
            (node, name) for node in proto.graph.node for name in node.output if name in self.declared
        ]

    def run(self, failed: list[str]) -> dict | None:
        """The first node that diverges, or None. `failed` are the outputs that differ.

        Where it is a branch, a loop or a call of the model's own function, the first node in there that does.
        """
        found = self._first(failed)
        if not found:
            return None
        node, description = found
        is_control = node.op_type in CONTROL and node.domain in ("", "ai.onnx")
        if not is_control and function_of(self.proto, node) is None:
            return description
        try:
            return self._run_inside(node) or description
        except Error as error:
            self.note(f"'{name_of(node)}' cannot be looked into: {error}")
            return description

    def _first(self, failed: list[str]) -> tuple | None:
        needed = self._ancestors(failed)
        candidates = [(node, name) for node, name in self.candidates if name in needed]
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            self.note(f"looking at {start + len(batch)} of {len(candidates)} values")
            for (node, _), comparison in zip(batch, self._compare([name for _, name in batch])):
                if comparison and not comparison.ok:
                    return node, self._describe(node, comparison, "as an output of its own")
        return self._run_cut(candidates)

    def _run_inside(self, node) -> dict | None:
        """The first node that diverges in a branch, an iteration or a call which starts from the reference's values."""
        weights = {tensor.name: tensor for tensor in self.proto.graph.initializer}
        captured = {name: None for graph in graphs_of(node) for name in free_names(graph) if name not in weights}
        wanted = dict.fromkeys([*captured, *(name for name in node.input if name)])
        values = self._reference_values(list(wanted), weights)
        options = {key: value for key, value in self.options.items() if key not in ("dim", "shape", "plan")}
        sessions: dict[tuple, tuple] = {}
        function = function_of(self.proto, node)
        walk = _single(call_step(node, function, values.__getitem__)) if function else steps(node, values.__getitem__)
        step = next(walk, None)
        while step:
            feed = {name: values[name] for name in captured} | step.feed
            names = [info.name for info in step.graph.output]
            key = tuple((name, _kind(value)) for name, value in feed.items())
            if key not in sessions:
                model = as_model(self.proto, step, feed, weights, self.types)
                data = model.SerializeToString()
                compiled = Session(compile_model(data, base_folder=self.folder, **options), **self.run_on)
                sessions[key] = (model, compiled, self.reference(data, self.folder, 1))
            model, compiled, reference = sessions[key]
            self.note(f"looking into {step.where} of '{name_of(node)}'")
            got = compiled.run(None, {info.name: feed[info.name] for info in compiled.inputs})
            want = reference.run(names, feed)
            if failed := [name for name, a, b in zip(names, got, want) if not self._worst(name, a, b).ok]:
                search = Bisection(
                    model, self.folder, self.reference, feed, options, self.run_on, self.tolerated, self.note
                )
                found = search.run(failed)
                if found:
                    place = {"node": name_of(node), "op": node.op_type, "where": step.where}
                    found["within"] = [place, *found.get("within", [])]
                return found
            try:
                step = walk.send(want)
            except StopIteration:
                step = None
        return None

    def _reference_values(self, names: list[str], weights: dict) -> dict:
        values = {name: self.inputs[name] for name in names if name in self.inputs}
        for name in names:
            if name in weights:
                values[name] = self.onnx.numpy_helper.to_array(weights[name], self.folder)
        computed = [name for name in names if name not in values]
        if missing := [name for name in computed if name not in self.declared]:
            raise Error(f"the type of '{missing[0]}' is not known", "F5001", 5)
        if computed:
            data = self._with_outputs(computed).SerializeToString()
            results = self.reference(data, self.folder, 1).run(computed, self.inputs)
            values |= zip(computed, results)
        return values

    def _run_cut(self, candidates) -> tuple | None:
        """An output is not fused away, which may hide the fault: cut the model behind a value instead."""
        low, high, found = 0, len(candidates) - 1, None
        while low <= high:
            middle = (low + high) // 2
            node, name = candidates[middle]
            self.note(f"cutting the model at '{name}'")
            comparison = self._compare([name])[0]
            if comparison and not comparison.ok:
                how = "when the model ends there, and not when every value is kept"
                found = node, self._describe(node, comparison, how)
                high = middle - 1
            else:
                low = middle + 1
        return found

    def _describe(self, node, comparison: Comparison, how: str) -> dict:
        return {"node": name_of(node), "op": node.op_type, "output": comparison.name, "how": how, **comparison.as_dict()}

    def _ancestors(self, outputs: list[str]) -> set[str]:
        producers = {name: node for node in self.proto.graph.node for name in node.output}
        needed, stack = set(), list(outputs)
        while stack:
            name = stack.pop()
            if name in needed or name not in producers:
                continue
            needed.add(name)
            stack += self._uses(producers[name])
        return needed

    def _uses(self, node) -> list[str]:
        names = list(node.input)
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                for inner in graph.node:
                    names += self._uses(inner)
        return names

    def _with_outputs(self, names: list[str]):
        model = self.onnx.ModelProto()
        model.CopyFrom(self.proto)
        del model.graph.output[:]
        model.graph.output.extend(self.declared[name] for name in names)
        return model

    def _compare(self, names: list[str]) -> list[Comparison | None]:
        """Compares these values as the model's only outputs. None where it could not be done."""
        return [pair and self._worst(name, *pair) for name, pair in zip(names, self.values(names))]

    def values(self, names: list[str]) -> list[tuple | None]:
        """These values as the model's only outputs: ours and the reference's. None where they could not be had."""
        model = self._with_outputs(names)
        data = model.SerializeToString()
        try:
            artifact = compile_model(data, base_folder=self.folder, **self.options)
            got = Session(artifact, **self.run_on)
            results = got.run(None, {info.name: self.inputs[info.name] for info in got.inputs})
            wanted = self.reference(data, self.folder, 1).run(names, self.inputs)
        except Error as error:
            if len(names) == 1:
                self.note(f"'{names[0]}' cannot be an output: {error}")
                return [None]
            middle = len(names) // 2
            return self.values(names[:middle]) + self.values(names[middle:])
        return list(zip(results, wanted))

    def _worst(self, name: str, got, want) -> Comparison:
        """The first difference of a value, which may be a sequence or an optional."""
        compared = [compare(*pair, *self.tolerated(name)) for pair in tensors_of(name, got, want)]
        return next((comparison for comparison in compared if not comparison.ok), compared[0])


def declared_values(proto) -> dict:
    """Of the nodes' outputs whose type is declared or follows, what is known of them."""
    graph = proto.graph
    declared = {info.name: info for info in [*graph.value_info, *graph.output]}
    try:
        inferred = import_onnx().shape_inference.infer_shapes(proto).graph
        declared = {info.name: info for info in [*inferred.value_info, *inferred.output]} | declared
    except Exception:
        # Types then come from the file alone; values without one are not looked at.
        pass
    return {name: info for name, info in declared.items() if info.type.WhichOneof("value")}


def declared_types(proto, declared: dict | None = None) -> dict:
    """Of all values, inputs too."""
    declared = declared_values(proto) if declared is None else declared
    return {info.name: info.type for info in [*proto.graph.input, *declared.values()]}


def _single(step):
    """A walk of one step."""
    yield step


def _kind(value):
    """What must agree for two values to be inputs of the same model."""
    if isinstance(value, list):
        return ("sequence", value[0].dtype if value else None, *sorted({element.ndim for element in value}))
    return ("absent",) if value is None else (value.shape, value.dtype)
