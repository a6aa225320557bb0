"""Sequences and optionals of a model: how each is a group of the artifact's tensors, and back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .errors import Error


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. A dimension is a number, the name of a symbol, or None where it has neither.

    `kind` is "tensor", "sequence", "optional", "optional sequence" or "maps". The shape of a sequence is that of its
    elements, or None where they may have any rank; that of maps has as many rows as there are maps, and a column for
    each of their keys. Strings have NumPy's type object.
    """

    name: str
    dtype: np.dtype
    shape: tuple | None
    kind: str = "tensor"


@dataclass
class Group:
    """What the model has as one input or output, and the numbers of its tensors in the artifact by part."""

    info: TensorInfo
    parts: dict = field(default_factory=dict)
    keys: list | None = None  # of the map that every row is

    @property
    def is_sequence(self) -> bool:
        return "data" in self.parts

    @property
    def is_optional(self) -> bool:
        return "present" in self.parts


def group(tensors: list[TensorInfo], declared: list[dict]) -> list[Group]:
    groups: dict[str, Group] = {}
    for i, (tensor, words) in enumerate(zip(tensors, declared)):
        name, part = words.get("of", tensor.name), words.get("part", "value")
        groups.setdefault(name, Group(tensor)).parts[part] = i
        groups[name].keys = words.get("keys")
    for name, found in groups.items():
        if found.keys is not None:
            found.info = TensorInfo(name, found.info.dtype, found.info.shape, "maps")
        if found.parts.keys() == {"value"}:
            continue
        shape = tensors[found.parts.get("value", 0)].shape
        if found.is_sequence:
            rank = tensors[found.parts["shapes"]].shape[1]
            shape = (None,) * rank if isinstance(rank, int) else None
        kind = " ".join(
            word for word, holds in (("optional", found.is_optional), ("sequence", found.is_sequence)) if holds
        )
        dtype = tensors[found.parts["data" if found.is_sequence else "value"]].dtype
        found.info = TensorInfo(name, dtype, shape, kind)
    return list(groups.values())


def bad_input(message: str, hint: str = "") -> Error:
    return Error(message, "F1012", 1, hint=hint)


def spell(shape) -> str:
    if shape is None:
        return " of any rank"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def _as_strings(value: np.ndarray, name: str) -> np.ndarray:
    if value.dtype.kind not in "OSTU":
        raise bad_input(f"input '{name}' is string, the array is {value.dtype}")
    strings = value.astype(object)
    for text in strings.flat:
        if not isinstance(text, (str, bytes)):
            raise bad_input(f"input '{name}' is string, and an element of the array is {type(text).__name__}")
    return strings


def as_array(value, name: str, info: TensorInfo) -> np.ndarray:
    """An array of the input's own type and rank."""
    if not isinstance(value, np.ndarray):
        value = np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    if info.dtype == object:
        value = _as_strings(value, name)
    # A silent conversion would hide a mistake, and cost a copy at every run.
    if value.dtype != info.dtype:
        raise bad_input(
            f"input '{name}' is {info.dtype}, the array is {value.dtype}",
            f"convert it with array.astype('{info.dtype}')",
        )
    if info.shape is not None and (
        value.ndim != len(info.shape)
        or any(isinstance(n, int) and n != m for n, m in zip(info.shape, value.shape))
    ):
        raise bad_input(f"input '{name}' has shape {spell(info.shape)}, the array {spell(value.shape)}")
    return value


def take_apart(found: Group, value, tensors: list[TensorInfo], sizes: dict) -> dict[int, np.ndarray]:
    """The arrays of an input by the tensor's number. `sizes` has the symbols that are known."""
    name, info = found.info.name, found.info
    arrays = {}
    if found.is_optional:
        arrays[found.parts["present"]] = np.array(value is not None)
    if not found.is_sequence:
        number = found.parts["value"]
        if value is None and found.is_optional:
            shape = [n if isinstance(n, int) else sizes.get(n, 1) for n in tensors[number].shape]
            value = np.zeros(shape, info.dtype)
        arrays[number] = as_array(value, name, info)
        return arrays
    if value is None and found.is_optional:
        value = []
    if not isinstance(value, (list, tuple)):
        raise bad_input(f"input '{name}' is a sequence and takes a list of arrays, not {type(value).__name__}")
    elements = [as_array(element, f"{name}[{i}]", info) for i, element in enumerate(value)]
    rank = len(info.shape) if info.shape is not None else elements[0].ndim if elements else 0
    for i, element in enumerate(elements):
        if element.ndim != rank:
            raise bad_input(f"input '{name}[{i}]' has {element.ndim} dimensions, other elements have {rank}")
    flat = [np.ravel(element) for element in elements]
    arrays[found.parts["data"]] = np.concatenate(flat) if flat else np.zeros(0, info.dtype)
    arrays[found.parts["shapes"]] = np.array([e.shape for e in elements], np.int64).reshape(len(elements), rank)
    return arrays


def put_together(found: Group, results):
    """An input or output as Python has it: an array, a list of arrays or of maps, or None for what is absent.

    `results` has its tensors by their numbers.
    """
    if found.is_optional and not results[found.parts["present"]]:
        return None
    if found.keys is not None:
        return [dict(zip(found.keys, row)) for row in results[found.parts["value"]].tolist()]
    if not found.is_sequence:
        return results[found.parts["value"]]
    data, elements, start = results[found.parts["data"]], [], 0
    for shape in results[found.parts["shapes"]]:
        count = int(np.prod(shape))
        elements.append(data[start : start + count].reshape(shape))
        start += count
    return elements
