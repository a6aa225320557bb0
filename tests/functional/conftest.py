"""Programs as tests write them."""
import textwrap

import pytest

import fathom
from support.compare import assert_close, assert_same_bits


@pytest.fixture
def program(tmp_path):
    """Writes a program to a file."""
    def write(text, name="program.fir"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path
    return write


@pytest.fixture
def agrees():
    """Compiles a program once and compares every run with a reference in NumPy; data are of the magnitude of 1."""
    def check(path, feeds, reference, family="product", **options):
        artifact = fathom.compile(str(path), **options)
        one, two = fathom.Session(artifact, threads=1), fathom.Session(artifact, threads=2)
        for feed in feeds:
            got = one.run(None, feed)
            assert_same_bits(got, two.run(None, feed))
            want = reference(**feed)
            for x, y in zip(got, want if isinstance(want, (tuple, list)) else [want], strict=True):
                assert_close(x, y, family, data=1.0)
    return check
