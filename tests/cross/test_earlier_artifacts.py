"""Artifacts of versions that were still load and compute the same, here and under emulation (docs/user/install.md)."""
import importlib.util
import lzma
import re

import numpy as np
import pytest

import fathom
from support import emulation
from support.tool import ROOT

FOLDER = ROOT / "tests/data/artifacts"
ARTIFACTS = sorted(FOLDER.glob("*.xz"))


@pytest.fixture(scope="module")
def kept():
    spec = importlib.util.spec_from_file_location("kept", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(name):
    return int(re.search(rf"#define {name} (\d+)", (ROOT / "runtime/abi.h").read_text())[1])


def test_every_promised_version_is_kept():
    """Who raises the version adds artifacts of it."""
    promised = range(number("FATHOM_ABI_OLDEST"), number("FATHOM_ABI_VERSION") + 1)
    wanted = {f"v{version}.{architecture}.fathom.xz" for version in promised for architecture in emulation.ARCHITECTURES.values()}
    assert {path.name for path in ARTIFACTS} == wanted
    assert all(path.stat().st_size < 30_000 for path in ARTIFACTS)


@pytest.mark.parametrize("path", ARTIFACTS, ids=lambda path: path.stem)
def test_they_compute_what_they_did(path, kept, random, tmp_path, monkeypatch):
    artifact = tmp_path / path.stem
    artifact.write_bytes(lzma.decompress(path.read_bytes()))
    if emulation.architecture_of(artifact) != emulation.HOST:
        monkeypatch.setattr(fathom.model, "_runtime", fathom.model._runtime)  # put back after this test
        emulation.install()
    session = fathom.Session(artifact, threads=1)
    for rows in (0, 1, 2, 13, 101):
        x = random.standard_normal((rows, 5)).astype(np.float32)
        y, s, at = session.run(None, {"x": x})
        exact, sums = kept.expected(x)
        np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(s, sums, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(at, np.stack(np.nonzero(y > 0)))
