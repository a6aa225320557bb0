"""Policies: what they are completed to, how many kernels they make, and those that there are not."""
import json
import re

import pytest
from support.graphs import convolutions
from support.tool import ROOT


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


def test_pairs(fathom, save):
    """Convolutions of equal ops are parallel only behind the pass that makes these one; padding has nothing to do with unused ops. The page of orders
    is of the passes that there are."""
    save(convolutions())
    told = json.loads(fathom("passes", "model.onnx", "--pairs", "--json").expect(0).out)
    assert ["combine-parallel-conv2d", "eliminate-common-subexpr"] in told["not_commuting"]
    assert ["dead-code-elimination", "fold-explicit-padding"] not in told["not_commuting"]
    assert "fold-explicit-padding" in told["changing"] and "hoist-invariants" not in told["changing"]
    page = (ROOT / "docs" / "reference" / "pass-orders.md").read_text()
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.M) == told["passes"]


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
