"""Arrays given for outputs, and outputs in the memory of inputs."""

import fathom
import numpy as np
import pytest
from onnx import TensorProto, helper


def cache_model(second):
    """Writes rows into a cache; `second` is a node that makes the second output."""
    nodes = [helper.make_node("TensorScatter", ["cache", "rows", "at"], ["present"]), second]
    inputs = [("cache", TensorProto.FLOAT, [2, 3, "length", 5]), ("rows", TensorProto.FLOAT, [2, 3, "new", 5])]
    inputs += [("at", TensorProto.INT64, [2])]
    graph = helper.make_graph(
        nodes,
        "cache",
        [helper.make_tensor_value_info(*entry) for entry in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("present", "other")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


@pytest.fixture
def session():
    return fathom.Session(fathom.compile(cache_model(helper.make_node("Relu", ["present"], ["other"]))))


@pytest.fixture
def feeds():
    random = np.random.default_rng(3)
    cache, rows = (random.standard_normal((2, 3, n, 5)).astype(np.float32) for n in (9, 2))
    return {"cache": cache, "rows": rows, "at": np.array([1, 7])}


def written(feeds):
    result = feeds["cache"].copy()
    for batch, at in enumerate(feeds["at"]):
        result[batch, :, at : at + 2] = feeds["rows"][batch]
    return result


def test_given_arrays_are_written_and_returned(session, feeds):
    expected, mine = written(feeds), np.zeros_like(feeds["cache"])
    other, present = session.run(["other", "present"], feeds, {"present": mine})
    assert present is mine
    np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(other, np.maximum(expected, 0))


def test_a_cache_is_written_in_place(session, feeds):
    assert session.aliases == {"present": "cache"}
    expected, cache = written(feeds), feeds["cache"]
    present, other = session.run(None, feeds, {"present": cache})
    assert present is cache
    np.testing.assert_array_equal(cache, expected)
    np.testing.assert_array_equal(other, np.maximum(expected, 0))


def test_a_cache_that_is_read_later_is_not_written_in_place(feeds):
    session = fathom.Session(fathom.compile(cache_model(helper.make_node("Sub", ["present", "cache"], ["other"]))))
    assert session.aliases == {}
    with pytest.raises(fathom.Error, match="'present' lies in the memory of input 'cache'"):
        session.run(None, feeds, {"present": feeds["cache"]})


def test_other_overlaps_are_refused(session, feeds):
    with pytest.raises(fathom.Error, match="'other' lies in the memory of input 'cache'"):
        session.run(None, feeds, {"other": feeds["cache"]})


@pytest.mark.parametrize(
    "array, words",
    [
        (np.zeros((2, 3, 8, 5), np.float32), r"is float32\[2,3,9,5\], the array float32\[2,3,8,5\]"),
        (np.zeros((2, 3, 9, 5), np.float64), "the array float64"),
        (np.zeros((2, 3, 9, 10), np.float32)[..., ::2], "contiguous"),
        ([1.0], "contiguous NumPy array"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(session, feeds, array, words):
    with pytest.raises(fathom.Error, match=words):
        session.run(None, feeds, {"present": array})


def test_unknown_outputs_are_refused(session, feeds):
    with pytest.raises(fathom.Error, match="no output 'missing'"):
        session.run(None, feeds, {"missing": feeds["cache"]})
