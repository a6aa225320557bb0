"""Files that commands and sessions are given, and what is told of those that cannot be read."""

from __future__ import annotations

import contextlib
import zipfile
from typing import BinaryIO, Iterator

import numpy as np

from .errors import Error


@contextlib.contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file to read from; what is wrong with it, or with what it holds, is told with its path."""
    try:
        with open(path, "rb") as file:
            yield file
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Error(f"cannot read '{path}': {reason}", "F1001", 1) from error


def read_array(path: str) -> np.ndarray:
    """What an .npy file has."""
    with opened(path) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """What an .npz file has, by name."""
    with opened(path) as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def is_compiled(start: bytes) -> bool:
    """Whether what begins so is an artifact, and not an ONNX model."""
    return start[:4] == b"\x7fELF"
