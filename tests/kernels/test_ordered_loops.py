"""Products whose inner loops are ordered ahead of LLVM: all tiles that fit the registers, in place and packed, and reductions that end in every
part of such a loop, against NumPy in double precision."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close
from support.models import model, model_of, node
from support.plans import Plan

pytestmark = pytest.mark.usefixtures("pinned")

KNOBS = {"in_flight": 8, "load_ahead": 24, "rows_outer": 0, "through_scratch": 0, "streams": 1, "fetch_ahead": 0, "task_m": 2**3 * 3 * 5 * 7 * 13, "task_n": 1000}


def product(seed, rows, depth, columns):
    data = np.random.default_rng(seed)
    x, w = (data.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns)))
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], {"x": x}, {"w": w}), x, w


def planned(model, tmp_path, knobs, **options):
    options |= {"matmul_algorithm": "contract"}
    plan = Plan.of(model, **{name: value for name, value in options.items() if name != "emit"})
    if "target" not in options and not plan.is_aarch64:
        # There LLVM orders them, and the same products are computed.
        knobs = knobs | {"load_ahead": 0}
    return plan.with_knobs(knobs).compile(model, tmp_path, **options)


def check(seed, tmp_path, rows, depth, columns, **knobs):
    model, x, w = product(seed, rows, depth, columns)
    try:
        session = fathom.Session(planned(model, tmp_path, KNOBS | knobs))
    except fathom.Error as error:
        if "vector registers and x86" not in str(error):
            raise
        pytest.skip("the tile takes more registers than this target has")
    assert_close(session.run(None, {"x": x})[0], x.astype(np.float64) @ w, "sum")


@pytest.mark.parametrize("tile", [(1, 4), (1, 16), (2, 12), (3, 28), (4, 16), (4, 20), (5, 16), (6, 12), (7, 12), (8, 8), (10, 8), (13, 4)])
@pytest.mark.parametrize("unroll", [3, 4, 5, 8, 12, 16])
def test_tiles_in_place(tile, unroll, seed, tmp_path):
    rows, columns = tile
    check(seed, tmp_path, 2 * rows + 1, 43, columns + 5, tile_m=rows, tile_n=columns, unroll_k=unroll, pack_a=0, block_k=43,
          load_ahead=24 if unroll % 8 == 0 else 0)


@pytest.mark.parametrize("tile", [(4, 4), (4, 16), (4, 20), (4, 24), (8, 8), (8, 12), (12, 8)])
@pytest.mark.parametrize("unroll", [2, 8, 16])
def test_tiles_of_packed_rows(tile, unroll, seed, tmp_path):
    rows, columns = tile
    check(seed, tmp_path, 2 * rows + 1, 43, columns + 5, tile_m=rows, tile_n=columns, unroll_k=unroll, pack_a=1, block_k=20)


@pytest.mark.parametrize("depth", [1, 4, 7, 8, 9, 15, 16, 19, 20, 21, 23, 24, 25, 28, 31, 32, 33, 40, 61])
@pytest.mark.parametrize("packed", [0, 1])
def test_depths(depth, packed, seed, tmp_path):
    check(seed, tmp_path, 8, depth, 8, tile_m=4, tile_n=8, unroll_k=8, pack_a=packed, block_k=depth)


@pytest.mark.parametrize("ahead", [0, 1, 5, 8, 64])
@pytest.mark.parametrize("packed", [0, 1])
def test_distances(ahead, packed, seed, tmp_path):
    check(seed, tmp_path, 19, 61, 29, tile_m=8, tile_n=12 if packed else 8, unroll_k=8, pack_a=packed, block_k=61, load_ahead=ahead)


PACKED = {"load_ahead": 8, "pack_a": 1, "tile_m": 4, "tile_n": 8, "task_m": 12, "rows_outer": 0, "fetch_ahead": 0, "streams": 1}
IN_PLACE = PACKED | {"pack_a": 0, "unroll_k": 8}


@pytest.mark.parametrize("knobs, target, reason", [
    ({"load_ahead": 65}, "neoverse-n1", "outside"),
    ({"load_ahead": 8}, "x86-64-v3", "LLVM orders the loops of x86-64-v3"),
    (PACKED, "neoverse-n1", ""),
    (PACKED | {"tile_m": 3}, "neoverse-n1", "other tiles than of whole vectors"),
    (PACKED | {"tile_n": 6}, "neoverse-n1", "other tiles than of whole vectors"),
    (IN_PLACE, "neoverse-n1", ""),
    (IN_PLACE | {"tile_m": 3}, "neoverse-n1", ""),
    (IN_PLACE | {"unroll_k": 4}, "neoverse-n1", "a multiple of 8 steps per iteration"),
])
def test_impossible_orders_are_refused(knobs, target, reason, tmp_path):
    """What is not refused has other code than without it."""
    model, _, _ = product(0, 8, 64, 32)
    if reason:
        with pytest.raises(fathom.Error, match=reason):
            planned(model, tmp_path, knobs, target=target)
    else:
        assert planned(model, tmp_path, knobs, target=target, emit="asm") != planned(model, tmp_path, knobs | {"load_ahead": 0}, target=target, emit="asm")


def test_orders_of_other_types_are_refused(tmp_path):
    double = TensorProto.DOUBLE
    doubles = model([node("MatMul", "x w", "y")], [("x", double, [8, 64])], [("y", double)], {"w": np.ones((64, 32))})
    with pytest.raises(fathom.Error, match="other types than 32-bit floats"):
        planned(doubles, tmp_path, {"load_ahead": 8}, target="neoverse-n1")
