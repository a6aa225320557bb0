"""Comparison of results with the reference's, element by element.

What is within a few epsilons is right. What is not may still be the model's own doing: a sum that cancels, a rounding just at an integer, an index
that hangs on a comparison of equals. Disturbing every node by what implementations may differ there (reference.FAMILIES) shows which elements
move and how far; a result has to lie among those, or near them."""
import ml_dtypes
import numpy as np

from reference import Impossible, Sequence
from values import epsilon, is_float

EPSILONS = 8
SAMPLES = 40


def unexplained(reference, feed, got, want):
    """What is wrong, in words, or None."""
    wrong = []
    for array, (name, expected) in zip(got, want.items(), strict=True):
        if isinstance(expected, Sequence):
            continue
        if array.dtype != expected.dtype:
            return f"{name} has type {array.dtype}, not {expected.dtype}"
        if array.shape != expected.shape or not near(array, expected).all():
            wrong.append((name, array, expected))
    if not wrong:
        return None
    random = np.random.default_rng(0)
    samples = {name: [expected] for name, _, expected in wrong}
    for _ in range(SAMPLES):
        try:
            outputs = reference.run(feed, random)
        except Impossible:
            continue
        for name, kept in samples.items():
            kept.append(outputs[name])
    for name, array, expected in wrong:
        same = [sample for sample in samples[name] if sample.shape == array.shape]
        if len({sample.shape for sample in samples[name]}) > 1:
            continue  # how many elements there are hangs on rounding
        if not same:
            return f"{name} has shape {list(array.shape)}, not {list(expected.shape)}"
        allowed = among(array, same)
        if not allowed.all():
            place = tuple(int(i) for i in np.argwhere(~allowed)[0])
            count = f"{int((~allowed).sum())} of {array.size} elements differ"
            return f"{name}{list(place)} of {list(array.shape)} {array.dtype} is {array[place]}, {expected[place]} in the reference; {count}"
    return None


def near(array, expected):
    if not is_float(array.dtype):
        return array == expected
    a, b = array.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= EPSILONS * epsilon(array.dtype) * np.abs(b))


def among(array, samples):
    """Which elements lie where disturbed runs have them, with some room."""
    if not is_float(array.dtype):
        values = np.stack(samples).astype(object if array.dtype.itemsize == 8 else np.int64)
        low, high = values.min(0), values.max(0)
        x = array.astype(values.dtype)
        return np.asarray((x >= low - (high - low)) & (x <= high + (high - low)), bool)
    values, x = np.stack(samples).astype(np.float64), array.astype(np.float64)
    with np.errstate(all="ignore"):
        numbers = np.isfinite(values)
        low = np.where(numbers, values, np.inf).min(0)
        high = np.where(numbers, values, -np.inf).max(0)
        size = np.maximum(np.abs(low), np.abs(high))
        # Near the largest and the smallest number of the type, rounding overflows or vanishes.
        room = 3 * (high - low) + 4 * EPSILONS * epsilon(array.dtype) * size + smallest(array.dtype)
        inside = numbers.any(0) & (x >= low - room) & (x <= high + room)
        overflow = np.isinf(x) & (size + room >= largest(array.dtype)) & numbers.any(0)
        # At a pole disturbed runs lie far out on both sides, some very far, or none near where the references compute doubles in float32: others
        # may lie farther out.
        nearest = np.where(numbers, np.abs(values), np.inf).min(0)
        far = np.isinf(x) & (np.minimum(-low, high) > 0.01 / epsilon(array.dtype)) | (nearest > 1e4) & (np.abs(x) > nearest)
        pole = (low < 0) & (high > 0) & far
        # At the border of a function's domain, as in a logarithm of nearly nothing, disturbed runs are on either side.
        border = np.isinf(x) & np.isnan(values).any(0) & numbers.any(0)
        return inside | overflow | pole | border | (np.isnan(x) & np.isnan(values).any(0)) | (np.isinf(x) & (values == x).any(0))


def largest(dtype):
    return float(ml_dtypes.finfo(dtype).max)


def smallest(dtype):
    return 4 * float(ml_dtypes.finfo(dtype).tiny)
