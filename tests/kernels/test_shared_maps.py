"""Maps with several results: a random web of elementwise operators, any of whose values may leave it."""
import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import compare
from support.models import model_of
from support.plans import round_trip

UNARY = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp"]
BINARY = ["Add", "Mul", "Sub", "Max"]


def web(random, shape, count):
    """Nodes over x and z; a few read a value in another order, reduce it, or spread a row of it."""
    values, nodes = ["x", "z"], []
    for i in range(count):
        name, kind = f"v{i}", random.random()
        pick = lambda: values[random.integers(max(0, len(values) - 5), len(values))]
        if kind < 0.35:
            nodes.append(helper.make_node(random.choice(UNARY), [pick()], [f"{name}.raw"]))
            nodes.append(helper.make_node("Clip", [f"{name}.raw", "low", "high"], [name]))
        elif kind < 0.75:
            nodes.append(helper.make_node(random.choice(BINARY), [pick(), pick()], [f"{name}.raw"]))
            nodes.append(helper.make_node("Clip", [f"{name}.raw", "low", "high"], [name]))
        elif kind < 0.85:
            nodes.append(helper.make_node("Transpose", [pick()], [f"{name}.turned"], perm=[1, 0]))
            nodes.append(helper.make_node("Reshape", [f"{name}.turned", "shape"], [name], allowzero=1))
        else:
            nodes.append(helper.make_node("ReduceMean", [pick()], [f"{name}.row"], axes=[1], keepdims=1))
            nodes.append(helper.make_node("Add", [pick(), f"{name}.row"], [name]))
        values.append(name)
    return nodes, values[2:]


@pytest.mark.parametrize("shape", [(4, 32), (1, 1), (7, 13), (3, 1), (0, 5), (33, 8)])
def test_a_web_of_maps(shape, random):
    for count in (4, 9, 16):
        nodes, values = web(random, shape, count)
        outputs = [name for name in values if name == values[-1] or random.random() < 0.5]
        inputs = {name: random.standard_normal(shape).astype(np.float32) for name in ("x", "z")}
        weights = {"low": np.float32(-3), "high": np.float32(3), "shape": np.array(shape, np.int64)}
        compare(nodes, inputs, {name: np.array(value) for name, value in weights.items()}, outputs)


@pytest.mark.usefixtures("both")
def test_both_results_of_a_kernel_in_a_plan(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="first"), helper.make_node("Exp", ["a"], ["b"], name="second")]
    model = model_of(nodes, {"x": np.zeros((4, 5), np.float32)}, {}, outputs=["a", "b"])
    plan, _ = round_trip(model, tmp_path)
    assert plan.read_text().count("- kernel:") == 1


@pytest.mark.usefixtures("both")
def test_a_plan_whose_kernels_need_each_other(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("ReduceSum", ["a", "axes"], ["s"], name="sum", keepdims=1),
        helper.make_node("Exp", ["s"], ["e"], name="between"),
        helper.make_node("Add", ["a", "e"], ["b"], name="last"),
    ]
    model = model_of(nodes, {"x": np.zeros((4, 5), np.float32)}, {"axes": np.array([1], np.int64)}, outputs=["a", "b"])
    plan = tmp_path / "plan"
    fathom.compile(model, output=str(plan), emit="plan")
    kernels = plan.read_text().split("  - kernel:")
    assert [text.split()[0] for text in kernels[1:]] == ["a", "e", "b"]
    kernels[3] = kernels[3].replace("ops:\n", "ops:\n      - a\n")
    plan.write_text("  - kernel:".join([kernels[0], *kernels[2:]]))
    with pytest.raises(fathom.Error, match="runs before it"):
        fathom.compile(model, plan=str(plan))
