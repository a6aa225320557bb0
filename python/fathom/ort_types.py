"""The names that ONNX Runtime has for element types: "tensor(float)" and so on."""

from __future__ import annotations

import numpy as np

from .sequences import TensorInfo

# ONNX's name and number of each type of NumPy's and of ml_dtypes'.
TYPES = {
    "float32": ("float", 1),
    "uint8": ("uint8", 2),
    "int8": ("int8", 3),
    "uint16": ("uint16", 4),
    "int16": ("int16", 5),
    "int32": ("int32", 6),
    "int64": ("int64", 7),
    "object": ("string", 8),
    "bool": ("bool", 9),
    "float16": ("float16", 10),
    "float64": ("double", 11),
    "uint32": ("uint32", 12),
    "uint64": ("uint64", 13),
    "bfloat16": ("bfloat16", 16),
    "float8_e4m3fn": ("float8e4m3fn", 17),
    "float8_e4m3fnuz": ("float8e4m3fnuz", 18),
    "float8_e5m2": ("float8e5m2", 19),
    "float8_e5m2fnuz": ("float8e5m2fnuz", 20),
    "uint4": ("uint4", 21),
    "int4": ("int4", 22),
    "float4_e2m1fn": ("float4e2m1", 23),
    "float8_e8m0fnu": ("float8e8m0", 24),
    "uint2": ("uint2", 25),
    "int2": ("int2", 26),
}


def type_name(dtype) -> str:
    """Such as tensor(float)."""
    return f"tensor({TYPES[np.dtype(dtype).name][0]})"


def declared_type(info: TensorInfo, keys: list | None = None) -> str:
    """Of an input or output: seq(tensor(float)), optional(tensor(int64)), or seq(map(int64,tensor(float)))."""
    text = type_name(info.dtype)
    if info.kind == "maps":
        key = "string" if keys and isinstance(keys[0], str) else "int64"
        return f"seq(map({key},{text}))"
    for word in reversed(info.kind.split()):
        text = {"sequence": f"seq({text})", "optional": f"optional({text})"}.get(word, text)
    return text
