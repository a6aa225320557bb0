"""The backend of torch.compile: graphs that TorchDynamo found, compiled at their first run.

A parameter or buffer is a constant of the compiled graph, packed for the machine; one that changed is noticed, and the graph compiled anew.
What cannot be compiled runs in PyTorch, and the logger "fathom" tells why.
"""

from __future__ import annotations

import logging
import operator
import threading

import torch

from .torch_program import TensorProgram, Unsupported

_log = logging.getLogger("fathom")
_MOST_PROGRAMS = 8  # of one graph, for values and sizes that turned out to be fixed in code


class _Number:
    """What stands for a number that TorchDynamo passes as a tensor: the graph asks for its item()."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def _state(tensor: torch.Tensor) -> tuple:
    """Changes when the tensor's numbers may have."""
    return tensor.data_ptr(), None if tensor.is_inference() else tensor._version


class _Graph(torch.nn.Module):
    """The graph as a function of its tensors alone, for torch.export; what else it takes is bound."""

    def __init__(self, graph: torch.fx.GraphModule, sources: list, values: list, results: list[int]):
        super().__init__()
        self.graph, self.sources, self.results = graph, sources, results
        self.names: dict[int, str] = {}
        for i, (kind, *_) in enumerate(sources):
            if kind != "weight":
                continue
            self.names[i] = f"weight_{i}"
            if isinstance(values[i], torch.nn.Parameter):
                self.register_parameter(self.names[i], values[i])
            else:
                self.register_buffer(self.names[i], values[i])
        self.constants = [None if kind in ("weight", "tensor", "size") else values[i] for i, (kind, *_) in enumerate(sources)]

    def forward(self, *tensors):
        arguments = []
        for i, (kind, *where) in enumerate(self.sources):
            if kind == "weight":
                arguments.append(getattr(self, self.names[i]))
            elif kind == "tensor":
                arguments.append(tensors[where[0]])
            elif kind == "size":
                arguments.append(tensors[where[0]].shape[where[1]])
            else:
                arguments.append(_Number(self.constants[i].item()) if kind == "number" else self.constants[i])
        results = self.graph(*arguments)
        return tuple(results[i] for i in self.results)


def _is_symbolic(size) -> bool:
    return isinstance(size, torch.SymInt) and not isinstance(size.node.maybe_as_int(), int)


def _lift(module: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """A graph that takes the tensors that it holds itself as further arguments, behind its own, and these tensors.

    TorchDynamo passes weights as arguments, unless another backend was configured to freeze them.
    """
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    lifted: dict[str, torch.fx.Node] = {}
    tensors = []
    begin = next(node for node in graph.nodes if node.op not in ("placeholder", "get_attr"))
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        value = operator.attrgetter(node.target)(module)
        if not isinstance(value, torch.Tensor):
            continue
        if node.target not in lifted:
            with graph.inserting_before(begin):
                lifted[node.target] = place = graph.placeholder(f"held_{len(lifted)}")
            place.meta = {"example_value": value, "tensor_dict": {"_dynamo_static_input_type": "held"}}
            tensors.append(value)
        node.replace_all_uses_with(lifted[node.target])
        graph.erase_node(node)
    return (torch.fx.GraphModule(module, graph), tensors) if tensors else (module, [])


class _Compiled:
    """What runs in place of a graph."""

    def __init__(self, graph: torch.fx.GraphModule, threads: int, options: dict):
        self._original, self._threads, self._options = graph, threads, options
        self._graph, self._held = _lift(graph)
        self._lock = threading.Lock()
        self._programs: list[tuple[list, list, TensorProgram]] = []
        self._weights: list[tuple[int, tuple]] = []
        self._is_eager = False
        self._find_sources()
        self._find_results()

    def _find_sources(self) -> None:
        """For each argument: a weight, a tensor, the size of a tensor's dimension, or a value that is fixed in code."""
        places = [node for node in self._graph.graph.nodes if node.op == "placeholder"]
        examples = [node.meta.get("example_value") for node in places]
        self._sources: list[tuple] = []
        self._dynamic: list[list[int]] = []  # of each tensor, the dimensions that change
        sizes: dict = {}
        for node, example in zip(places, examples):
            if not isinstance(example, torch.Tensor):
                self._sources.append(("value",))
                continue
            if example.device.type != "cpu":
                raise Unsupported(f"a tensor is on {example.device}")
            if isinstance(example, torch.nn.Parameter) or (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type"):
                self._sources.append(("weight",))
            elif example.ndim == 0 and node.users and all(user.op == "call_method" and user.target == "item" for user in node.users):
                self._sources.append(("number",))
            else:
                number = len(self._dynamic)
                self._sources.append(("tensor", number))
                self._dynamic.append([d for d, size in enumerate(example.shape) if _is_symbolic(size)])
                for d in self._dynamic[-1]:
                    sizes.setdefault(example.shape[d].node.expr, (number, d))
        for i, example in enumerate(examples):
            if isinstance(example, torch.SymInt) and example.node.expr in sizes:
                self._sources[i] = ("size", *sizes[example.node.expr])
        self._sizes = sizes
        self._fixed = [i for i, (kind, *_) in enumerate(self._sources) if kind in ("value", "number")]
        self._tensors = [i for i, (kind, *_) in enumerate(self._sources) if kind == "tensor"]
        self._statics = [i for i, (kind, *_) in enumerate(self._sources) if kind == "weight"]
        if not self._tensors:
            raise Unsupported("it takes no tensor")

    def _find_results(self) -> None:
        """For each result: an argument, a constant, or the number of one that is computed."""
        places = {node: i for i, node in enumerate(node for node in self._graph.graph.nodes if node.op == "placeholder")}
        held = {_storage(node) for node in places} - {None}
        [output] = [node for node in self._graph.graph.nodes if node.op == "output"]
        self._results: list[tuple] = []
        self._computed: list[int] = []
        numbers: dict = {}
        for i, result in enumerate(output.args[0]):
            if not isinstance(result, torch.fx.Node):
                self._results.append(("constant", result))
            elif result in places:
                self._results.append(("argument", places[result]))
            elif isinstance(example := result.meta.get("example_value"), torch.Tensor):
                if _storage(result) in held:
                    raise Unsupported(f"the result {result.name} is the memory of an argument")
                if result not in numbers:
                    numbers[result] = len(self._computed)
                    self._computed.append(i)
                self._results.append(("computed", numbers[result]))
            elif isinstance(example, torch.SymInt) and example.node.expr in self._sizes:
                self._results.append(("size", *self._sizes[example.node.expr]))
            else:
                raise Unsupported(f"the result {result.name} is no tensor")
        if not self._computed:
            raise Unsupported("it computes no tensor")

    def __call__(self, *given):
        arguments = (*given, *self._held)
        program = None if self._is_eager else self._find(arguments) or self._add(arguments)
        if program is None:
            return self._original(*given)
        tensors = [arguments[i] for i in self._tensors]
        made = program(tensors)
        results = []
        for kind, *where in self._results:
            if kind == "computed":
                results.append(made[where[0]])
            elif kind == "argument":
                results.append(arguments[where[0]])
            else:
                results.append(tensors[where[0]].shape[where[1]] if kind == "size" else where[0])
        return results

    def _find(self, arguments) -> TensorProgram | None:
        for i, state in self._weights:
            if _state(arguments[i]) != state:
                return None
        for fixed, sizes, program in self._programs:
            if all(_plain(arguments[i]) == value for i, value in fixed) and all(arguments[i].shape[d] == n for i, d, n in sizes):
                return program
        return None

    def _add(self, arguments) -> TensorProgram | None:
        """Compiles the graph for these arguments; None where PyTorch has to run it."""
        with self._lock:
            if (program := self._find(arguments)) is not None:  # another thread did
                return program
            weights = [(i, _state(arguments[i])) for i in self._statics]
            if weights != self._weights:
                if self._programs:
                    _log.info("weights changed: a graph is compiled again")
                self._programs, self._weights = [], weights
            try:
                if len(self._programs) >= _MOST_PROGRAMS:
                    raise Unsupported(f"it has other sizes or values each time, {_MOST_PROGRAMS} so far")
                program = self._compile(arguments)
            except Exception as reason:  # whatever the exporter or the compiler does not know
                _fall_back(self._graph, reason)
                self._is_eager = True
                return None
            fixed = [(i, _plain(arguments[i])) for i in self._fixed]
            # Dimensions that turned out to have one size.
            sizes = [
                (place, d, arguments[place].shape[d])
                for place, dims in zip(self._tensors, self._dynamic)
                for d in dims
                if not self._is_free(program, place, d)
            ]
            self._programs.append((fixed, sizes, program))
            return program

    def _is_free(self, program: TensorProgram, place: int, dim: int) -> bool:
        shape = program.session.inputs[self._tensors.index(place)].shape
        return shape is not None and not isinstance(shape[dim], int)

    def _compile(self, arguments) -> TensorProgram:
        module = _Graph(self._graph, self._sources, list(arguments), self._computed)
        with torch.inference_mode(False), torch.no_grad():
            # Of the same sizes: what is in them does not matter, and how they came about neither.
            examples = tuple(torch.zeros(arguments[i].shape, dtype=arguments[i].dtype) for i in self._tensors)
            shapes = tuple({d: torch.export.Dim.AUTO for d in dims} for dims in self._dynamic)
            exported = torch.export.export(module, examples, dynamic_shapes=(shapes,) if any(self._dynamic) else None, strict=False)
        return TensorProgram(exported, self._threads, **self._options)


def _plain(value):
    return value.item() if isinstance(value, torch.Tensor) else value


def _storage(node: torch.fx.Node):
    """Of what a node gives: equal where one is a view of the other."""
    example = node.meta.get("example_value")
    if not isinstance(example, torch.Tensor) or example.layout is not torch.strided:
        return None
    return example.untyped_storage()._cdata


def _fall_back(graph: torch.fx.GraphModule, reason) -> None:
    while getattr(reason, "__cause__", None) is not None:  # exporters say which of their steps failed, and the cause why
        reason = reason.__cause__
    words = str(reason).strip().splitlines()
    _log.warning("a graph of %d nodes runs in PyTorch: %s", len(graph.graph.nodes), words[0] if words else type(reason).__name__)


def backend(graph: torch.fx.GraphModule, example_inputs, *, options: dict | None = None, mode: str | None = None):
    """torch.compile(model, backend="fathom", options={...}): the options of fathom.compile, and `threads`, torch's own by default."""
    options = dict(options or {})
    threads = options.pop("threads", 0)
    try:
        if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in example_inputs):
            raise Unsupported("gradients are asked for; with torch.no_grad() or torch.inference_mode() it would be compiled")
        return _Compiled(graph, threads, options)
    except Unsupported as reason:
        _fall_back(graph, reason)
        return graph.forward


torch._dynamo.register_backend(backend, name="fathom")
