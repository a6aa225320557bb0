"""Requests and responses of the KServe protocol, version 2, with tensors as JSON or, by its extension, as bytes behind the JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np

from .sequences import bad_input

HEADER_LENGTH = "Inference-Header-Content-Length"

_NAMES = {
    "bool": "BOOL",
    **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)},
    "bfloat16": "BF16",
}
# What JSON spells as numbers or truth values.
_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


@dataclass
class Asked:
    """What a request asks for."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    id: str | None = None
    outputs: dict[str, bool] | None = None  # by name, whether as bytes; None: all
    binary: bool = False  # those that say nothing themselves
    timeout: float | None = None  # seconds


def datatype(dtype: np.dtype) -> str:
    """The protocol's name of a type; those that it has none for keep theirs."""
    return _NAMES.get(dtype.name, dtype.name.upper())


def parse_length(text: str | None) -> int | None:
    """What the header says of the length of the JSON before bytes."""
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise bad_input(f"{HEADER_LENGTH} is not a number")
    return int(text)


def parse(body: bytes, header_length: int | None, dtypes: dict[str, np.dtype], outputs: list[str]) -> Asked:
    """Reads a request to a model whose inputs have these types, and that has these outputs. Whatever is wrong with it is a fathom.Error F1012."""
    if header_length is not None and not 0 <= header_length <= len(body):
        raise bad_input(f"{HEADER_LENGTH} is {header_length}, the body has {len(body)} bytes")
    try:
        request = json.loads(body if header_length is None else body[:header_length])
    except (ValueError, RecursionError) as error:
        raise bad_input(f"the request is not JSON: {error}") from error
    _expect(request, dict, "the request")
    parameters = _parameters(request, "the request")
    asked = Asked(binary=_flag(parameters, "binary_data_output"))
    if "id" in request:
        asked.id = _expect(request["id"], str, "id")
    if "timeout" in parameters:  # in microseconds
        timeout = _expect(parameters["timeout"], int, "parameters.timeout")
        if timeout <= 0:
            raise bad_input("parameters.timeout is not above 0")
        asked.timeout = min(timeout, 1 << 62) / 1e6  # more than a float can be is for ever as well
    if request.get("outputs"):
        asked.outputs = {}
        for entry in _entries(request, "outputs"):
            if entry["name"] not in outputs:
                raise bad_input(f"the model has no output '{entry['name']}'", f"its outputs are {', '.join(outputs)}")
            given = _parameters(entry, f"output '{entry['name']}'")
            asked.outputs[entry["name"]] = _flag(given, "binary_data", asked.binary)
    rest = memoryview(body)[header_length:] if header_length is not None else memoryview(b"")
    for entry in _entries(request, "inputs"):
        name = entry["name"]
        if name in asked.inputs:
            raise bad_input(f"input '{name}' is given twice")
        if name not in dtypes:
            raise bad_input(f"the model has no input '{name}'", f"its inputs are {', '.join(dtypes)}")
        asked.inputs[name], rest = _tensor(entry, dtypes[name], rest)
    if len(rest):
        raise bad_input(f"{len(rest)} bytes behind the last tensor")
    return asked


def encode(asked: Asked, model: str, names: list[str], results: list[np.ndarray]) -> tuple[bytes, int | None]:
    """The body of a response and the length of its JSON, where bytes follow."""
    outputs, blobs = [], []
    for name in asked.outputs or names:
        array = results[names.index(name)]
        entry = {"name": name, "datatype": datatype(array.dtype), "shape": list(array.shape)}
        # JSON has no way to write some types.
        if (asked.outputs[name] if asked.outputs else asked.binary) or array.dtype.kind not in _KINDS:
            entry["parameters"] = {"binary_data_size": array.nbytes}
            blobs.append(array.tobytes())
        else:
            entry["data"] = array.reshape(-1).tolist()
        outputs.append(entry)
    response = {"model_name": model, "model_version": "1", "outputs": outputs}
    if asked.id is not None:
        response["id"] = asked.id
    header = json.dumps(response, separators=(",", ":")).encode()
    return b"".join([header, *blobs]), len(header) if blobs else None


def describe(name: str, inputs: list, outputs: list) -> dict:
    """The metadata of a model; -1 is a dimension that is not fixed."""

    def tensors(infos):
        return [
            {
                "name": info.name,
                "datatype": datatype(info.dtype),
                "shape": [size if isinstance(size, int) else -1 for size in info.shape],
            }
            for info in infos
        ]

    return {"name": name, "versions": ["1"], "platform": "fathom", "inputs": tensors(inputs), "outputs": tensors(outputs)}


def _expect(value, kind: type, what: str):
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = {dict: "an object", list: "a list", str: "a text", int: "an integer", bool: "true or false"}[kind]
        raise bad_input(f"{what} is not {wanted}")
    return value


def _parameters(entry: dict, what: str) -> dict:
    return _expect(entry.get("parameters", {}), dict, f"parameters of {what}")


def _flag(parameters: dict, name: str, default: bool = False) -> bool:
    return _expect(parameters.get(name, default), bool, f"parameters.{name}")


def _entries(request: dict, key: str) -> list[dict]:
    entries = _expect(request.get(key, []), list, key)
    for entry in entries:
        _expect(_expect(entry, dict, f"an entry of {key}").get("name"), str, f"a name in {key}")
    return entries


def _tensor(entry: dict, dtype: np.dtype, rest: memoryview) -> tuple[np.ndarray, memoryview]:
    """An input's array, and what is left of the bytes."""
    what = f"input '{entry['name']}'"
    if entry.get("datatype") != datatype(dtype):
        raise bad_input(f"{what} has the datatype {entry.get('datatype')!r}, the model takes {datatype(dtype)}")
    shape = _expect(entry.get("shape"), list, f"the shape of {what}")
    if any(not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 62 for size in shape) or len(shape) > 32:
        raise bad_input(f"{what} has the shape {shape!r}")
    # An array without elements has a shape that must not overflow either.
    if math.prod(size or 1 for size in shape) * dtype.itemsize >= 1 << 62:
        raise bad_input(f"{what} has the shape {shape!r}, which is too large")
    size = _parameters(entry, what).get("binary_data_size")
    if (size is None) == ("data" not in entry):
        raise bad_input(f"{what} needs either data or parameters.binary_data_size")
    if size is None:
        return _from_json(entry["data"], dtype, shape, what), rest
    if _expect(size, int, f"binary_data_size of {what}") != math.prod(shape) * dtype.itemsize:
        raise bad_input(f"{what} has {size} bytes, its shape and type have {math.prod(shape) * dtype.itemsize}")
    if size > len(rest):
        raise bad_input(f"{what} has {size} bytes, and {len(rest)} are left of the body")
    return np.frombuffer(rest[:size], dtype).reshape(shape), rest[size:]


def _from_json(data, dtype: np.dtype, shape: list[int], what: str) -> np.ndarray:
    if dtype.kind not in _KINDS:
        raise bad_input(f"{what} of type {datatype(dtype)} must come as bytes")
    try:
        array = np.asarray(_expect(data, list, f"data of {what}"))
    except (ValueError, OverflowError, RecursionError):
        raise bad_input(f"data of {what} is not a list of numbers, or of lists that are equally long") from None
    if array.size != math.prod(shape):
        raise bad_input(f"data of {what} has {array.size} elements, its shape has {math.prod(shape)}")
    if array.size and array.dtype.kind not in _KINDS[dtype.kind]:
        raise bad_input(f"data of {what} is not of type {datatype(dtype)}")
    if dtype.kind in "iu" and array.size and not np.iinfo(dtype).min <= int(array.min()) <= int(array.max()) <= np.iinfo(dtype).max:
        raise bad_input(f"data of {what} does not fit {datatype(dtype)}")
    with np.errstate(over="ignore"):
        return array.astype(dtype).reshape(shape)
