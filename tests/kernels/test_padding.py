"""A Pad in front of a window is the window's own padding where that means the same, and a step of its own elsewhere."""
import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import assert_close, compare
from support.models import model_of
from support.plans import Plan

AROUND = [0, 0, 1, 2, 0, 0, 3, 0]


@pytest.mark.parametrize("size", [1, 2, 5, 13])
@pytest.mark.parametrize("pads, value", [(AROUND, 0), (AROUND, 1.5), ([0, 1, 1, 1, 0, 0, 1, 1], 0), ([0, 0, 2, 2, 0, 0, -1, 2], 0)])
@pytest.mark.parametrize("own", [{}, {"pads": [1, 0, 1, 1]}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"}])
def test_convolution(random, size, pads, value, own):
    nodes = [
        helper.make_node("Pad", ["x", "p", "v"], ["padded"]),
        helper.make_node("Conv", ["padded", "w"], ["y"], kernel_shape=[2, 3], strides=[1, 2], **own),
    ]
    channels = 3 + pads[1] + pads[5]
    weights = {"p": np.array(pads), "v": np.array(value, np.float32), "w": random.standard_normal((5, channels, 2, 3)).astype(np.float32)}
    cut_off = "nothing of the image is left" if size + pads[6] <= 0 else None
    compare(nodes, {"x": random.standard_normal((2, 3, size, size)).astype(np.float32)}, weights, same_for_all_inputs=cut_off)


@pytest.mark.parametrize("value", [0, -np.inf])
@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling(random, op, value, ceil_mode):
    nodes = [
        helper.make_node("Pad", ["x", "p", "v"], ["padded"]),
        helper.make_node(op, ["padded"], ["y"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=ceil_mode),
    ]
    if op == "AveragePool" and value:
        value = 2
    weights = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "v": np.array(value, np.float32)}
    # ONNX Runtime takes zeros for the padding of a maximum, too, so that the reference is another one.
    inputs = {"x": random.standard_normal((1, 5, 8, 7)).astype(np.float32)}
    model = model_of(nodes, inputs, weights)
    (got,), (want,) = fathom.Session(fathom.compile(model)).run(None, inputs), ReferenceEvaluator(model).run(None, inputs)
    assert_close(got, want, "sum")


@pytest.mark.parametrize("given", ["pads", "sizes", "both"])
@pytest.mark.parametrize("pads", [(1, 2), (-1, 2), (2, -1), (-1, -1), (-2, 4), (0, -3), (3, -2), (-3, 7), (7, -3), (-4, 3)])
def test_wrapping_what_a_crop_leaves(random, pads, given):
    """As ONNX Runtime has it; the reference evaluator refuses negative pads. Of pads and of sizes that only the run knows."""
    x = random.standard_normal((3, 5)).astype(np.float32)
    inputs = {"x": x, "p": np.array([0, pads[0], 0, pads[1]])}
    model = model_of([helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap")], inputs, {})
    if given == "sizes":
        model = model_of([helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap")], {"x": x}, {"p": inputs.pop("p")})
    if given != "pads":
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "n"
    left = x[:, max(0, -pads[0]) : 5 + min(0, pads[1])]
    want = left[:, np.arange(-max(0, pads[0]), left.shape[1] + max(0, pads[1])) % left.shape[1]]
    artifact = fathom.compile(model)
    for threads in (1, 2):
        np.testing.assert_array_equal(fathom.Session(artifact, threads=threads).run(None, inputs)[0], want)


def test_nothing_to_wrap():
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap", name="wrap")
    inputs = {"x": np.zeros(5, np.float32), "p": np.array([-5, 2])}
    session = fathom.Session(fathom.compile(model_of([node], inputs, {})))
    with pytest.raises(fathom.Error, match="wrap pads that data decides do not go with size 5"):
        session.run(None, inputs)


@pytest.mark.parametrize("size", [0, 1, 5, 37, 64])
def test_lanes_that_are_padded_together(random, size, tmp_path):
    """Lanes along a padded dimension are read together as far as the plan says, and one by one beyond."""
    nodes = [helper.make_node("Pad", ["x", "p"], ["padded"]), helper.make_node("Neg", ["padded"], ["y"])]
    x = random.standard_normal((3, size)).astype(np.float32)
    proto = model_of(nodes, {"x": x}, {"p": np.array([0, 2, 1, 3])})
    plan = Plan.of(proto)
    for lanes in (1, 16, 256):
        artifact = plan.with_knobs({"padded_lanes": lanes}).compile(proto, tmp_path)
        assert_close(fathom.Session(artifact).run(None, {"x": x})[0], -np.pad(x, [(0, 1), (2, 3)]), "exact")
    with pytest.raises(fathom.Error, match=r"padded_lanes = 257 is outside \[1, 256\]"):
        plan.with_knobs({"padded_lanes": 257}).compile(proto, tmp_path)
