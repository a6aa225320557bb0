"""Running a compiled model on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error
from .model import Model
from .profile import write_trace
from .report import html_table
from .sequences import TensorInfo, as_array, bad_input, put_together, spell, take_apart
from .strings import PAIR, pack, unpack


class _Closed:
    """What a session has in place of its model and a runner when it is closed."""

    def __getattr__(self, name: str):
        raise bad_input("the session is closed")


class Session:
    """A compiled model that runs. `run` may be called from several threads: as many runs as `concurrency` says go on at a time."""

    def __init__(
        self,
        artifact,
        threads: int = 0,
        check: bool = False,
        device: int | None = None,
        stream: int = 0,
        concurrency: int = 0,
    ):
        """`artifact` is a path, what fathom.compile returned, or a Model; `threads` of each run, 0 means all CPUs.

        `concurrency` is how many runs at most go on at the same time, others wait: 0 means as many as the CPUs suffice for, which is
        one where a run takes all of them. Each has an arena of its own, which is made when it is needed first.
        A model that was compiled for devices runs on number `device`; None: the one that FATHOM_DEVICE names, or the first.
        `stream` is a CUDA stream to run in (torch.cuda.current_stream().cuda_stream); 0: one of the session's own.
        With `check`, code and weights are compared with the artifact's checksum first.
        """
        self.model: Any = artifact if isinstance(artifact, Model) else Model(artifact, check)
        if threads not in range(1 << 31):  # the runtime says what it takes of those
            raise Error(f"threads is {threads}: expected 0 for the default, or their number", "F1012", 1)
        if concurrency not in range(1 << 31):
            raise Error(f"concurrency is {concurrency}: expected 0 for the default, or a number of runs", "F1012", 1)
        if device is not None and device not in range(1 << 31):
            raise Error(f"device is {device}: expected the number of a device, from 0", "F1012", 1)
        self._runner: Any = self.model.runner(threads, -1 if device is None else device, stream, concurrency)
        self.manifest = self.model.manifest
        self._tensors, self._results = self.model.tensors, self.model.results
        self.groups, self._output_groups = self.model.groups, self.model.output_groups
        self.inputs, self.outputs = self.model.inputs, self.model.outputs
        self.symbols, self.aliases = self.model.symbols, self.model.aliases
        self.threads: int = self._runner.threads()
        self.concurrency: int = self._runner.limit()
        self._input_index = {info.name: i for i, info in enumerate(self.inputs)}
        self._output_index = {info.name: i for i, info in enumerate(self.outputs)}
        # For runs on shapes that were there before: the sizes of all outputs by those of the inputs. Types of NumPy's own
        # and tensors only.
        everything = [*self._tensors, *self._results]
        kinds = {found.info.kind for found in [*self.groups, *self._output_groups]}
        self._is_plain = kinds <= {"tensor"} and all(info.dtype.kind in "biuf" for info in everything)
        self._seen: dict[tuple, list] = {}

    def close(self) -> None:
        """Frees what runs need, and the model where nobody else has it. Runs that go on come to their end first."""
        self.model = self._runner = _Closed()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def run(self, output_names, inputs: dict, outputs: dict | None = None) -> list:
        """Runs the model on {name: array} and returns the outputs named, or all of them for None.

        A sequence is a list of arrays, and an optional that is absent is None. Strings are arrays of str, or of bytes.

        `outputs` gives arrays that the model writes into, by name; they are returned in place of new ones.
        """
        if isinstance(output_names, (str, bytes)):
            raise bad_input(f"output_names is {output_names!r}: expected a list of names", f"run([{output_names!r}], ...)")
        if outputs is None and (results := self._run_again(inputs)) is not None:
            return results if output_names is None else [results[self._find_output(name)] for name in output_names]
        if output_names is None:
            wanted = range(len(self.outputs))
        else:
            wanted = [self._find_output(name) for name in output_names]
        arrays = self._arrange(inputs)
        input_dims = [array.shape for array in arrays]
        output_dims = self._runner.output_dims(input_dims)
        # A dimension of -1 is one that data decides: the run makes room for that output.
        given = self._given_outputs(outputs or {}, output_dims)
        results = [
            given[i] if i in given else _room([max(n, 0) for n in dims], info)
            for i, (dims, info) in enumerate(zip(output_dims, self._results))
        ]
        packed = [pack(array) if array.dtype == object else (array, None) for array in arrays]
        made = self._runner.run(
            [_bytes(array) for array, _ in packed], input_dims, [_bytes(r) for r in results], output_dims
        )
        unknown = [i for i, dims in enumerate(output_dims) if -1 in dims]
        if self._is_plain and not unknown:
            if len(self._seen) >= 256:  # a stream of ever new shapes must not fill the memory
                self._seen.clear()
            self._seen[tuple(input_dims)] = [(tuple(dims), info.dtype) for dims, info in zip(output_dims, self._results)]
        for i, (dims, data) in zip(unknown, made):
            room = _room([0] * len(dims), self._results[i])
            results[i] = np.frombuffer(bytearray(data), room.dtype).reshape([*dims, *room.shape[len(dims) :]])
        for i, info in enumerate(self._results):
            if info.dtype == object:
                # An output's texts may be those of an input, which are still there.
                results[i] = unpack(results[i])
        return [put_together(self._output_groups[i], results) for i in wanted]

    def run_into(self, inputs: dict, outputs: dict) -> None:
        """Runs the model on arrays of any library that knows DLPack, into such arrays, for all inputs and outputs by name.

        All are contiguous and of the model's types. Of a model for CUDA they may be on its device: nothing then goes through the
        host. What is in them is ordered with other work by the session's `stream`; without one it must be complete.
        """
        arrays = []
        for infos, given in ((self._tensors, inputs), (self._results, outputs)):
            names = [info.name for info in infos]
            if sorted(given) != sorted(names):
                raise bad_input(f"arrays are given for {', '.join(sorted(given))}", f"the model has {', '.join(names)}")
            arrays.append([given[name] for name in names])
        self.run_tensors(*arrays)

    def run_tensors(self, inputs: list, outputs: list) -> None:
        """The same for lists of arrays, in the model's order."""
        try:
            self._runner.run_into(inputs, outputs)
        except (TypeError, RuntimeError) as error:
            raise bad_input(
                "an array is not contiguous, not of the model's type, in memory that the model cannot reach, or cannot be written"
            ) from error

    def start_profiling(self) -> None:
        """Notes from now on what the threads of each run do, until end_profiling. Costs two readings of a clock for each kernel."""
        self._runner.set_profiling(True)

    def end_profiling(self, path) -> str:
        """Writes what was noted as a trace for chrome://tracing and ui.perfetto.dev; returns the path."""
        self._runner.set_profiling(False)
        return write_trace(self.model.kernels, self._runner.take_profile(), path)

    def output_shapes(self, input_shapes: list) -> list:
        """The shapes of the artifact's outputs for shapes of its inputs, -1 where data decide; refuses what does not fit."""
        return self._runner.output_dims(input_shapes)

    def _run_again(self, inputs: dict) -> list | None:
        """The results for arrays that need no check but whether their shapes were there before; None for others."""
        if not self._seen or len(inputs) != len(self._tensors):
            return None
        arrays = []
        for info in self._tensors:
            array = inputs.get(info.name)
            if type(array) is not np.ndarray or array.dtype != info.dtype:
                return None
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            arrays.append(array)
        sizes = self._seen.get(tuple([array.shape for array in arrays]))
        if sizes is None:
            return None
        results = [np.empty(dims, dtype) for dims, dtype in sizes]
        self._runner.run_arrays(arrays, results)
        return results

    def assemble(self, tensors: dict) -> dict:
        """The model's inputs from the artifact's tensors by name: lists for sequences, None for what is absent."""
        for name in tensors:
            if name not in (known := [info.name for info in self._tensors]):
                raise bad_input(f"the model has no input '{name}'", f"its inputs are {', '.join(known)}")
        inputs = {}
        for found in self.groups:
            names = {part: self._tensors[number].name for part, number in found.parts.items()}
            there = {part: name for part, name in names.items() if name in tensors}
            if not there:
                continue
            # What is optional is there unless its flag says otherwise.
            missing = [name for part, name in names.items() if part not in there and part != "present"]
            if missing:
                raise bad_input(f"input '{missing[0]}' is missing", f"it goes with '{min(there.values())}'")
            arrays = {number: tensors.get(self._tensors[number].name, True) for number in found.parts.values()}
            try:
                inputs[found.info.name] = put_together(found, arrays)
            except (ValueError, TypeError) as error:
                raise bad_input(f"input '{found.info.name}' has sizes that do not go with its values") from error
        return inputs

    def _find_output(self, name: str) -> int:
        if name not in self._output_index:
            raise bad_input(f"the model has no output '{name}'", f"its outputs are {', '.join(self._output_index)}")
        return self._output_index[name]

    def _given_outputs(self, outputs: dict, output_dims: list) -> dict[int, np.ndarray]:
        """The caller's arrays by the output's number, each fit to be written where it lies."""
        given = {}
        for name, array in outputs.items():
            index = self._find_output(name)
            found = self._output_groups[index]
            if found.info.kind != "tensor":
                raise bad_input(f"output '{name}' is a {found.info.kind}, so that no array can be given for it")
            index = found.parts["value"]
            info, dims = found.info, output_dims[index]
            if info.dtype == object:
                raise bad_input(f"output '{name}' has strings, so that no array can be given for it")
            if -1 in dims:
                raise bad_input(f"output '{name}' has a size that data decides, so that no array can be given for it")
            if not isinstance(array, np.ndarray) or not (array.flags.c_contiguous and array.flags.writeable):
                raise bad_input(f"output '{name}' needs a contiguous NumPy array that can be written")
            if array.dtype != info.dtype or list(array.shape) != list(dims):
                raise bad_input(
                    f"output '{name}' is {info.dtype}{spell(dims)}, the array {array.dtype}{spell(array.shape)}"
                )
            given[index] = array
        return given

    def _arrange(self, inputs: dict) -> list[np.ndarray]:
        """The inputs in the model's order, contiguous; an array that already is so is used in place."""
        for name in inputs:
            if name not in self._input_index:
                raise bad_input(f"the model has no input '{name}'", f"its inputs are {', '.join(self._input_index)}")
        for info in self.inputs:
            if info.name not in inputs and not info.kind.startswith("optional"):
                raise bad_input(f"input '{info.name}' is missing")
        arrays: dict[int, np.ndarray] = {}
        sizes = {name: low or 1 for name, low, _ in self.symbols}
        # What is absent takes the sizes of what is there.
        for found in sorted(self.groups, key=lambda found: found.is_optional):
            value = inputs.get(found.info.name)
            if found.info.kind == "tensor":
                arrays[found.parts["value"]] = as_array(value, found.info.name, found.info)
            else:
                arrays.update(take_apart(found, value, self._tensors, sizes))
            for number in found.parts.values():
                shape = self._tensors[number].shape
                sizes.update((n, m) for n, m in zip(shape, arrays[number].shape) if isinstance(n, str))
        return [np.require(arrays[i], requirements=("C", "ALIGNED")) for i in range(len(self._tensors))]

    def _repr_html_(self) -> str:
        rows = [
            [side, info.name, info.kind, "string" if info.dtype == object else str(info.dtype), spell(info.shape)]
            for side, infos in (("input", self.inputs), ("output", self.outputs))
            for info in infos
        ]
        target = self.manifest["target"]["cpu"]
        caption = f"fathom.Session: {len(self.manifest['kernels'])} kernels for {target}, {self.threads} threads"
        return html_table(caption, ["", "name", "kind", "type", "shape"], rows)

    def __repr__(self):
        def describe(infos):
            return ", ".join(
                f"{info.name}: {info.kind + ' of ' if info.kind != 'tensor' else ''}"
                f"{'string' if info.dtype == object else info.dtype}{spell(info.shape)}"
                for info in infos
            )

        return f"<fathom.Session ({describe(self.inputs)}) -> ({describe(self.outputs)})>"


def _room(dims: list[int], info: TensorInfo) -> np.ndarray:
    """What a run writes an output into."""
    try:
        return np.empty([*dims, PAIR], np.uint64) if info.dtype == object else np.empty(dims, info.dtype)
    except MemoryError as error:
        raise Error(f"output '{info.name}' of sizes {list(dims)} does not fit into memory", "F5001", 5) from error


def _bytes(array: np.ndarray) -> np.ndarray:
    """A flat view of an array's bytes, which every element type has."""
    return array.reshape(-1).view(np.uint8)
