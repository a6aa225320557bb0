"""A file of 32-bit words in little space, where few different ones come together: weights of one size and two signs take a bit each."""

import struct
import zlib

import numpy as np

WORDS = 1 << 14  # of a block
WIDTHS = (0, 1, 2, 4, 8)  # bits of a code; beyond that a block is kept as it is


def _encode(block):
    values, codes = np.unique(block, return_inverse=True)
    for width in WIDTHS:
        if len(values) <= 1 << width:
            bits = (codes.astype(np.uint8)[:, None] >> np.arange(width, dtype=np.uint8)) & 1
            return struct.pack("<BH", width, len(values)) + values.tobytes() + np.packbits(bits).tobytes()
    return struct.pack("<BH", 255, 0) + block.tobytes()


def _decode(data, at, count):
    width, many = struct.unpack_from("<BH", data, at)
    at += 3
    if width == 255:
        return np.frombuffer(data, np.uint32, count, at), at + 4 * count
    values = np.frombuffer(data, np.uint32, many, at)
    at += 4 * many
    size = (count * width + 7) // 8
    bits = np.unpackbits(np.frombuffer(data, np.uint8, size, at), count=count * width).reshape(count, width)
    codes = (bits << np.arange(width, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    return values[codes], at + size


def pack(data):
    words = np.frombuffer(data[: len(data) // 4 * 4], np.uint32)
    tail = data[4 * len(words) :]
    blocks = [_encode(words[i : i + WORDS]) for i in range(0, len(words), WORDS)]
    return struct.pack("<QB", len(words), len(tail)) + tail + zlib.compress(b"".join(blocks), 6)


def unpack(packed):
    count, rest = struct.unpack_from("<QB", packed)
    tail = packed[9 : 9 + rest]
    data, at, parts = zlib.decompress(packed[9 + rest :]), 0, []
    for i in range(0, count, WORDS):
        block, at = _decode(data, at, min(WORDS, count - i))
        parts.append(block.tobytes())
    return b"".join(parts) + tail
