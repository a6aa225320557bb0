"""Panels of weights that are read side by side, as a plan says, whatever is left over by them."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper

import fathom
from support.compare import assert_close
from support.models import model_of
from support.plans import Plan

pytestmark = pytest.mark.usefixtures("pinned")


def with_streams(model, tmp_path, streams, task):
    """The model compiled with one knob changed, and no other that it depends on."""
    plan = Plan.of(model)
    knobs = dict(tile_m=2, tile_n=8, unroll_k=8, load_ahead=24 if plan.is_aarch64 else 0, rows_outer=0, streams=streams, fetch_ahead=0, pack_a=0, task_m=4, task_n=task)
    # A product of single numbers is a map.
    if "contract" in plan.classes:
        plan = plan.with_knobs(knobs)
    return plan.compile(model, tmp_path)


@pytest.mark.parametrize("streams, task", [(2, 2), (3, 3), (3, 9), (4, 4), (4, 1000)])
@pytest.mark.parametrize("columns", [1, 8, 24, 32, 33, 67, 131])
def test_streams(columns, streams, task, tmp_path, random):
    """Fewer panels than streams, as many, more; full and not; in one task and in several."""
    depth = int(random.choice([1, 5, 37, 128]))
    x, b = random.standard_normal((5, depth)).astype(np.float32), random.standard_normal(columns).astype(np.float32)
    w = (random.standard_normal((depth, columns)) / np.sqrt(depth)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Add", ["product", "b"], ["y"])]
    model = model_of(nodes, {"x": x}, {"w": w, "b": b})
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    artifact = with_streams(model, tmp_path, streams, task)
    one, two = (fathom.Session(artifact, threads=threads).run(None, {"x": x})[0] for threads in (1, 2))
    assert one.tobytes() == two.tobytes(), "results depend on the thread count"
    assert_close(one, want, "sum")
