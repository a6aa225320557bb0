"""What bench and explain print for people: one number first, and as much as fits a screen."""

import json
import re

import pytest
from support.models import make_model, node, value
from support.networks import many_products, perceptron


def test_bench_begins_with_what_it_is_asked_for(fathom, save):
    words = ("bench", save(perceptron()), "--min-time", "0.02", "--warm-up", "0", "--threads", "1")
    first, *others = fathom(*words, "--dim", "batch=3").expect(0).out.splitlines()
    assert re.fullmatch(r"[\d.]+ (s|ms|us) median, [\d.]+/s, 1 thread", first)
    text = "\n".join(others)
    assert re.search(r"fastest .* p10 .* p90 .* p99 .*; \d+ runs", text)
    assert "input x: float32[3,16]" in text and "sizes batch=3" in text and "of weights" in text


def test_bench_says_which_sizes_it_took(fathom, save):
    fathom("compile", save(perceptron()), "-o", "m.fathom", "--dim", "batch=1..64,opt=7").expect(0)
    assert "sizes batch=7; --dim gives others" in fathom("bench", "m.fathom", "--min-time", "0.01").expect(0).out
    fixed = fathom("bench", save(perceptron(batch=2), "fixed.onnx"), "--min-time", "0.01").expect(0).out
    assert "sizes" not in fixed


def test_bench_has_the_same_figures_as_json(fathom, artifact):
    data = json.loads(fathom("bench", artifact, "--min-time", "0.01", "--json").expect(0).out)
    assert data["min_ms"] <= data["p10_ms"] <= data["median_ms"] <= data["p90_ms"] <= data["p99_ms"]


@pytest.mark.parametrize("words", [["check", "MODEL"], ["bench", "MODEL", "--min-time", "0.01"], ["explain", "MODEL"], ["doctor"]])
def test_json_has_a_schema_version(fathom, save, words):
    words = [save(perceptron()) if word == "MODEL" else word for word in words]
    assert json.loads(fathom(*words, "--json").expect(0).out)["schema_version"] == 1


@pytest.fixture
def many(fathom, save):
    """As many kernels as products."""
    path = save(many_products(30), "many.onnx")
    fathom("compile", path, "-o", "many.fathom", "--tune", "off", "--target", "x86-64-v3").expect(0)
    return "many.fathom"


def table(text):
    return [(float(cost), name) for cost, name in re.findall(r"^ *\d+ % +([\d.]+)  \S+ +(\S+)$", text, re.M)]


def test_many_kernels_are_a_table(fathom, many):
    kernels = json.loads(fathom("explain", many, "--json").expect(0).out)["kernels"]
    assert len(kernels) > 12
    text = fathom("explain", many).expect(0).out
    assert text.startswith(f"{len(kernels)} kernels, ") and len(text.splitlines()) <= 24
    rows = table(text)
    assert len(rows) == min(20, len(kernels)) and [cost for cost, _ in rows] == sorted((cost for cost, _ in rows), reverse=True)
    top = table(fathom("explain", many, "--top", "3").expect(0).out)
    assert top == rows[:3]
    everything = table(fathom("explain", many, "--top", "0").expect(0).out)
    assert {name for _, name in everything} == {kernel["result"] for kernel in kernels}


def test_one_kernel_of_many(fathom, many):
    kernels = json.loads(fathom("explain", many, "--json").expect(0).out)["kernels"]
    chosen = kernels[len(kernels) // 2]
    for words in (("--kernel", chosen["result"]), ("--node", chosen["ops"][0]["node"])):
        text = fathom("explain", many, *words).expect(0).out
        assert f"'{chosen['result']}'" in text and text.count("algorithm: ") == 1
    fathom("explain", many, "--kernel", "absent").expect(2, "[F2001]", "no kernel is called 'absent'", "--top 0")
    fathom("explain", many, "--node", "absent").expect(2, "[F2001]", "no kernel has the node 'absent'")


def test_few_kernels_are_told_whole(fathom, save):
    model = make_model([node("Relu", "x", "y", name="r")], [value("x", [2, 3])], [value("y", [2, 3])])
    text = fathom("explain", save(model), "--db", "none").expect(0).out
    assert text.startswith("1 kernel, ") and "schedule:" in text
