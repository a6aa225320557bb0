"""What travels to a machine with a GPU comes out there as it was."""
import sys

import numpy as np
import pytest
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench" / "gpu"))
import blocks  # noqa: E402


@pytest.mark.parametrize("values", [1, 2, 4, 16, 256, 257, 100000])
def test_blocks_are_kept(random, values):
    """Few values and many, whole blocks and a part of one, and bytes behind the last word."""
    words = random.standard_normal(values).astype(np.float32)[random.integers(0, values, 40000)]
    data = words.tobytes() + b"end"
    packed = blocks.pack(data)
    assert blocks.unpack(packed) == data
    if values == 2:
        assert len(packed) < len(data) / 25


@pytest.mark.parametrize("data", [b"", b"abc", b"abcd", bytes(1 << 17)])
def test_short_and_empty_files(data):
    assert blocks.unpack(blocks.pack(data)) == data
