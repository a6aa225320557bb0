"""Strings as the runtime has them: the address and the length of each text."""

from __future__ import annotations

import ctypes

import numpy as np

# A string's address and length, as in fathom_string.
PAIR = 2


def pack(array: np.ndarray) -> tuple[np.ndarray, object]:
    """The strings of an array as pairs, and what holds their texts as long as it lives."""
    texts = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in array.flat]
    texts_in_one = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    sizes = np.array([len(text) for text in texts], np.uint64)
    pairs = np.empty((len(texts), PAIR), np.uint64)
    pairs[:, 0] = np.uint64(texts_in_one.ctypes.data) + np.cumsum(sizes, dtype=np.uint64) - sizes
    pairs[:, 1] = sizes
    return pairs, texts_in_one


def unpack(pairs: np.ndarray) -> np.ndarray:
    """The strings of pairs, which have a last dimension of their own."""
    known: dict[tuple, str] = {}
    strings = np.empty(pairs.shape[:-1], object)
    for i, pair in enumerate(map(tuple, pairs.reshape(-1, PAIR).tolist())):
        if pair not in known:
            known[pair] = ctypes.string_at(*pair).decode("utf-8", "surrogateescape")
        strings.flat[i] = known[pair]
    return strings
