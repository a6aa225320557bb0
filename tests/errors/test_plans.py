"""Plans with layouts that nothing would heed: no field of a plan is ignored."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models import make_model, value


@pytest.fixture
def plan(fathom, save, tmp_path):
    """The plan of a convolution with two operators behind it, the first of which is never stored."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Tanh", ["c"], ["t"], name="tanh"),
        helper.make_node("Relu", ["t"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["m"], name="mean"),
        helper.make_node("Flatten", ["m"], ["y"], name="flat"),
    ]
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    save(make_model(nodes, [value("x", [1, 3, 8, 8])], [value("y", [1, 4])], [weight]))
    fathom("compile", "model.onnx", "--emit", "plan", "-o", "model.plan").expect(0)
    return tmp_path / "model.plan"


@pytest.fixture
def compile_with(fathom, plan):
    def run(old, new):
        text = plan.read_text()
        assert old in text
        plan.write_text(text.replace(old, new, 1))
        return fathom("compile", "model.onnx", "--plan", plan, "-o", "x.fathom")

    return run


def layout(name, order):
    return f"  - {{ value: {name}, order: [ {', '.join(map(str, order))} ] }}\n"


@pytest.mark.usefixtures("both")
def test_unchanged(compile_with):
    compile_with("kernels:", "kernels:").expect(0)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("name", ["nonsense", "x", "w", "y"])
def test_layout_of_what_has_none(compile_with, name):
    added = layout(name, (0, 2, 3, 1)) + "kernels:"
    compile_with("kernels:", added).expect(1, "[F1009]", f"layout of '{name}'")


@pytest.mark.usefixtures("both")
def test_layout_given_twice(compile_with):
    compile_with("kernels:", layout("r", (0, 1, 2, 3)) + "kernels:").expect(1, "[F1009]", "'r' two layouts")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 3, 2, 1), None])
def test_order_of_what_is_never_stored(compile_with, order):
    changed = layout("t", order) if order else ""
    result = compile_with(layout("t", (0, 2, 3, 1)), changed)
    result.expect(1, "[F1009]", "node 'tanh'", "layout of 't'", "[ 0, 2, 3, 1 ]", "never stores")


def test_order_of_what_is_stored(compile_with, fathom):
    """The counterpart: such a change is taken."""
    compile_with(layout("r", (0, 2, 3, 1)), layout("r", (0, 3, 2, 1))).expect(0)
    fathom("run", "x.fathom").expect(0)


@pytest.mark.usefixtures("both")
def test_consumers_of_a_kernel_that_takes_none(fathom, save, tmp_path):
    """A scatter stores what it is given as it goes; a plan that puts an op behind it into its kernel is refused."""
    nodes = [helper.make_node("ScatterND", ["x", "at", "new"], ["rows"]), helper.make_node("Relu", ["rows"], ["y"])]
    model = save(make_model(nodes, [value("x", [4, 5]), value("at", [2, 1], TensorProto.INT64), value("new", [2, 5])], [value("y", [4, 5])], []))
    text = fathom("compile", model, "--emit", "plan").expect(0).out
    start = text.index("  - kernel:          rows")
    kernel = "  - kernel:          y\n    class:           sequential\n    ops:\n      - rows\n      - y\n    schedule:\n      grain:           8\n"
    plan = tmp_path / "plan"
    plan.write_text(text[:start] + kernel + "...\n")
    fathom("compile", model, "-o", "x.fathom", "--plan", plan).expect(1, "[F1009]", "'y' cannot follow 'rows'", "takes no consumers")
