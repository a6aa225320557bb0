"""Pipelines of passes that make no sense, and the page of all passes."""
import re

import pytest
from onnx import helper
from support.models import make_model, value
from support.tool import ROOT

PLAIN = "decompose-quantized, simplify-inference, canonicalize-ops"
ALL = PLAIN + ", name-ops, convert-layout, store-results, place-pieces, fuse-ops, outline-kernels"


@pytest.fixture
def compile(fathom, save):
    nodes = [helper.make_node("Softmax", ["x"], ["s"], name="soft"), helper.make_node("Relu", ["s"], ["y"], name="relu")]
    save(make_model(nodes, [value("x", [2, 9])], [value("y", [2, 9])], opset=17))
    return lambda passes, stage="plan": fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", stage, "--passes", passes)


@pytest.mark.parametrize("passes, words", [
    ("canonicalise-ops", ["there is no pass 'canonicalise-ops'", "did you mean 'canonicalize-ops'?"]),
    ("frobnicate", ["there is no pass 'frobnicate'", "hint: 'fathom passes' prints the default"]),
    ("repeat{passes={canonicalize-ops, fold-constants}}", ["there is no pass 'fold-constants'", "did you mean 'fold-constant'?"]),
    ("canonicalize-ops,, name-ops", ["has no name"]),
    ("canonicalize-ops{rounds=2}", ["cannot be read", "no such option rounds", "canonicalize-ops"]),
    ("repeat{rounds=2", ["cannot be read", "'}'"]),
    ("func.func(canonicalize-ops)", ["cannot be read"]),
    ("builtin.module(canonicalize-ops)", ["cannot be read", "parentheses"]),
    ("repeat{rounds=2}", ["pass 'repeat'", "no passes to run"]),
    ("to-mixed-precision{type=f32}", ["pass 'to-mixed-precision'", "type=f16 and type=bf16"]),
    ("default+frobnicate", ["there is no pass 'frobnicate'"]),
    ("default+", ["a pass of the pipeline has no name"]),
    ("repeat{rounds=0 passes=name-ops}", ["pass 'repeat'", "at least 1"]),
])  # fmt: skip
def test_text_that_is_wrong(compile, passes, words):
    compile(passes).expect(2, "[F2001]", "hint:", *words)


@pytest.mark.parametrize("passes, words", [
    ("to-graph-normal-form", ["'to-graph-normal-form' needs textual", "put 'to-a-normal-form' in front of it"]),
    ("to-a-normal-form, canonicalize-ops", ["'canonicalize-ops' needs row-major", "'to-a-normal-form' in front of it ended"]),
    ("default+decompose-quantized", ["'alter-op-layout' needs canonical"]),
    ("name-ops, alter-op-layout", ["'alter-op-layout' needs canonical", "no pass in front of it gives", "put 'canonicalize-ops' in front of it"]),
    ("name-ops, " + PLAIN + ", convert-layout", ["'convert-layout' needs names", "'canonicalize-ops' in front of it ended", "put 'name-ops' in front of it"]),
    ("canonicalize-ops, name-ops, fuse-ops", ["'fuse-ops' needs layouts", "put 'convert-layout' in front of it"]),
    (PLAIN + ", name-ops, convert-layout, fold-constant", ["'fold-constant' needs row-major", "'convert-layout' in front of it ended", "put 'fold-constant' in front of 'convert-layout'"]),
    (ALL.replace("simplify-inference, ", ""), ["'convert-layout' needs inferring", "put 'simplify-inference' in front of it"]),
    (ALL.replace("decompose-quantized, ", ""), ["'convert-layout' needs unquantized", "put 'decompose-quantized' in front of it"]),
    (ALL.replace("place-pieces, fuse-ops", "fuse-ops, place-pieces"), ["'place-pieces' needs movable", "'fuse-ops' in front of it ended"]),
    (PLAIN + ", name-ops, repeat{rounds=2 passes={convert-layout}}", ["'convert-layout' needs row-major", "'convert-layout' in front of it ended"]),
    (ALL + ", outline-kernels", ["'outline-kernels' needs", "'outline-kernels' in front of it ended"]),
    (ALL.replace(", outline-kernels", ""), ["does not end in kernels", "--emit graph"]),
])  # fmt: skip
def test_orders_that_are_wrong(compile, passes, words):
    compile(passes).expect(2, "[F2001]", "hint:", *words)


def test_a_graph_needs_no_kernels(compile):
    assert "graph.Softmax" in compile("canonicalize-ops", "graph").expect(0).out
    assert "graph.Softmax" in compile(ALL, "graph").expect(0).out


def test_the_default_is_text(fathom, compile):
    default = fathom("passes").expect(0).out
    assert compile(default).expect(0).out == compile(" ".join(default.split())).expect(0).out
    assert compile(default).expect(0).out == fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", "plan").expect(0).out


def test_passes_page_is_current(fathom):
    assert fathom("passes", "--list").expect(0).out == (ROOT / "docs" / "reference" / "passes.md").read_text()


def test_examples_page_is_current(fathom):
    assert fathom("passes", "--examples").expect(0).out == (ROOT / "docs" / "reference" / "pass-examples.md").read_text()


def test_examples_show_a_change(fathom):
    """Every pass that is not for gradients, layouts or names has one, and its graphs differ."""
    page = fathom("passes", "--examples").expect(0).out
    shown = {part.split("\n", 1)[0]: part.split("```\n")[1::2] for part in page.split("\n## ")[1:]}
    assert {name for name, (before, after) in shown.items() if before == after} == set()
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", fathom("passes", "--list").expect(0).out, re.M))
    unshown = {"repeat", "name-ops", "store-results", "place-pieces", "outline-kernels", "lift-weights", "rematerialize", "update-weights"}
    policies = {"default", "none", "auto", "paper-bl"}
    assert listed - policies - set(shown) <= unshown, "a pass without an example in tests/lit/passes/NAME.mlir"
    before, after = fathom("passes", "--example", "fuse-ops").expect(0).out.split("// after\n")
    kernel = re.search(r"graph\.Conv\(.*(graph\.kernel = \d+)", after).group(1)
    assert "graph.kernel" not in before and re.search(rf"graph\.Sigmoid\(.*{kernel}\b", after)


def test_no_such_example(fathom):
    fathom("passes", "--example", "frobnicate").expect(2, "[F2001]", "there is no example of a pass 'frobnicate'", "hint: there are alter-op-layout")


def test_a_pass_has_one_name():
    """FooPass in Passes.td is "foo" in text and lies in Foo.cpp."""
    passes = re.findall(r'^def (\w+)Pass : GraphPass<"([a-z0-9-]+)"', (ROOT / "compiler/passes/Passes.td").read_text(), re.M)
    assert len(passes) > 15
    for name, text in passes:
        assert "-".join(re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]*(?:\d[A-Z])?", name)).lower() == text
        (file,) = [p for room in ("passes", "passes/gradient", "passes/normalform", "plan") for p in [ROOT / "compiler" / room / f"{name}.cpp"] if p.exists()]
        assert f"struct {name}Pass" in file.read_text()
