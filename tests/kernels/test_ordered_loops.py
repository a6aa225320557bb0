"""Products whose inner loops are ordered ahead of LLVM: all tiles that fit the registers, in place and packed, and reductions that end in every
part of such a loop, against NumPy in double precision."""
import platform
import re

import numpy as np
import pytest
from conftest import make_model
from onnx import helper

import fathom

KNOBS = {"in_flight": 8, "rows_outer": 0, "through_scratch": 0, "streams": 1, "fetch_ahead": 0, "task_m": 2**3 * 3 * 5 * 7 * 13, "task_n": 1000}


def check(seed, tmp_path, rows, depth, columns, **knobs):
    data = np.random.default_rng(seed)
    x, w = (data.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns)))
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], {"x": x}, {"w": w})
    text = fathom.compile(model, emit="plan", matmul_algorithm="contract")
    for knob, value in (KNOBS | knobs).items():
        text, found = re.subn(rf"\b{knob}: +\d+", f"{knob}: {value}", text)
        assert found
    path = tmp_path / "plan"
    path.write_text(text)
    try:
        session = fathom.Session(fathom.compile(model, plan=str(path), matmul_algorithm="contract"))
    except fathom.Error as error:
        if platform.machine() == "aarch64" or "vector registers" not in str(error):
            raise
        pytest.skip("the tile takes more registers than this machine has")
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x.astype(np.float64) @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tile", [(1, 4), (1, 16), (2, 12), (3, 28), (4, 16), (4, 20), (5, 16), (6, 12), (7, 12), (8, 8), (10, 8), (13, 4)])
@pytest.mark.parametrize("unroll", [3, 4, 5, 8, 12, 16])
def test_tiles_in_place(tile, unroll, seed, tmp_path):
    rows, columns = tile
    check(seed, tmp_path, 2 * rows + 1, 43, columns + 5, tile_m=rows, tile_n=columns, unroll_k=unroll, pack_a=0, block_k=43)


@pytest.mark.parametrize("tile", [(4, 4), (4, 16), (4, 20), (4, 24), (8, 8), (8, 12), (12, 8)])
@pytest.mark.parametrize("unroll", [2, 8, 16])
def test_tiles_of_packed_rows(tile, unroll, seed, tmp_path):
    rows, columns = tile
    check(seed, tmp_path, 2 * rows + 1, 43, columns + 5, tile_m=rows, tile_n=columns, unroll_k=unroll, pack_a=1, block_k=20)


@pytest.mark.parametrize("depth", [1, 4, 7, 8, 9, 15, 16, 19, 20, 21, 23, 24, 25, 28, 31, 32, 33, 40, 61])
@pytest.mark.parametrize("packed", [0, 1])
def test_depths(depth, packed, seed, tmp_path):
    check(seed, tmp_path, 8, depth, 8, tile_m=4, tile_n=8, unroll_k=8, pack_a=packed, block_k=depth)
