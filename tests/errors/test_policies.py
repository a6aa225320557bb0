"""Policies: what they are completed to, how many kernels they make, and those that there are not."""
import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models import make_model, value

def constant(name, *shape, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape, np.float32) * 0.5, name)


def convolutions():
    """What most passes look for: padding, normalisation, equal ops, parallel convolutions, a joined result, a product."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"]),
        helper.make_node("Conv", ["p", "w1"], ["c1"], name="first"),
        helper.make_node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n1"], name="norm"),
        helper.make_node("Relu", ["n1"], ["r1"], name="r1"),
        helper.make_node("Relu", ["n1"], ["r2"], name="r2"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="left"),
        helper.make_node("Conv", ["r2", "w3"], ["c3"], name="right"),
        helper.make_node("Concat", ["c2", "c3"], ["j"], axis=1, name="join"),
        helper.make_node("GlobalAveragePool", ["j"], ["g"], name="pool"),
        helper.make_node("Flatten", ["g"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], transB=1, name="fc"),
    ]
    constants = [
        numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "pads"),
        constant("w1", 5, 3, 3, 3), constant("s", 5, seed=1), constant("b", 5, seed=2), constant("m", 5, seed=3),
        numpy_helper.from_array(np.full(5, 2, np.float32), "v"),
        constant("w2", 4, 5, 1, 1, seed=4), constant("w3", 7, 5, 1, 1, seed=5), constant("w4", 3, 11, seed=6), constant("b4", 3, seed=7),
    ]  # fmt: skip
    return make_model(nodes, [value("x", [1, 3, 9, 7])], [value("y", [1, 3])], constants, opset=17)


def kernels(fathom, policy):
    text = fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", "plan", "--passes", policy).expect(0).out
    return text.count("  - kernel:")


def test_levels_fuse(fathom, save):
    save(convolutions())
    assert kernels(fathom, "none") > kernels(fathom, "O0") > kernels(fathom, "O1") >= kernels(fathom, "O2") >= kernels(fathom, "O3")
    assert kernels(fathom, "O3") == kernels(fathom, "default") == kernels(fathom, "auto")
    assert kernels(fathom, "with:fuse-ops, defuse-ops") == kernels(fathom, "none")


def test_completed(fathom):
    assert fathom("passes", "--passes", "default").expect(0).out == fathom("passes").expect(0).out
    assert fathom("passes", "--passes", "none").expect(0).out == (
        "decompose-quantized, simplify-inference, canonicalize-ops, name-ops, convert-layout, store-results, separate-ops, outline-kernels\n"
    )
    text = fathom("passes", "--passes", "with:fuse-ops,fold-constant").expect(0).out
    assert text.index("fold-constant") < text.index("convert-layout") < text.index("fuse-ops") < text.index("outline-kernels")


def test_auto_leaves_out(fathom, save):
    save(convolutions())
    plan = fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", "plan").expect(0).out
    assert fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", "plan", "--passes", "auto").expect(0).out == plan
    told = fathom("passes", "model.onnx", "--target", "neoverse-v1", "--passes", "auto").expect(0).out
    assert "left out: hoist-invariants, as it has no loop" in told
    assert "left out: fold-explicit-padding" not in told


@pytest.mark.parametrize("passes, words", [
    ("O7", ["there is no policy 'O7'", "O0, O1, O2, O3"]),
    ("paper:AS-9", ["there is no policy 'paper:AS-9'", "paper:AS-0"]),
    ("with:fuse-op", ["there is no pass 'fuse-op'", "did you mean 'fuse-ops'?"]),
    ("with:convert-layout, convert-layout", ["'convert-layout' needs row-major"]),
    ("automatic", ["there is no pass 'automatic'"]),
])  # fmt: skip
def test_wrong_policies(fathom, save, passes, words):
    save(convolutions())
    fathom("compile", "model.onnx", "-o", "m.fathom", "--passes", passes).expect(2, "[F2001]", "hint:", *words)
