"""A compiled model, loaded: what it takes and gives, whoever runs it."""

from __future__ import annotations

import json
import os

import numpy as np

from . import _runtime
from .errors import without_nul
from .sequences import TensorInfo, group

# NumPy has no such types of its own. A byte holds one element of the smaller ones.
_ML_DTYPES = {
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
    "int4",
    "uint4",
    "int2",
    "uint2",
}


def numpy_dtype(name: str) -> np.dtype:
    if name in _ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(object if name == "string" else name)


def _describe(entries: list[dict], declared: list[dict]) -> list[TensorInfo]:
    infos = []
    for entry, words in zip(entries, declared):
        # The runtime knows the symbols of inputs only; the manifest has those of outputs too.
        shape = tuple(
            size if size is not None else (word if isinstance(word, str) and word != "?" else None)
            for size, word in zip(entry["shape"], words["shape"])
        )
        infos.append(TensorInfo(entry["name"], numpy_dtype(entry["dtype"]), shape))
    return infos


class Model:
    """A compiled model in memory, its weights mapped once, for any number of sessions at the same time.

    model = fathom.Model(fathom.compile("model.onnx"))
    one, two = fathom.Session(model, threads=1), fathom.Session(model, threads=1)
    """

    def __init__(self, artifact, check: bool = False):
        """`artifact` is a path or what fathom.compile returned. With `check`, code and weights are compared with its checksum first."""
        path = artifact.path if hasattr(artifact, "path") else without_nul(os.fspath(artifact))
        self._artifact = artifact
        if check:
            _runtime.check(os.fsencode(path))
        self._loaded = _runtime.Model(os.fsencode(path))
        self.manifest: dict = json.loads(self._loaded.manifest())
        # The artifact's tensors, and the model's inputs and outputs made of them: a sequence or an optional has several.
        self.tensors = _describe(self._loaded.inputs(), self.manifest["inputs"])
        self.results = _describe(self._loaded.outputs(), self.manifest["outputs"])
        self.groups = group(self.tensors, self.manifest["inputs"])
        self.output_groups = group(self.results, self.manifest["outputs"])
        self.inputs = [found.info for found in self.groups]
        self.outputs = [found.info for found in self.output_groups]
        # Name, smallest and largest size of each symbolic dimension.
        self.symbols: list[tuple[str, int, int]] = self._loaded.symbols()
        # Outputs that may be the memory of an input: one array given for both is changed in place.
        self.aliases = {
            self.results[o].name: self.tensors[i].name for o, i in enumerate(self._loaded.aliases()) if i >= 0
        }

    @property
    def variant(self) -> str | None:
        """The CPU whose code was taken, of an artifact for several; None of one that was compiled for one alone."""
        return self._loaded.variant() or None

    @property
    def kernels(self) -> list[tuple[str, str]]:
        """The name of each kernel and the ONNX nodes that it computes, separated by commas."""
        return self._loaded.kernels()

    def runner(self, threads: int, device: int, stream: int, concurrency: int):
        """What runs it, with contexts of its own."""
        # A device is one, however many ask for it.
        limit = 1 if self.manifest["target"]["host"] else concurrency
        return self._loaded.runner(threads, device, stream, limit)

    def __repr__(self):
        return f"<fathom.Model {len(self.kernels)} kernels for {self.manifest['target']['cpu']}>"
