"""Versions of a kernel: which schedule runs is decided by the size at run time, as the plan says."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close

DEPTH, COLUMNS = 300, 96
# Steps of a reduction in another order round differently, so that one can tell which schedule ran.
SCHEDULE = {"tile_m": 4, "tile_n": 16, "unroll_k": 2, "in_flight": 16, "load_ahead": 0, "pack_a": 0, "block_k": 300, "rows_outer": 1,
            "through_scratch": 0, "pack_vectors": 2, "row_apart": 0, "store_vectors": 8, "streams": 1, "fetch_ahead": 0, "task_m": 8, "task_n": 2}
SMALL = SCHEDULE | {"tile_m": 1, "in_flight": 1, "task_m": 1}
MIDDLE = SCHEDULE | {"tile_m": 2, "in_flight": 64, "task_m": 6}


@pytest.fixture(scope="module")
def model():
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((DEPTH, COLUMNS)).astype(np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "rows", DEPTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "rows", COLUMNS])], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def spell(schedule, indent):
    return "".join(f"{' ' * indent}{knob}: {value}\n" for knob, value in schedule.items())


def plan_with(model, tmp_path, schedule, versions=()):
    text = fathom.compile(model, emit="plan")
    head = re.match(r"(?s).*?\n    schedule:\n", text)[0]
    text = head + spell(schedule, 6)
    if versions:
        text += "    versions:\n" + "".join(f"      - up_to: {bound}\n        schedule:\n{spell(version, 10)}" for bound, version in versions)
    path = tmp_path / f"{abs(hash(text))}.plan"
    path.write_text(text)
    return path


def session(model, plan, threads=1):
    return fathom.Session(fathom.compile(model, plan=plan), threads)


def data(batch, rows):
    return np.random.default_rng(batch * 100 + rows).standard_normal((batch, rows, DEPTH)).astype(np.float32)


@pytest.mark.usefixtures("pinned")
def test_the_size_decides(model, tmp_path):
    versions = [(3, SMALL), (14, MIDDLE)]
    mixed = [session(model, plan_with(model, tmp_path, SCHEDULE, versions), threads) for threads in (1, 2, 3)]
    alone = {name: session(model, plan_with(model, tmp_path, schedule)) for name, schedule in [("small", SMALL), ("middle", MIDDLE), ("large", SCHEDULE)]}
    differing = set()
    # Batch times rows is what counts.
    for batch, rows in [(1, 1), (3, 1), (1, 3), (2, 2), (1, 4), (7, 2), (14, 1), (3, 5), (1, 15), (1, 37), (5, 9)]:
        x = data(batch, rows)
        count = batch * rows
        results = {name: one.run(None, {"x": x})[0] for name, one in alone.items()}
        expected = "small" if count <= 3 else "middle" if count <= 14 else "large"
        for one in mixed:
            got = one.run(None, {"x": x})[0]
            assert got.tobytes() == results[expected].tobytes(), (batch, rows, expected)
        differing |= {name for name in results if results[name].tobytes() != results[expected].tobytes()}
        assert_close(results["large"], x.astype(np.float64) @ onnx.numpy_helper.to_array(model.graph.initializer[0]), "arithmetic")
    assert differing, "the schedules round alike, so that the comparison says nothing"


@pytest.mark.usefixtures("both")
def test_round_trip(model, tmp_path):
    plan = plan_with(model, tmp_path, SCHEDULE, [(3, SMALL), (14, MIDDLE)])
    text = fathom.compile(model, emit="plan", plan=plan)
    assert re.findall(r"up_to: +(\d+)", text) == ["3", "14"]
    again = tmp_path / "again.plan"
    again.write_text(text)
    assert fathom.compile(model, emit="plan", plan=again) == text
    one, two = tmp_path / "one.fathom", tmp_path / "two.fathom"
    fathom.compile(model, one, plan=plan)
    fathom.compile(model, two, plan=again)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("versions, words", [
    ([(14, MIDDLE), (3, SMALL)], "more than 14 rows"),
    ([(3, SMALL), (3, MIDDLE)], "more than 3 rows"),
    ([(0, SMALL)], "more than 0 rows"),
    ([(3, SMALL | {"tile_m": 3})], "task_m = 1 must be a multiple of tile_m = 3"),
    ([(3, {knob: value for knob, value in SMALL.items() if knob != "task_n"})], "'task_n' is missing"),
    ([(i, SMALL) for i in range(1, 6)], "3 is the limit"),
])
def test_what_is_refused(model, tmp_path, versions, words):
    with pytest.raises(fathom.Error, match=words) as error:
        fathom.compile(model, plan=plan_with(model, tmp_path, SCHEDULE, versions))
    assert error.value.code == "F1009"


@pytest.mark.usefixtures("both")
def test_known_size_has_no_versions(model, tmp_path):
    plan = plan_with(model, tmp_path, SCHEDULE, [(3, SMALL)])
    with pytest.raises(fathom.Error, match="its size is known"):
        fathom.compile(model, plan=plan, dim={"batch": 1, "rows": 9})


@pytest.mark.parametrize("dims", [None, ["rows=1..4096,opt=1"], ["rows=1..4096,opt=512", "batch=1..8,opt=1"]])
def test_defaults_hold_for_every_size(model, dims):
    """Whatever versions are chosen, every size is computed right, and alike on all threads."""
    weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
    artifact = fathom.compile(model, dim=dims)
    sessions = [fathom.Session(artifact, threads) for threads in (1, 3)]
    for batch, rows in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 3), (1, 7), (1, 8), (1, 13), (3, 31), (1, 128), (1, 130), (8, 97), (2, 1025)]:
        x = data(batch, rows)
        one, two = (session.run(None, {"x": x})[0] for session in sessions)
        assert one.tobytes() == two.tobytes()
        assert_close(one, x.astype(np.float64) @ weight, "arithmetic")


@pytest.mark.parametrize("target", ["neoverse-v1", "x86-64-v3"])
def test_no_version_for_less_than_padding(tmp_path, target):
    """Padding alone gives rows, but there is no image without a row of its own: the plan of such a convolution can be given back."""
    weight = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[2] * 4)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, "height", 26])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    plan = tmp_path / "plan"
    fathom.compile(proto, output=str(plan), emit="plan", target=target, conv_algorithm="contract")
    assert fathom.compile(proto, emit="plan", target=target, plan=str(plan)) == plan.read_text()
