"""Products whose rows pass one panel after another, and fetch the next one meanwhile, or what is added to a tile: packed and read in place,
with sizes that do not come out even, against NumPy in double precision."""
import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import assert_close
from support.models import model_of
from support.plans import Plan

pytestmark = pytest.mark.usefixtures("pinned")

PACKED = {"tile_m": 8, "tile_n": 12, "unroll_k": 16, "in_flight": 16, "pack_a": 1, "block_k": 64, "rows_outer": 0, "through_scratch": 0,
          "fetch_ahead": 1, "task_m": 24, "task_n": 3}
IN_PLACE = PACKED | {"tile_m": 4, "unroll_k": 8, "pack_a": 0, "task_m": 12}


def planned(model, schedule, rows, tmp_path):
    """The model with this schedule; a single tile of rows has nothing to fetch ahead."""
    plan = Plan.of(model, conv_algorithm="contract")
    if not plan.is_aarch64:
        schedule = schedule | {"tile_m": 4, "task_m": 12}  # half as many registers, of twice the width
    schedule = schedule | {"fetch_ahead": int(schedule["fetch_ahead"] and rows > schedule["tile_m"])}
    # A product of single numbers is a map.
    if "contract" in plan.classes:
        plan = plan.with_knobs(schedule)
    return fathom.Session(plan.compile(model, tmp_path, conv_algorithm="contract"))


@pytest.mark.parametrize("schedule", [PACKED, PACKED | {"unroll_k": 8, "block_k": 1000}, PACKED | {"through_scratch": 1}, PACKED | {"fetch_ahead": 0},
                                      IN_PLACE, IN_PLACE | {"fetch_ahead": 0}],
                         ids=["packed", "one block", "through scratch", "packed, not ahead", "in place", "in place, not ahead"])
@pytest.mark.parametrize("rows, depth, columns", [(1, 1, 1), (7, 13, 5), (24, 128, 36), (53, 131, 97), (9, 64, 12)])
def test_products(schedule, rows, depth, columns, seed, tmp_path):
    data = np.random.default_rng(seed)
    x, w, b = (data.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns), (columns,)))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="product"), helper.make_node("Add", ["p", "b"], ["y"], name="sum")]
    session = planned(model_of(nodes, {"x": x}, {"w": w, "b": b}), schedule, rows, tmp_path)
    want = x.astype(np.float64) @ w + b
    assert_close(session.run(None, {"x": x})[0], want, "sum")


@pytest.mark.parametrize("schedule", [PACKED, PACKED | {"tile_m": 4, "tile_n": 20}, IN_PLACE], ids=["packed", "wide", "in place"])
@pytest.mark.parametrize("rows, depth, columns", [(1, 1, 1), (7, 13, 5), (53, 131, 97), (9, 64, 12)])
def test_a_residual(schedule, rows, depth, columns, seed, tmp_path):
    data = np.random.default_rng(seed)
    x, w, r = (data.standard_normal(shape).astype(np.float32) for shape in ((rows, depth), (depth, columns), (rows, columns)))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="product"), helper.make_node("Add", ["p", "r"], ["y"], name="sum")]
    session = planned(model_of(nodes, {"x": x, "r": r}, {"w": w}), schedule, rows, tmp_path)
    assert_close(session.run(None, {"x": x, "r": r})[0], x.astype(np.float64) @ w + r, "sum")


def test_windows(seed, tmp_path):
    data = np.random.default_rng(seed)
    x, w = data.standard_normal((1, 5, 9, 7)).astype(np.float32), data.standard_normal((29, 5, 3, 3)).astype(np.float32)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], {"x": x}, {"w": w})
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.float64), (3, 3), axis=(1, 2))
    want = np.einsum("chwij,ocij->ohw", windows, w)[None]
    assert_close(planned(model, IN_PLACE, 35, tmp_path).run(None, {"x": x})[0], want, "sum")


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("algorithm", ["winograd2", "winograd4"])
@pytest.mark.parametrize("channels, side, columns", [(1, 3, 1), (5, 7, 29), (64, 13, 131)])
def test_positions_of_a_tile(ahead, algorithm, channels, side, columns, seed, tmp_path):
    data = np.random.default_rng(seed)
    x, w = data.standard_normal((1, channels, side, side)).astype(np.float32), data.standard_normal((columns, channels, 3, 3)).astype(np.float32)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], name="conv")], {"x": x}, {"w": w})
    options = {"conv_algorithm": algorithm, "max_weight_growth": 10000}
    plan = Plan.of(model, **options)
    assert 1 in plan.values("fetch_ahead") and "winograd" in plan.text
    padded = np.pad(x[0].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    want = np.einsum("chwij,ocij->ohw", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)), w)[None]
    got = fathom.Session(plan.replaced(r"\bfetch_ahead: +1", f"fetch_ahead: {ahead}").compile(model, tmp_path, **options)).run(None, {"x": x})[0]
    assert_close(got, want, "convolution")
