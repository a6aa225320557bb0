"""Policies and what passes make of graphs, at random sizes: results as ONNX Runtime's, whatever the passes."""
import os
import random
import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support import tolerances
from support.compare import assert_close, reference, run
from support.graphs import constant, convolutions
from support.models import make_model, value
from support.tool import ROOT

POLICIES = re.findall(r'^      \{"([\w:-]+)", "', (ROOT / "compiler/driver/Policies.cpp").read_text(), re.M) + ["auto"]


def attention():
    """Three products of one input, a scale, a softmax and a power."""
    nodes = [
        helper.make_node("MatMul", ["x", "wq"], ["q"], name="q"),
        helper.make_node("MatMul", ["x", "wk"], ["k"], name="k"),
        helper.make_node("MatMul", ["x", "wv"], ["v"], name="v"),
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1], name="t"),
        helper.make_node("MatMul", ["q", "t"], ["s"], name="s"),
        helper.make_node("Div", ["s", "d"], ["sd"], name="scaled"),
        helper.make_node("Softmax", ["sd"], ["p"], axis=-1, name="soft"),
        helper.make_node("MatMul", ["p", "v"], ["o"], name="o"),
        helper.make_node("Pow", ["o", "two"], ["y"], name="square"),
    ]
    constants = [constant(n, 8, 8, seed=i) for i, n in enumerate(["wq", "wk", "wv"])]
    constants += [numpy_helper.from_array(np.array(3, np.float32), "d"), numpy_helper.from_array(np.array(2, np.float32), "two")]
    return make_model(nodes, [value("x", [1, 7, 8])], [value("y", [1, 7, 8])], constants, opset=17)


def casts():
    """A type between that is not needed, and a wider one that two ops read; equal ops, and what undoes itself."""
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16, name="half"),
        helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT, name="single"),
        helper.make_node("Exp", ["f"], ["e"], name="e"),
        helper.make_node("Abs", ["f"], ["a"], name="a"),
        helper.make_node("Cast", ["f"], ["d"], to=TensorProto.DOUBLE, name="double"),
        helper.make_node("Cast", ["d"], ["g"], to=TensorProto.FLOAT, name="again"),
        helper.make_node("Neg", ["g"], ["n"], name="n"),
        helper.make_node("Neg", ["n"], ["m"], name="m"),
        helper.make_node("Mul", ["e", "one"], ["k"], name="k"),
        helper.make_node("Add", ["k", "a"], ["s"], name="s"),
        helper.make_node("Add", ["s", "m"], ["t"], name="t"),
        helper.make_node("Div", ["t", "three"], ["u"], name="u"),
        helper.make_node("Unsqueeze", ["u", "axis"], ["v"], name="v"),
        helper.make_node("Squeeze", ["v", "axis"], ["y"], name="w"),
    ]
    constants = [numpy_helper.from_array(np.array(v, t), n) for n, v, t in [("one", 1, np.float32), ("three", 3, np.float32), ("axis", [1], np.int64)]]
    return make_model(nodes, [value("x", [13, 1, 3])], [value("y", [13, 1, 3])], constants, opset=17)


# Passes on graphs without layouts, and those of layouts: any of them, in any order, compute the same.
ROWS = """batching-ops canonicalize-cast canonicalize-ops combine-parallel-conv2d combine-parallel-dense dead-code-elimination decompose-quantized
dynamic-to-static eliminate-common-subexpr fold-constant fold-explicit-padding forward-fold-scale-axis hoist-invariants nest-concats
remove-unused-functions simplify-expr simplify-fc-transpose simplify-inference annotate-spans alter-op-layout""".split()
LAYOUTS = "place-pieces fuse-ops".split()


def random_order(draw):
    rows = [draw.choice(ROWS) for _ in range(draw.randint(1, 14))]
    return "with:" + ",".join(rows + [name for name in LAYOUTS if draw.random() < 0.5])


def matches(proto, policies):
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    inputs = {"x": np.random.default_rng(1).standard_normal(shape, np.float32)}
    (want,) = reference(proto)(inputs)
    for policy in policies:
        (got,) = run(fathom.compile(proto, passes=policy), inputs)
        assert_close(got, want, tolerances.family_of(proto), policy)


@pytest.mark.parametrize("build", [convolutions, attention, casts])
def test_random_orders(pinned, build):
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    draw = random.Random(seed)
    matches(build(), [random_order(draw) for _ in range(int(os.environ.get("FATHOM_PASS_ORDERS", 8)))])


@pytest.mark.parametrize("build", [convolutions, attention])
def test_policies(pinned, build):
    matches(build(), POLICIES)
