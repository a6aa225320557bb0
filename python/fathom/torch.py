"""PyTorch's modules and exported programs, compiled: fathom.torch.compile, and what torch.compile(backend="fathom") takes."""

from __future__ import annotations

import torch
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.utils import _pytree as pytree

from .dynamo import backend
from .errors import Error
from .torch_program import TensorProgram, Unsupported

__all__ = ["CompiledProgram", "backend", "compile"]


class CompiledProgram:
    """An exported program that runs compiled: called with the arguments that it was exported for, it gives what it gave."""

    def __init__(self, exported: torch.export.ExportedProgram, threads: int = 0, **options):
        self._in_spec, self._out_spec = exported.call_spec.in_spec, exported.call_spec.out_spec
        self._arguments = [spec.arg for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
        self._results = list(exported.graph_signature.user_outputs)
        try:
            self._program = TensorProgram(exported, threads, **options)
        except Unsupported as reason:
            raise Error(f"the program cannot be compiled: {reason}", "F1003", 1) from reason

    @property
    def session(self):
        return self._program.session

    def __call__(self, *args, **kwargs):
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise Error("the arguments are not those that the program was exported for", "F1012", 1, hint=str(self._in_spec))
        for value, argument in zip(flat, self._arguments):
            # A number that is no tensor is part of the program.
            if isinstance(argument, ConstantArgument) and (type(value) is not type(argument.value) or value != argument.value):
                message = f"the arguments are not those that the program was exported for: {value!r} was {argument.value!r}"
                raise Error(message, "F1012", 1, hint="pass it as a tensor, or compile the program for it")
        made = iter(self._program([value for value in flat if isinstance(value, torch.Tensor)]))
        # What no node computes is a constant.
        results = [next(made) if isinstance(name, str) else name for name in self._results]
        return pytree.tree_unflatten(results, self._out_spec)

    def __repr__(self):
        return f"<fathom.torch.CompiledProgram {self.session!r}>"


def compile(program, example_inputs=(), kwargs=None, *, dynamic_shapes=None, threads: int = 0, **options) -> CompiledProgram:
    """Compiles a torch.export.ExportedProgram, or a torch.nn.Module, which is exported on `example_inputs` first.

    `dynamic_shapes` are torch.export's; `threads` are those of a run, torch's own by default; other options are fathom.compile's.
    """
    if not isinstance(program, torch.export.ExportedProgram):
        training = [part for part in program.modules() if part.training]
        try:
            with torch.no_grad():
                program = torch.export.export(program.eval(), tuple(example_inputs), kwargs, dynamic_shapes=dynamic_shapes)
        finally:
            for part in training:  # the module is the caller's
                part.training = True
    return CompiledProgram(program, threads, **options)
