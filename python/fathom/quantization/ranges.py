"""Which range of a value's numbers is worth 256 levels: all of it, all but a few, or what keeps its distribution best."""

from __future__ import annotations

import numpy as np

from ..errors import Error

METHODS = ("minmax", "percentile", "entropy")
BINS = 8192
LEVELS = 256
# Ends of a range that are looked at by entropy.
CANDIDATES = 128
# A value that never leaves this distance from zero is zero.
SMALLEST = 1e-20


class Observed:
    """What is remembered of a value's numbers: their ends, and in a second pass how many lie where between them."""

    def __init__(self):
        self.low, self.high = np.inf, -np.inf
        self.is_finite = True
        self.counts = np.zeros(BINS, np.int64)
        self.zeros = 0

    def see(self, array: np.ndarray):
        if not array.size:
            return
        low, high = float(array.min()), float(array.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            self.is_finite = False
            return
        self.low, self.high = min(self.low, low), max(self.high, high)

    def count(self, array: np.ndarray):
        """After all numbers were seen."""
        if not array.size or not self.is_finite:
            return
        # In pieces: the places of the numbers take more memory than these.
        flat = array.reshape(-1)
        self.zeros += flat.size - np.count_nonzero(flat)
        for start in range(0, flat.size, 1 << 20):
            self.counts += np.bincount(self._bins(flat[start : start + (1 << 20)]), minlength=BINS)

    def _bins(self, numbers: np.ndarray) -> np.ndarray:
        width = (self.high - self.low) / BINS or 1.0
        return np.clip(((numbers.astype(np.float64) - self.low) / width).astype(np.int64), 0, BINS - 1)

    def range(self, method: str, percentile: float) -> tuple[float, float]:
        """Both ends, zero among them: it is what padding adds, and must be a number of its own."""
        low, high = self.low, self.high
        if low > high:
            low = high = 0.0
        elif method == "percentile":
            low, high = percentile_range(self.counts, low, high, percentile)
        elif method == "entropy":
            # Zero is a level of its own whatever the range is, and what a ReLU makes of half of all numbers.
            counts = self.counts.copy()
            counts[self._bins(np.zeros(1))] -= self.zeros if low <= 0 <= high else 0
            low, high = entropy_range(counts, low, high)
        return min(low, 0.0), max(high, 0.0)


def check_method(method: str, percentile: float):
    if method not in METHODS:
        raise Error(f"method is one of {', '.join(METHODS)}, not {method!r}", "F2001", 2)
    if not 50 <= percentile <= 100:
        raise Error(f"percentile is {percentile}: expected a number from 50 to 100", "F2001", 2)


def percentile_range(counts: np.ndarray, low: float, high: float, percentile: float) -> tuple[float, float]:
    """Without what lies outermost: `percentile` percent are within, and half of the rest beyond either end."""
    total = counts.sum()
    tail = (100 - percentile) / 200 * total
    below = np.concatenate([[0], np.cumsum(counts)])
    edges = np.linspace(low, high, len(counts) + 1)
    left, right = np.interp([tail, total - tail], below, edges)
    return float(left), float(right)


def entropy_range(counts: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """The range whose levels tell least otherwise what the numbers are, by Kullback and Leibler's divergence.

    What is beyond an end counts as the end in the distribution that is to be kept, and not in that of the levels: so cutting
    off costs, and so do wide levels. Both ends are equally far from zero where there are numbers as far.
    """
    largest = max(abs(low), abs(high))
    width = (high - low) / len(counts)
    if not width:
        return low, high
    best, ends = np.inf, (low, high)
    for candidate in range(CANDIDATES, 0, -1):
        limit = largest * candidate / CANDIDATES
        left, right = max(low, -limit), min(high, limit)
        start, stop = round((left - low) / width), round((right - low) / width)
        # Fewer bins than levels would be kept as they are, whatever is cut off.
        if stop - start < LEVELS:
            break
        if (found := _divergence(counts, start, stop)) < best:
            best, ends = found, (left, right)
    return ends


def _divergence(counts: np.ndarray, start: int, stop: int) -> float:
    inner = counts[start:stop].astype(np.float64)
    kept = inner.copy()
    kept[0] += counts[:start].sum()
    kept[-1] += counts[stop:].sum()
    if not inner.sum():
        return np.inf
    levels = np.arange(inner.size) * LEVELS // inner.size
    # A level's numbers are spread over those of its bins that have any.
    filled = inner > 0
    numbers, places = np.bincount(levels, inner, LEVELS), np.bincount(levels, filled, LEVELS)
    spread = np.where(filled, (numbers / np.maximum(places, 1))[levels], 0)
    p, q = kept / kept.sum(), spread / spread.sum()
    there = p > 0
    # Counts of bins differ by chance alone, the less of it the more is cut off: a half for each bin but one of a level, or for
    # each number but one of a bin where there are few.
    chance = np.clip(np.minimum(places - 1, numbers - places), 0, None).sum() / 2 / inner.sum()
    return float(np.sum(p[there] * np.log(p[there] / np.maximum(q[there], 1e-12))) - chance)


def levels_of(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Scale and zero point of a range with zero in it."""
    if high - low < SMALLEST:
        # Zero in all samples, which need not be all there is.
        low, high = 0.0, 1.0
    scale = np.float32((high - low) / (LEVELS - 1))
    return scale, np.uint8(np.clip(np.rint(-low / float(scale)), 0, LEVELS - 1))
