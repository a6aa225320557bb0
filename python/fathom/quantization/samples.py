"""Samples of what a model is given: files, or whatever of Python gives dictionaries of arrays."""

from __future__ import annotations

import os
from typing import Iterator

import numpy as np

from ..errors import Error
from ..files import read_array, read_arrays
from ..sequences import as_array

_KINDS = (".npy", ".npz")


def _bad(message: str, hint: str = "") -> Error:
    return Error(message, "F1012", 1, hint=hint)


class Samples:
    """Named samples, as often as they are gone through; nothing of files is kept in memory."""

    def __init__(self, source, session):
        self._session = session
        self._infos = {info.name: info for info in session.inputs}
        if isinstance(source, (str, os.PathLike)):
            self.where = os.fspath(source)
            self._files = _files_of(self.where, list(self._infos))
            self._source = None
        elif callable(source) or hasattr(source, "__iter__"):
            self.where = "the calibration data"
            # What can be gone through once is kept: there are several passes.
            self._source = list(source) if hasattr(source, "__next__") else source
        else:
            raise Error(f"samples are a path, or something to iterate over, not a {type(source).__name__}", "F2001", 2)
        self.count = 0

    def __iter__(self) -> Iterator[tuple[str, dict]]:
        if self._source is None:
            for name, read in self._files:
                yield from self._split(name, read())
            return
        for number, sample in enumerate(self._source() if callable(self._source) else self._source):
            if not isinstance(sample, dict):
                if len(self._infos) != 1:
                    raise _bad(f"sample {number} is a {type(sample).__name__}", "a model of several inputs takes dictionaries of arrays")
                sample = {next(iter(self._infos)): sample}
            yield f"sample {number}", sample

    def check(self):
        """Goes through all samples once and refuses what the model does not take, before anything takes long."""
        self.count = 0
        for name, sample in self:
            self.count += 1
            try:
                self._check(sample)
            except Error as error:
                raise Error(f"{name}: {error.message}", error.code, error.exit_code, error.node, error.hint) from error
        if not self.count:
            raise _bad(f"'{self.where}' has no samples", "expected .npz or .npy files")

    def _check(self, sample: dict):
        known = f"its inputs are {', '.join(self._infos)}"
        for name in sample:
            if name not in self._infos:
                raise _bad(f"the model has no input '{name}'", known)
        shapes = []
        for name, info in self._infos.items():
            if name not in sample:
                if info.kind.startswith("optional"):
                    continue
                raise _bad(f"input '{name}' is missing", known)
            if info.kind != "tensor":
                continue
            array = as_array(sample[name], name, info)
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise _bad(f"input '{name}' has NaN or infinite numbers")
            shapes.append(array.shape)
        if len(shapes) == len(self._session.inputs):
            self._session.output_shapes(shapes)

    def _split(self, name: str, arrays: dict) -> Iterator[tuple[str, dict]]:
        """A file may hold several samples, one after another along the first axis or along one more than the input has."""
        counts = {key: _count(array, self._infos.get(key)) for key, array in arrays.items()}
        if not any(counts.values()):
            yield name, arrays
            return
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{count or 'no more than one'} of '{key}'" for key, count in counts.items())
            raise _bad(f"{name} has different numbers of samples: {told}")
        for i in range(next(iter(counts.values()))):
            yield f"{name}[{i}]", {key: _part(array, i, self._infos[key]) for key, array in arrays.items()}


def _count(array: np.ndarray, info) -> int:
    """How many samples an array is of; 0 where it is one by itself."""
    if info is None or info.shape is None or info.kind != "tensor":
        return 0
    if array.ndim == len(info.shape) + 1:
        return len(array)
    batch = info.shape[0] if info.shape else None
    if array.ndim == len(info.shape) and isinstance(batch, int) and batch and len(array) > batch and len(array) % batch == 0:
        return len(array) // batch
    return 0


def _part(array: np.ndarray, i: int, info) -> np.ndarray:
    if array.ndim > len(info.shape):
        return array[i]
    batch = info.shape[0]
    return array[i * batch : (i + 1) * batch]


def _entries(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise Error(f"cannot read '{folder}': {error.strerror}", "F1001", 1) from error


def _files_of(path: str, inputs: list[str]) -> list[tuple]:
    """Names of samples, with functions that read their arrays by the input's name."""
    if not os.path.isdir(path):
        return [(f"'{path}'", lambda: _read(path, inputs))]
    entries = _entries(path)
    folders = {name: name.replace("/", "_") for name in inputs}
    if any(os.path.isdir(os.path.join(path, entry)) for entry in entries):
        return _by_folders(path, {name: folder for name, folder in folders.items() if folder in entries}, inputs)
    files = [os.path.join(path, entry) for entry in entries if entry.endswith(_KINDS)]
    return [(f"'{file}'", lambda file=file: _read(file, inputs)) for file in files]


def _by_folders(path: str, folders: dict, inputs: list[str]) -> list[tuple]:
    """A folder of files for each input; files of one name are a sample."""
    if not folders:
        raise _bad(f"no folder in '{path}' has an input's name", f"the model's inputs are {', '.join(inputs)}")
    found = {}
    for name, folder in folders.items():
        where = os.path.join(path, folder)
        found[name] = {entry: os.path.join(where, entry) for entry in _entries(where) if entry.endswith(".npy")}
    every = sorted({entry for files in found.values() for entry in files})
    for name, files in found.items():
        if missing := [entry for entry in every if entry not in files]:
            raise _bad(f"'{os.path.join(path, folders[name])}' has no file '{missing[0]}', as other inputs have")

    def read(entry):
        return {name: array for name, files in found.items() for array in _read(files[entry], [name]).values()}

    return [(f"'{os.path.join(path, '*', entry)}'", lambda entry=entry: read(entry)) for entry in every]


def _read(path: str, inputs: list[str]) -> dict:
    """The arrays of a file by the input's name."""
    if path.endswith(".npz"):
        return read_arrays(path)
    array = read_array(path)
    if len(inputs) != 1:
        raise _bad(f"'{path}' is one array, and the model has {len(inputs)} inputs", "give .npz files, or a folder for each input")
    return {inputs[0]: array}
