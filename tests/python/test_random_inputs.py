"""Random inputs are such that a model can run on them: indices, lengths and counts lie within what operators take."""

import subprocess

import numpy as np
import pytest
from support.models import make_model, value
from onnx import TensorProto, helper, numpy_helper
import fathom
from fathom.__main__ import find_tool
from fathom.inputs import random_inputs
from fathom.verify import verify

F, I, J = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
SEEDS = range(4)


def floats(name, *shape):
    return numpy_helper.from_array(np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32), name)


def number(name, *values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values[0] if len(values) == 1 else values, dtype), name)


def drawn(model, dims, name="i"):
    session = fathom.Session(fathom.compile(model))
    return np.concatenate([np.ravel(random_inputs(session, seed, dims)[name]) for seed in range(20)])


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(" "), outputs.split(), name=f"{op} of {outputs}", **attributes)


def recurrent(op, gates, layout=0):
    weights = [floats("w", 1, gates * 3, 2), floats("r", 1, gates * 3, 3)]
    shape = ["batch", "time", 2] if layout else ["time", "batch", 2]
    nodes = [node(op, "x w r  i", " y", hidden_size=3, layout=layout)]
    nodes[0].output[:] = ["", "y"]
    return make_model(nodes, [value("x", shape), value("i", ["batch"], J)], [value("y", None)], weights)


MODELS = {
    # The numbers that may come, and the sizes of the run.
    "table": (make_model([node("Gather", "w i")], [value("i", ["n"], I)], [value("y", None)], [floats("w", 7, 2)]), {"n": 50}, (0, 6)),
    "another input": (make_model([node("Gather", "x i", axis=1)], [value("x", [2, "m"]), value("i", ["n"], I)], [value("y", None)]), {"n": 50, "m": 5}, (0, 4)),
    "elements": (make_model([node("GatherElements", "x i", axis=-1)], [value("x", [2, "m"]), value("i", [2, "n"], I)], [value("y", None)]), {"n": 9, "m": 3}, (0, 2)),
    "tuples": (make_model([node("GatherND", "w i")], [value("i", ["n", 2], I)], [value("y", None)], [floats("w", 4, 9)]), {"n": 9}, (0, 3)),
    "scattered": (make_model([node("ScatterND", "x i u")], [value("x", ["m", 2]), value("i", [3, 1], I), value("u", [3, 2])], [value("y", None)]), {"m": 4}, (0, 3)),
    "moved and cast": (
        make_model([node("Unsqueeze", "i a", "j"), node("Cast", "j", "k", to=I), node("Transpose", "k", "l"), node("Gather", "w l")],
                   [value("i", ["n"], J)], [value("y", None)], [floats("w", 5, 2), number("a", [0])]), {"n": 50}, (0, 4)),
    "shifted": (make_model([node("Sub", "i one", "j"), node("Gather", "w j")], [value("i", ["n"], I)], [value("y", None)], [floats("w", 5, 2), number("one", 1)]),
                {"n": 50}, (1, 5)),
    "two tables": (make_model([node("Gather", "w i", "a"), node("Gather", "v i", "b"), node("Add", "a b")], [value("i", ["n"], I)], [value("y", None)],
                              [floats("w", 9, 2), floats("v", 4, 2)]), {"n": 50}, (0, 3)),
    "lstm": (recurrent("LSTM", 4), {"time": 6, "batch": 11}, (1, 6)),
    "gru": (recurrent("GRU", 3), {"time": 5, "batch": 3}, (1, 5)),
    "rnn": (recurrent("RNN", 1), {"time": 2, "batch": 7}, (1, 2)),
    "reversed": (make_model([node("ReverseSequence", "x i", time_axis=0, batch_axis=1)], [value("x", ["t", "b", 2]), value("i", ["b"], I)], [value("y", None)]),
                 {"t": 5, "b": 8}, (1, 5)),
    "count": (make_model([node("TopK", "x i", "y z")], [value("x", [3, "m"]), value("i", [1], I)], [value("y", None), value("z", None, I)]), {"m": 6}, (1, 6)),
    "divisor": (make_model([node("Div", "n i")], [value("n", [20], I), value("i", [20], I)], [value("y", None, I)]), {}, (1, 100)),
}


@pytest.mark.parametrize("name", MODELS)
def test_ranges(name):
    model, dims, (low, high) = MODELS[name]
    found = drawn(model, dims)
    assert found.min() >= low and found.max() <= high
    # All of them come, given enough numbers.
    if len(found) >= 20 * (high - low + 1):
        assert set(found.tolist()) == set(range(low, high + 1))
    for seed in SEEDS:
        assert verify(model, seed=seed, dims=dims)["ok"]


@pytest.mark.parametrize("past", [0, 8])
def test_attention_with_a_cache(past):
    """Lengths that fit the cache: one that grows has the new positions behind it, one with room is written in place."""
    size = "past" if not past else past
    nodes = [helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "lengths", "total"], ["y", "nk", "nv"], name="attend",
                              domain="com.microsoft", num_heads=2, kv_num_heads=1)]
    inputs = [value("q", ["b", "s", 16]), value("k", ["b", "s", 8]), value("v", ["b", "s", 8]), value("pk", ["b", 1, size, 8]),
              value("pv", ["b", 1, size, 8]), value("lengths", ["b"], J), value("total", [1], J)]
    model = make_model(nodes, inputs, [value("y", None)])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    session = fathom.Session(fathom.compile(model))
    dims = {"b": 2, "s": 1} | ({"past": 4} if not past else {})
    values = random_inputs(session, 1, dims)
    assert values["lengths"].tolist() == [past - 1 if past else 4] * 2
    assert verify(model, dims=dims)["ok"]


def test_mask_of_a_decoder():
    """As exporters write it: the lengths are sums of a mask, which must then be full."""
    nodes = [node("ReduceSum", "mask axis", "n", keepdims=0), node("Sub", "n one", "m"), node("Cast", "m", "lengths", to=J),
             node("Shape", "mask", "shape"), node("Gather", "shape axis", "t"), node("Cast", "t", "total", to=J),
             helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "lengths", "total"], ["y", "nk", "nv"], name="attend",
                              domain="com.microsoft", num_heads=2, kv_num_heads=1)]
    inputs = [value("q", ["b", "s", 16]), value("k", ["b", "s", 8]), value("v", ["b", "s", 8]), value("pk", ["b", 1, "past", 8]),
              value("pv", ["b", 1, "past", 8]), value("mask", ["b", "all"], I)]
    model = make_model(nodes, inputs, [value("y", None)], [number("axis", [1]), number("one", 1)])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    dims = {"b": 1, "s": 1, "past": 4, "all": 5}
    assert random_inputs(fathom.Session(fathom.compile(model)), 0, dims)["mask"].tolist() == [[1] * 5]
    assert verify(model, dims=dims)["ok"]


def test_command_line_draws_the_same(tmp_path):
    nodes = [node("Gather", "w i", "y"), node("Identity", "i", "j"), node("Gather", "w k", "z"), node("Identity", "k", "l")]
    inputs = [value("i", ["n"], I), value("k", [3, "n"], J)]
    model = make_model(nodes, inputs, [value("j", None, I), value("l", None, J), value("y", None), value("z", None)], [floats("w", 1000, 2)])
    fathom.compile(model, tmp_path / "m.fathom")
    words = [find_tool(), "run", tmp_path / "m.fathom", "--dim", "n=9", "--seed", "5", "--output-dir", tmp_path, "-q"]
    subprocess.run(words, check=True)
    values = random_inputs(fathom.Session(tmp_path / "m.fathom"), 5, {"n": 9})
    assert np.array_equal(values["i"], np.load(tmp_path / "j.npy")) and np.array_equal(values["k"], np.load(tmp_path / "l.npy"))
    assert values["k"].max() > 100
