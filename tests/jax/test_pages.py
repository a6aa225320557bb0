"""The page on JAX does what it says."""
import jax
import numpy as np
from support.compare import assert_close
from support.pages import Reader


def test_page(tmp_path, monkeypatch):
    names = Reader(tmp_path, monkeypatch).follow("jax.md", stage="jax")
    assert_close(names["y"], np.asarray(names["network"](names["x"])), "chain")
    shape = jax.ShapeDtypeStruct((5, 16), np.float32)
    assert "stablehlo.dot_general" in jax.export.export(jax.jit(names["network"]))(shape).mlir_module()
