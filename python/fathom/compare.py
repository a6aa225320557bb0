"""How far two arrays are apart, and how far they may be."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np


@dataclass
class Comparison:
    name: str
    dtype: str
    shape: list
    max_abs: float
    max_rel: float
    max_ulp: float
    mismatches: int
    ok: bool
    reason: str = ""
    units: float | None = 0.0  # the largest error as a multiple of what is tolerated there; None where nothing is

    def as_dict(self) -> dict:
        return asdict(self)


def _ordered(array: np.ndarray) -> np.ndarray:
    """Floating-point numbers as integers, such that neighbours differ by one."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(-(1 << (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)


def _max_ulp(got: np.ndarray, want: np.ndarray, finite: np.ndarray) -> float:
    if not finite.any():
        return 0.0
    # In floating point, because the distance of large numbers of opposite sign overflows.
    return float(np.abs(_ordered(got[finite]).astype(np.float64) - _ordered(want[finite]).astype(np.float64)).max())


# Fewer elements may all be small by chance.
FEWEST = 16
# Below this part of the largest magnitude of all, elements are as good as zero.
NEGLIGIBLE = 1e-3


def tolerance(magnitude: np.ndarray, rtol: float, atol: float, negligible: float = NEGLIGIBLE) -> np.ndarray:
    """How far an element may be from one of this (finite) magnitude.

    `atol` is relative to the magnitudes beside it: of the largest ones at the same position of each axis (of its row, its
    column, its channel), the smallest. So a large row does not hide errors of the others.
    """
    largest = magnitude.max(initial=0)
    scale = np.full((1,) * magnitude.ndim, largest)
    for axis, size in enumerate(magnitude.shape):
        if magnitude.size >= FEWEST * size > 0:
            others = tuple(other for other in range(magnitude.ndim) if other != axis)
            beside = magnitude.max(axis=others, keepdims=True)
            # Zeros, as of a channel that nothing activates, say nothing of what they were computed from.
            scale = np.minimum(scale, np.where(beside > 0, beside, largest))
    return rtol * magnitude + atol * np.maximum(scale, negligible * largest)


def compare(
    name: str, got: np.ndarray, want: np.ndarray, rtol: float, atol: float, levels: int = 0
) -> Comparison:
    """As far apart as tolerance() says, and integers by `levels`. NaN and infinities must be equal."""
    result = Comparison(name, str(want.dtype), list(want.shape), 0.0, 0.0, 0.0, 0, True)
    if got.shape != want.shape or got.dtype != want.dtype:
        result.ok, result.mismatches, result.units = False, int(want.size), None
        result.reason = f"is {got.dtype}{list(got.shape)}, the reference {want.dtype}{list(want.shape)}"
        return result
    if want.size == 0:
        return result
    if want.dtype.kind in "biuSUO":
        different = got != want
        if different.any() and want.dtype.kind in "iu":
            gap = np.abs(got.astype(np.float64) - want.astype(np.float64))
            result.max_abs = float(gap.max())
            different &= gap > levels
        result.mismatches = int(np.count_nonzero(different))
        result.units = result.max_abs / levels if levels else None if result.mismatches else 0.0
        result.ok = result.mismatches == 0
        return result
    finite = np.isfinite(got.astype(np.float32)) & np.isfinite(want.astype(np.float32))
    g, w = got.astype(np.float64), want.astype(np.float64)
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    gap = np.abs(np.where(finite, g, 0.0) - np.where(finite, w, 0.0))
    magnitude = np.abs(np.where(finite, w, 0.0))
    tolerated = tolerance(magnitude, rtol, atol)
    within = finite & (gap <= tolerated)
    result.max_abs = float(gap.max())
    nonzero = finite & (magnitude > 0)
    result.max_rel = float((gap[nonzero] / magnitude[nonzero]).max()) if nonzero.any() else 0.0
    result.max_ulp = _max_ulp(got, want, finite)
    result.mismatches = int(np.count_nonzero(~(same | within)))
    with np.errstate(divide="ignore", invalid="ignore"):
        units = float(np.where(same, 0.0, np.where(finite, gap / tolerated, np.inf)).max())
    result.units = units if np.isfinite(units) else None
    result.ok = result.mismatches == 0
    return result


def tensors_of(name: str, got, want) -> list[tuple]:
    """The pairs of arrays to compare for an output: one, or one for every element of a sequence."""
    if want is None or got is None:
        there = [np.array(value is not None) for value in (got, want)]
        return [(f"{name} is present", *there)]
    if not isinstance(want, list):
        return [(name, got, want)]
    pairs = [(f"len({name})", np.array(len(got)), np.array(len(want)))]
    # Maps, such as a ZipMap gives: the same keys, and the values as one array.
    if want and isinstance(want[0], dict):
        ordered = [[dict(sorted(row.items())) for row in rows] for rows in (got, want)]
        sides = [np.array([list(row) for row in rows], object) for rows in ordered]
        values = [np.array([list(row.values()) for row in rows], np.float32) for rows in ordered]
        return pairs + [(f"keys of {name}", *sides), (name, *values)]
    return pairs + [(f"{name}[{i}]", *pair) for i, pair in enumerate(zip(got, map(np.asarray, want)))]
