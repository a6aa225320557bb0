"""Convolutions by Winograd's method, forced on awkward sizes, against ONNX Runtime and double precision."""
import random

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import compare
from support.models import model_of
from support.plans import Plan

ALGORITHMS = ["contract", "winograd2", "winograd4"]


def convolution(data, channels, filters, height, width, pads, batch=1, group=1):
    """Of so many channels and filters in a group."""
    x = data.standard_normal((batch, group * channels, height, width)).astype(np.float32)
    w = (data.standard_normal((group * filters, channels, 3, 3)) / np.sqrt(9 * channels)).astype(np.float32)
    b = data.standard_normal(group * filters).astype(np.float32)
    return helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=pads, group=group), {"x": x}, {"w": w, "b": b}


def classes(model, **options):
    return Plan.of(model, **options).classes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", range(8))
def test_awkward_sizes(case, algorithm, seed):
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    pads = [rng.choice([0, 1, 1, 2]) for _ in range(4)]
    height, width = (rng.choice([3, 4, 5, 7, 8, 13, 29]) for _ in range(2))
    channels, filters = rng.choice([1, 3, 4, 17, 32]), rng.choice([1, 2, 5, 16, 37])
    node, inputs, weights = convolution(data, channels, filters, height, width, pads, batch=rng.choice([1, 2, 3]))
    nodes = [node, helper.make_node("Relu", ["c"], ["y"])]
    compare(nodes, inputs, weights, conv_algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", range(8))
def test_groups(case, algorithm, seed):
    """Panels end with their group, however few filters it has."""
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    group, channels, filters = rng.choice([2, 3, 8]), rng.choice([2, 3, 8, 17, 32]), rng.choice([1, 2, 7, 16, 24, 37, 48])
    height, width = (rng.choice([1, 2, 5, 8, 13]) for _ in range(2))
    node, inputs, weights = convolution(data, channels, filters, height, width, [1] * 4, rng.choice([1, 3]), group)
    nodes = [node, helper.make_node("Relu", ["c"], ["y"])]
    compare(nodes, inputs, weights, conv_algorithm=algorithm)
    assert ("winograd" in classes(model_of(nodes, inputs, weights), conv_algorithm=algorithm)) == (algorithm != "contract")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_residual_block(algorithm, seed):
    """Halos, a fused addition, and a second convolution that reads what the first one wrote."""
    data = np.random.default_rng(seed)
    first, inputs, weights = convolution(data, 12, 12, 10, 11, [1] * 4)
    nodes = [
        first,
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "w", "b"], ["d"], pads=[1] * 4),
        helper.make_node("Add", ["d", "x"], ["y"]),
    ]
    compare(nodes, inputs, weights, conv_algorithm=algorithm)


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("algorithm", ["winograd2", "winograd4"])
def test_error_against_double_precision(algorithm, group):
    """At most 1e-4 of the largest output, on twenty seeds."""
    for seed in range(20):
        data = np.random.default_rng(seed)
        node, inputs, weights = convolution(data, 48 // group, 24 // group, 14, 14, [1] * 4, group=group)
        node.output[0] = "y"
        model = model_of([node], inputs, weights)
        exact = ReferenceEvaluator(onnx.helper.make_model(double_precision(model.graph), opset_imports=model.opset_import))
        want = exact.run(None, {"x": inputs["x"].astype(np.float64)})[0]
        got = fathom.Session(fathom.compile(model, conv_algorithm=algorithm)).run(None, inputs)[0]
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max(), f"seed {seed}"


def double_precision(graph):
    graph = onnx.GraphProto.FromString(graph.SerializeToString())
    for i, tensor in enumerate(graph.initializer):
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        graph.initializer[i].CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    for info in [*graph.input, *graph.output]:
        info.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    return graph


@pytest.fixture(scope="module")
def model():
    node, inputs, weights = convolution(np.random.default_rng(0), 64, 64, 56, 56, [1] * 4)
    return model_of([node, helper.make_node("Relu", ["c"], ["y"])], inputs, weights)


@pytest.mark.usefixtures("both")
def test_chosen_where_it_pays(model):
    assert "winograd" in classes(model, max_weight_growth=400)


@pytest.mark.parametrize("target", ["neoverse-n1", "x86-64-v3"])
def test_chosen_for_groups_where_it_pays(target):
    """Of many channels; those of single ones have a kernel of their own, and are never transformed."""
    data = np.random.default_rng(0)
    for channels, expected in ((32, True), (1, False)):
        node, inputs, weights = convolution(data, channels, channels, 28, 28, [1] * 4, group=4)
        node.output[0] = "y"
        model = model_of([node], inputs, weights)
        assert ("winograd" in classes(model, max_weight_growth=400, target=target)) == expected
        assert ("winograd" in classes(model, conv_algorithm="winograd4", target=target)) == expected


@pytest.mark.usefixtures("both")
def test_weights_grow_within_the_budget(model):
    assert "winograd" not in classes(model, max_weight_growth=0)


@pytest.mark.usefixtures("both")
def test_weights_of_a_small_model_may_grow_more():
    """Those of single layers are less than their code."""
    node, inputs, weights = convolution(np.random.default_rng(0), 32, 32, 56, 56, [1] * 4)
    model = model_of([node, helper.make_node("Relu", ["c"], ["y"])], inputs, weights)
    assert "winograd" in classes(model)
    assert "winograd" not in classes(model, max_weight_growth=1)


@pytest.mark.usefixtures("both")
def test_strict_floating_point_has_none_of_it(model, tmp_path):
    assert "winograd" not in classes(model, fp="strict")
    with pytest.raises(fathom.Error, match="does not go with --fp strict"):
        fathom.compile(model, fp="strict", conv_algorithm="winograd4")
    plan = tmp_path / "plan"
    fathom.compile(model, output=str(plan), emit="plan", conv_algorithm="winograd4")
    with pytest.raises(fathom.Error, match="class 'winograd' is for(.|\\n)*needs --fp fast"):
        fathom.compile(model, fp="strict", plan=str(plan))


@pytest.mark.usefixtures("both")
def test_other_windows_stay_products(seed):
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 8, 8, 9, 9, [1] * 4)
    node.attribute.append(helper.make_attribute("strides", [2, 2]))
    made = model_of([node, helper.make_node("Relu", ["c"], ["y"])], inputs, weights)
    assert "winograd" not in classes(made, conv_algorithm="winograd4")


@pytest.mark.usefixtures("both")
def test_a_plan_says_which_algorithm(model, tmp_path):
    for algorithm in ALGORITHMS:
        plan, options = tmp_path / f"{algorithm}.plan", {"conv_algorithm": algorithm}
        fathom.compile(model, output=str(plan), emit="plan", **options)
        chosen, planned = tmp_path / "chosen.fathom", tmp_path / "planned.fathom"
        fathom.compile(model, output=str(chosen), **options)
        fathom.compile(model, output=str(planned), plan=str(plan))
        assert chosen.read_bytes() == planned.read_bytes()


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "change, reason",
    [
        ({"tile": 3}, "tile = 2 or 4"),
        ({"task_t": 1000000}, "bytes of scratch"),
        ({"tile_m": 32}, "vector registers"),
    ],
)
def test_impossible_plans_are_refused(model, tmp_path, change, reason):
    plan = Plan.of(model, conv_algorithm="winograd4").with_knobs(change, of="winograd")
    with pytest.raises(fathom.Error, match=reason):
        plan.compile(model, tmp_path)


@pytest.mark.usefixtures("both")
def test_a_panel_over_two_groups_is_refused(tmp_path, seed):
    node, inputs, weights = convolution(np.random.default_rng(seed), 8, 24, 9, 9, [1] * 4, group=2)
    node.output[0] = "y"
    model = model_of([node], inputs, weights)
    plan = Plan.of(model, conv_algorithm="winograd2").with_knobs({"tile_n": 16})
    with pytest.raises(fathom.Error, match="must divide the 24 output channels of a group"):
        plan.compile(model, tmp_path)
