"""The Plan decides: a changed number changes the code, an illegal one is refused with the constraint it breaks."""
import pathlib
import re

import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import assert_close
from support.models import model_of
from support.plans import Plan, round_trip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["y"], name="pool", kernel_shape=[2, 2]),
    ]
    weights = {"w": data.standard_normal((24, 8, 3, 3)).astype(np.float32)}
    return model_of(nodes, {"x": np.zeros((1, 8, 14, 14), np.float32)}, weights)


def emit(model, stage, tmp_path, plan=None):
    output = tmp_path / f"{stage}.txt"
    options = {"plan": str(plan)} if plan else {}
    fathom.compile(model, output=str(output), emit=stage, **options)
    return output.read_text()


def edited(model, tmp_path, pattern, replacement, text=None):
    plan = Plan(text) if text else Plan.of(model)
    return pathlib.Path(plan.replaced(pattern, replacement, count=1).save(tmp_path))


@pytest.mark.usefixtures("both")
def test_round_trip(model, tmp_path):
    plan, _ = round_trip(model, tmp_path)
    assert emit(model, "plan", tmp_path, plan) == plan.read_text()


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("knob, value", [("tile_m", 2), ("tile_n", 4), ("unroll_k", 1), ("class: +pool[^{]*?lanes", 4)])
def test_a_changed_knob_changes_the_code(model, tmp_path, knob, value):
    # Not every tile can be loaded ahead.
    start = edited(model, tmp_path, r"load_ahead: +\d+", "load_ahead: 0")
    before = emit(model, "asm", tmp_path, start)
    plan = edited(model, tmp_path, rf"({knob}): +\d+", rf"\1: {value}", start.read_text())
    if knob == "tile_m":
        plan.write_text(re.sub(r"task_m: +\d+", "task_m: 14", plan.read_text(), count=1))
    assert emit(model, "asm", tmp_path, plan) != before
    x = np.random.default_rng(1).standard_normal((1, 8, 14, 14)).astype(np.float32)
    as_it_was, as_planned = fathom.compile(model), fathom.compile(model, plan=str(plan))
    want, got = (fathom.Session(artifact).run(None, {"x": x})[0] for artifact in (as_it_was, as_planned))
    assert_close(got, want, "convolution")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "pattern, replacement, reason",
    [
        (r"tile_m: +\d+", "tile_m: 31", "vector registers"),
        (r"task_m: +\d+", "task_m: 1000001", "multiple of tile_m"),
        (r"tile_n: +\d+", "tile_n: 1000", "outside"),
        (r"tile_m: +\d+((?s:.)*?)streams: +\d+", r"tile_m: 1\1streams: 2", "streams = 2"),
        (r"rows_outer: +\d+((?s:.)*?)fetch_ahead: +\d+", r"rows_outer: 1\1fetch_ahead: 1", "fetch_ahead must be 0"),
        (r"lanes: +\d+", "lains: 4", "no knob 'lains'"),
        (r"class: +contract", "class: pool", "class 'contract'"),
        (r"fathom-plan: +[0-9]+", "fathom-plan: 9", "version"),
        (r"target: .*", "target: nothing", "target"),
        (r"- r\n", "- q\n", "no op 'q'"),
        (r"order: \[ 0, 2, 3, 1 \]", "order: [ 0, 1, 2, 3 ]", "channels innermost"),
        (r"(value: c, order: [^}]*?) }", r"\1, halo: [ 0, 0, 0, 0, 1, 1, 1, 1 ] }", "never stores this value"),
        (r"schedule:", "shedule:", "line"),
    ],
)
def test_an_illegal_plan_is_refused(model, tmp_path, pattern, replacement, reason):
    plan = edited(model, tmp_path, pattern, replacement)
    with pytest.raises(fathom.Error, match=re.escape(reason)) as error:
        fathom.compile(model, plan=str(plan))
    assert error.value.exit_code == 1


SOFTMAX = ([helper.make_node("Softmax", ["x"], ["y"])], (5, 40), {})
DEPTHWISE = ([helper.make_node("Conv", ["x", "w"], ["y"], group=8, pads=[1, 1, 1, 1])], (1, 8, 9, 9), {"w": np.ones((8, 1, 3, 3), np.float32)})


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "made, pattern, replacement, reason",
    [
        (SOFTMAX, r"lanes: +\d+", "lanes: 12", "power of two"),
        (DEPTHWISE, r"tile_w: +\d+\n( +)lanes: +\d+", r"tile_w: 16\n\1lanes: 64", "vector registers"),
    ],
)
def test_an_illegal_schedule_of_another_class_is_refused(tmp_path, made, pattern, replacement, reason):
    nodes, shape, weights = made
    model = model_of(nodes, {"x": np.zeros(shape, np.float32)}, weights)
    plan = edited(model, tmp_path, pattern, replacement)
    with pytest.raises(fathom.Error, match=re.escape(reason)):
        fathom.compile(model, plan=str(plan))


@pytest.mark.usefixtures("both")
def test_round_trip_where_the_order_changes_inside_a_kernel(tmp_path):
    """What is computed before a convolution is written channels innermost, by a kernel of several ops."""
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["s"]),
        helper.make_node("Mul", ["s", "scale"], ["m"]),
        helper.make_node("Conv", ["m", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = {name: np.ones(shape, np.float32) for name, shape in [("mean", (1, 3, 1, 1)), ("scale", (1, 3, 1, 1)), ("w", (8, 3, 3, 3))]}
    test_round_trip(model_of(nodes, {"x": np.zeros((1, 3, 9, 9), np.float32)}, weights), tmp_path)
