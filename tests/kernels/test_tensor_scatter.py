"""Rows written into a cache, against numpy: axes, modes, lanes that a plan says, indices outside."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.plans import Plan

SHAPES = [(2, 3, 7, 33), (1, 1, 1, 1), (3, 5, 64), (2, 0, 4, 3), (2, 7, 0)]


def model(cache, update, axis, mode):
    infos = [helper.make_tensor_value_info("cache", TensorProto.FLOAT, cache.shape), helper.make_tensor_value_info("update", TensorProto.FLOAT, update.shape),
             helper.make_tensor_value_info("first", TensorProto.INT64, [cache.shape[0]])]
    node = helper.make_node("TensorScatter", ["cache", "update", "first"], ["y"], name="write", axis=axis, mode=mode)
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def written(cache, update, first, axis, mode):
    result, axis = cache.copy(), axis % cache.ndim
    for n, start in enumerate(first):
        for row in range(update.shape[axis]):
            at = (start + row) % cache.shape[axis] if mode == "circular" else start + row
            np.moveaxis(result[n], axis - 1, 0)[at] = np.moveaxis(update[n], axis - 1, 0)[row]
    return result


def case(random, shape, axis, mode):
    cache = random.standard_normal(shape).astype(np.float32)
    length = shape[axis]
    rows = int(random.integers(0, length + 1))
    update_shape = list(shape)
    update_shape[axis] = rows
    update = random.standard_normal(update_shape).astype(np.float32)
    first = random.integers(0, max(1, length if mode == "circular" else length - rows + 1), shape[0])
    return cache, update, first


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, -2, -1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_are_written(random, shape, axis, mode):
    cache, update, first = case(random, shape, axis, mode)
    artifact = fathom.compile(model(cache, update, axis, mode))
    inputs = {"cache": cache, "update": update, "first": first}
    for threads in (1, 2):
        got = fathom.Session(artifact, threads=threads).run(None, inputs)[0]
        assert got.tobytes() == written(cache, update, first, axis, mode).tobytes()


@pytest.mark.parametrize("target", ["x86-64-v3", "neoverse-n1"])
def test_the_plan_says_how_many_lanes(random, target):
    cache, update, first = case(random, (2, 3, 7, 33), -2, "linear")
    plan = Plan.of(model(cache, update, -2, "linear"), target=target)
    vector = 8 if target == "x86-64-v3" else 4
    assert plan.classes == ["tensor_scatter"] and plan.values("lanes") == [4 * vector]
    # Along the innermost dimension, rows are single elements.
    assert Plan.of(model(cache, cache[..., :2], -1, "linear"), target=target).values("lanes") == [1]


def test_lanes_of_a_plan(random, tmp_path):
    cache, update, first = case(random, (3, 2, 9, 131), -2, "linear")
    proto = model(cache, update, -2, "linear")
    plan = Plan.of(proto)
    most = plan.values("lanes")[0]
    for lanes in (most // 4, most // 2, most, 2 * most):
        got = fathom.Session(plan.with_knobs({"lanes": lanes}).compile(proto, tmp_path)).run(None, {"cache": cache, "update": update, "first": first})[0]
        assert got.tobytes() == written(cache, update, first, -2, "linear").tobytes()
    with pytest.raises(fathom.Error, match=f"lanes = {most + 1} must be whole vectors of {most // 4}"):
        plan.with_knobs({"lanes": most + 1}).compile(proto, tmp_path)


def test_lanes_along_the_innermost_dimension_are_refused(random, tmp_path):
    cache = random.standard_normal((2, 3, 8)).astype(np.float32)
    proto = model(cache, cache[..., :2], -1, "linear")
    with pytest.raises(fathom.Error, match="lanes must be 1"):
        Plan.of(proto).with_knobs({"lanes": 4}).compile(proto, tmp_path)


def test_the_class_that_it_was_is_refused(random, tmp_path):
    cache, update, _ = case(random, (2, 3, 7, 33), -2, "linear")
    proto = model(cache, update, -2, "linear")
    older = Plan.of(proto).replaced("class: +tensor_scatter", "class: sequential").replaced(r" +lanes: +\d+\n", "")
    with pytest.raises(fathom.Error, match="its ops make it class 'tensor_scatter', not 'sequential'"):
        older.compile(proto, tmp_path)


def test_an_index_outside_is_a_fault(random):
    cache, update, _ = case(random, (2, 3, 7, 33), -2, "linear")
    session = fathom.Session(fathom.compile(model(cache, cache[:, :, :2], -2, "linear")))
    for first in (6, -1):
        with pytest.raises(fathom.Error):
            session.run(None, {"cache": cache, "update": cache[:, :, :2], "first": np.array([0, first])})
