"""Weights as signed numbers of 8 bits, biases as sums of 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LARGEST = 127  # as far down as up: the zero point is zero
# A bias takes at most half of what a sum can hold, and the products the other half.
LARGEST_BIAS = 1 << 30
DEEPEST = LARGEST_BIAS // (255 * LARGEST)
# Of a step of sums: smaller ones would lose bits, as floats.
SMALLEST_STEP = 2.0**-120


@dataclass
class Weights:
    numbers: np.ndarray
    scale: np.ndarray  # one for each channel, or one
    axis: int


def quantize_weights(array: np.ndarray, axis: int, per_channel: bool, data_scale: np.float32, bias: np.ndarray | None) -> Weights:
    """Symmetric numbers with scales along `axis`. The bias is for scales that are large enough for it."""
    others = tuple(i for i in range(array.ndim) if i != axis)
    magnitude = np.abs(array).max(axis=others, initial=0).astype(np.float64)
    if not per_channel:
        magnitude = magnitude.max(initial=0)
    # What is zero in a channel of zeros has any scale: the finest for its bias.
    scale = magnitude / LARGEST
    if bias is not None:
        large = np.abs(bias).astype(np.float64)
        scale = np.maximum(scale, (large if per_channel else large.max(initial=0)) / LARGEST_BIAS / data_scale)
    scale = np.maximum(scale, SMALLEST_STEP / data_scale).astype(np.float32)
    steps = scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)]) if per_channel else scale
    numbers = np.clip(np.rint(array / steps), -LARGEST, LARGEST).astype(np.int8)
    return Weights(numbers, scale, axis)


def quantize_bias(bias: np.ndarray, weights: Weights, data_scale: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and scale: that of the products, rounded as whoever checks it rounds it."""
    scale = np.asarray(np.float32(data_scale) * weights.scale, np.float32)
    numbers = np.clip(np.rint(bias.astype(np.float64) / scale), -LARGEST_BIAS, LARGEST_BIAS)
    return numbers.astype(np.int32), scale
