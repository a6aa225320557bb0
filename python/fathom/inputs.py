"""Random inputs, the same ones that `fathom run` makes for a seed (tools/fathom/Inputs.cpp)."""

from __future__ import annotations

import numpy as np

from .errors import Error

_MASK = (1 << 64) - 1


def _splitmix64(seed: int, index: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        x = np.uint64(seed) + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _normal(seed: int, count: int) -> np.ndarray:
    index = np.arange(count, dtype=np.uint64) * np.uint64(3)
    total = np.zeros(count, dtype=np.int64)
    for draw in range(3):
        bits = _splitmix64(seed, index + np.uint64(draw))
        for part in range(4):
            total += ((bits >> np.uint64(16 * part)) & np.uint64(0xFFFF)).astype(np.int64)
    return (total - 6 * 65535) / 65536.0


def _integer_bound(info, bound: int) -> int:
    if info.dtype == np.bool_:
        return 2
    if info.dtype.itemsize == 1:
        return 0
    if "mask" in info.name or "token_type" in info.name:
        return min(bound, 2)
    return bound


def _random(info, dims, seed: int, bound: int) -> np.ndarray:
    count = int(np.prod(dims, dtype=np.int64))
    if info.dtype.kind not in "biu":
        return _normal(seed, count).astype(info.dtype).reshape(dims)
    bits = _splitmix64(seed, np.arange(count, dtype=np.uint64)) >> np.uint64(32)
    bound = _integer_bound(info, bound)
    if bound:
        bits = bits % np.uint64(bound)
    return bits.astype(f"u{info.dtype.itemsize}").view(info.dtype).reshape(dims)


def _random_value(found, sizes: dict, seed: int, bound: int):
    """An array, or a list of arrays of one value each; what is optional is there."""
    info = found.info
    if not found.is_sequence:
        shape = [sizes.get(size, 1) if not isinstance(size, int) else size for size in info.shape]
        return _random(info, shape, seed, bound)
    rank = len(info.shape) if info.shape is not None else sizes.get(f"{info.name}.rank", 1)
    data = _random(info, [sizes.get(f"{info.name}.length", 1)], seed, bound)
    return [value.reshape([1] * rank) for value in data]


def _sizes(session, dims: dict) -> dict:
    sizes = {name: min(max(1, low), high) for name, low, high in session.symbols}
    for name, size in dims.items():
        if name not in sizes:
            known = ", ".join(f"'{symbol}'" for symbol in sizes)
            hint = f"it has {known}" if known else "all its dimensions are fixed"
            raise Error(f"the model has no symbolic dimension '{name}'", "F1012", 1, hint=hint)
        sizes[name] = size
    return sizes


def random_inputs(session, seed: int = 0, dims: dict | None = None) -> dict:
    """Inputs for a session: floating-point ones nearly normal, integers small enough to be indices."""
    sizes = _sizes(session, dims or {})
    indices = any(info.kind == "tensor" and info.dtype in (np.int32, np.int64) for info in session.inputs)
    values = {}
    for bound in (100, 2, 1):
        for found in session.groups:
            # The seed goes with the tensor's number in the artifact.
            number = found.parts["data" if found.is_sequence else "value"]
            key = int(_splitmix64(seed & _MASK, np.array([number]))[0])
            values[found.info.name] = _random_value(found, sizes, key, bound)
        if not indices or bound == 1:
            break
        # Indices must be small enough for what they select from, which only a run can tell.
        try:
            session.run(None, values)
            break
        except Error as error:
            if not getattr(error, "index_out_of_range", False):
                raise
    return values
