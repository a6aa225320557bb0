"""An exported program of PyTorch as a compiled model, which reads and writes tensors where they lie."""

from __future__ import annotations

import logging
import math
import os
import tempfile
import threading
import warnings

import numpy as np
import torch

from .compile import compile
from .errors import Error
from .session import Session

_log = logging.getLogger("fathom")


class Unsupported(Exception):
    """Why a program is left to PyTorch."""


def _aliased(node: torch.fx.Node, is_written: bool) -> list[torch.fx.Node]:
    """The operands whose memory a node's result may be, or that it writes to."""
    if node.op != "call_function":
        return []
    schema = getattr(node.target, "_schema", None)
    if schema is None:  # an element of several results
        return [] if is_written else [each for each in node.args[:1] if isinstance(each, torch.fx.Node)]
    found = []
    for place, argument in enumerate(schema.arguments):
        if argument.alias_info is None or (is_written and not argument.alias_info.is_write):
            continue
        value = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
        found += [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, torch.fx.Node)]
    return found


def _changed_arguments(graph: torch.fx.Graph) -> list[str]:
    """The arguments that the graph writes to, itself or through views of them."""
    left = [operand for node in graph.nodes for operand in _aliased(node, is_written=True)]
    seen: set[torch.fx.Node] = set()
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += _aliased(node, is_written=False)
    return [node.name for node in graph.nodes if node in seen and node.op in ("placeholder", "get_attr")]


def _draws_random_numbers(node: torch.fx.Node) -> bool:
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    # Dropout draws none but in training.
    for place, argument in enumerate(node.target._schema.arguments):
        value = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        if argument.name in ("train", "training") and value is False or argument.name in ("p", "dropout", "dropout_p") and value == 0:
            return False
    return True


def _refuse_effects(exported: torch.export.ExportedProgram) -> None:
    """A compiled model computes results from inputs and does nothing else."""
    signature = exported.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    for module in exported.graph_module.modules():
        if isinstance(graph := getattr(module, "graph", None), torch.fx.Graph):
            changed += _changed_arguments(graph)
            for node in graph.nodes:
                if _draws_random_numbers(node):
                    raise Unsupported(f"{node.target} draws random numbers")
    if changed:
        raise Unsupported(f"it changes {', '.join(dict.fromkeys(changed))} in place")


def _ranges(exported: torch.export.ExportedProgram) -> dict[str, tuple[int, int]]:
    """The ranges of dimensions that have an end."""
    limits = {}
    for symbol, bounds in exported.range_constraints.items():
        if math.isfinite(upper := float(bounds.upper)) and upper < 1 << 31:
            limits[str(symbol)] = (int(bounds.lower), int(upper))
    return limits


def _to_onnx(exported: torch.export.ExportedProgram, folder: str) -> str:
    path = os.path.join(folder, "model.onnx")
    # What the exporter tells and warns of is about itself.
    exporters = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [exporter.level for exporter in exporters]
    for exporter in exporters:
        exporter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(exported, (), dynamo=True, verbose=False, optimize=True)
            program.save(path, external_data=True)
    finally:
        for exporter, level in zip(exporters, levels):
            exporter.setLevel(level)
    return path


_EXPORTER = threading.Lock()  # it is not made for several threads


class TensorProgram:
    """Runs on tensors in the host's memory. Inputs and outputs are the tensors of the exported program, in its order."""

    def __init__(self, exported: torch.export.ExportedProgram, threads: int = 0, **options):
        _refuse_effects(exported)
        with _EXPORTER, tempfile.TemporaryDirectory(prefix="fathom-torch-") as folder:
            path = _to_onnx(exported, folder)
            dims = {**_ranges(exported), **dict(options.pop("dim", None) or {})}
            if dims:
                options["dim"] = dims
            self.session = Session(_compile_with_known(path, options), threads=threads or torch.get_num_threads())
        self._dtypes = [getattr(torch, info.dtype.name) for info in self.session.inputs]
        self._results = [getattr(torch, info.dtype.name) for info in self.session.outputs]
        # By the shapes of the inputs, those of the outputs: a run on shapes that were there before asks nothing.
        self._shapes: dict[tuple, list] = {}

    def __call__(self, tensors) -> list[torch.Tensor]:
        inputs = [self._prepare(i, tensor) for i, tensor in enumerate(tensors)]
        key = tuple([tensor.shape for tensor in inputs])
        shapes = self._shapes.get(key)
        if shapes is None:
            shapes = self.session.output_shapes([list(shape) for shape in key])
            if any(-1 in shape for shape in shapes):
                return self._run_with_unknown(inputs)
            if len(self._shapes) >= 256:  # a stream of ever new shapes must not fill the memory
                self._shapes.clear()
            self._shapes[key] = shapes
        outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in zip(shapes, self._results)]
        self.session.run_tensors(inputs, outputs)
        return outputs

    def _prepare(self, index: int, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is not self._dtypes[index] or tensor.device.type != "cpu":
            name = self.session.inputs[index].name
            raise Error(f"input '{name}' is {self._dtypes[index]} on the CPU, the tensor {tensor.dtype} on {tensor.device}", "F1012", 1)
        if tensor.requires_grad:
            tensor = tensor.detach()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        return tensor if tensor.is_contiguous() else tensor.contiguous()

    def _run_with_unknown(self, inputs: list) -> list:
        """Where data decides the size of an output, the runtime makes it."""
        feed = {info.name: np.asarray(tensor) for info, tensor in zip(self.session.inputs, inputs)}
        return [torch.from_numpy(np.ascontiguousarray(array)) for array in self.session.run(None, feed)]


def _compile_with_known(path: str, options: dict):
    """Ranges of dimensions that the exporter dropped, as nothing depends on them, are none."""
    try:
        return compile(path, **options)
    except Error as error:
        if "dim" not in options or "dimension" not in error.message:
            raise
        _log.debug("compiled without ranges: %s", error.message)
        return compile(path, **{name: value for name, value in options.items() if name != "dim"})
