"""What a model file says of itself, read from the bytes of its protobuf: no package is needed, and no weight is touched.

What is not such a file is a ValueError: the compiler is there to say what is wrong with a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# By message, the fields that are messages themselves: where tensors may be. Numbers are those of onnx.proto.
_PARTS = {
    "model": {7: "graph", 25: "function", 20: "training"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


def _fields(data: memoryview):
    """The number and value of each field: a view of what has a length, a number of what is one."""
    at, end = 0, len(data)

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= end or shift > 63:
                raise ValueError("a damaged number")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < end:
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 2: -1, 5: 4}.get(kind)
        if size is None:
            raise ValueError("a field of no known kind")
        size = varint() if size < 0 else size
        if size > end - at:
            raise ValueError("a field that is longer than its message")
        if kind == 2:
            yield key >> 3, data[at : at + size]
        at += size


def external_files(model) -> set[str]:
    """Where the model's tensors lie that are not in it, as it writes it."""
    found: set[str] = set()
    left = [("model", memoryview(model))]
    while left:
        kind, data = left.pop()
        for number, value in _fields(data):
            part = _PARTS[kind].get(number)
            if part is None or isinstance(value, int):
                continue
            if part != "entry":
                left.append((part, value))
                continue
            entry = dict(_fields(value))
            if _text(entry.get(1)) == "location":
                found.add(_text(entry.get(2)))
    return found


@dataclass
class ModelMetadata:
    """What the author of a model says of it, with the names of onnxruntime.ModelMetadata."""

    custom_metadata_map: dict[str, str] = field(default_factory=dict)
    description: str = ""
    domain: str = ""
    graph_description: str = ""
    graph_name: str = ""
    producer_name: str = ""
    version: int = 0


def metadata(model) -> ModelMetadata:
    result = ModelMetadata()
    for number, value in _fields(memoryview(model)):
        if number == 5 and isinstance(value, int):
            # A negative number is one of 64 bits.
            result.version = value - (1 << 64) if value >> 63 else value
        elif isinstance(value, int):
            continue
        elif number in (2, 4, 6):
            setattr(result, {2: "producer_name", 4: "domain", 6: "description"}[number], _text(value))
        elif number == 7:
            graph = {n: v for n, v in _fields(value) if n in (2, 10)}
            result.graph_name, result.graph_description = _text(graph.get(2)), _text(graph.get(10))
        elif number == 14:
            entry = dict(_fields(value))
            result.custom_metadata_map[_text(entry.get(1))] = _text(entry.get(2))
    return result


def _text(value) -> str:
    return bytes(value).decode("utf-8", "surrogateescape") if isinstance(value, memoryview) else ""
