"""--tune off: one fixed schedule for each class of kernels, whatever the machine, and results as with any other."""
import json
import re

import numpy as np
import pytest
from support import models
from support.plans import Plan
from support.tool import ROOT


@pytest.fixture
def network(tmp_path):
    """Kernels of several classes: a convolution, one of groups, one of single channels, a pooling, a product, a softmax."""
    random = np.random.default_rng(3)
    nodes = [
        models.node("Conv", "x w0", "conv", pads=[1, 1, 1, 1]),
        models.node("Relu", "conv", "relu"),
        models.node("Conv", "relu w1", "grouped", pads=[1, 1, 1, 1], group=4),
        models.node("Conv", "grouped w2", "single", pads=[1, 1, 1, 1], group=24),
        models.node("GlobalAveragePool", "single", "pooled"),
        models.node("Flatten", "pooled", "flat"),
        models.node("MatMul", "flat w3", "product"),
        models.node("Softmax", "product", "softmax"),
    ]
    weights = {
        "w0": models.floats(random, 24, 12, 3, 3),
        "w1": models.floats(random, 24, 6, 3, 3),
        "w2": models.floats(random, 24, 1, 3, 3),
        "w3": models.floats(random, 24, 40),
    }
    model = models.model(nodes, [("x", models.FLOAT, [1, 12, 19, 17])], [("softmax", models.FLOAT, [1, 40])], weights)
    path = tmp_path / "network.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def planned(fathom, model, target, *words):
    """The class and the knobs of each kernel, and everything but the target."""
    text = fathom("compile", model, "--tune", "off", "--target", target, "--emit", "plan", *words).expect(0).out
    kernels = {}
    for kernel in Plan(text).kernels:
        name, klass = (re.search(rf"{word}: +'?([^\s']+)", kernel).group(1) for word in ("kernel", "class"))
        kernels[name] = (klass, {knob: int(value) for knob, value in re.findall(r"(?m)^ {6}(\w+): +(\d+)$", kernel.split("schedule:")[1])})
    return kernels, text


@pytest.mark.parametrize("target", ["neoverse-n1", "x86-64-v3"])
def test_nothing_but_vectors_is_asked_of_a_machine(fathom, network, tmp_path, target):
    """One with other caches, rates and latencies gets the same kernels with the same schedules; the draft does not give it the same."""
    text = fathom("doctor", "--target", target).expect(0).out
    for name, value in {"cores": 2, "fma-per-cycle": 1, "fma-latency": 9, "loads-per-cycle": 1, "memory-bytes-per-cycle": 1}.items():
        text = re.sub(rf"(?m)^({name}: +)\S+", rf"\g<1>{value}", text)
    text = re.sub(r"bytes: (\d+), bytes-per-cycle: \d+", lambda found: f"bytes: {int(found.group(1)) * 4}, bytes-per-cycle: 4", text)
    (tmp_path / "other.yaml").write_text(text)
    plans = {machine: planned(fathom, network, machine) for machine in (target, "other.yaml")}
    assert plans[target][0] == plans["other.yaml"][0]
    assert {klass for klass, _ in plans[target][0].values()} >= {"contract", "depthwise", "softmax"}
    drafts = [fathom("compile", network, "--db", "none", "--target", machine, "--emit", "plan").expect(0).out for machine in plans]
    assert drafts[0] != drafts[1]


@pytest.mark.parametrize("target, lanes", [("neoverse-n1", 4), ("x86-64-v3", 8), ("skylake-avx512", 16)])
def test_the_schedule_is_the_fixed_one(fathom, network, target, lanes):
    kernels, _ = planned(fathom, network, target)
    klass, knobs = kernels["relu"]
    assert klass == "contract"
    assert (knobs["tile_m"], knobs["tile_n"], knobs["task_m"], knobs["task_n"]) == (4, 2 * lanes, 64, 4)
    assert kernels["softmax"][1]["lanes"] == lanes
    # Where the fixed one is not legal, what is legal and close to it: six channels of a group have no vector as a divisor.
    klass, knobs = kernels["grouped"]
    assert klass == "contract" and 6 % knobs["tile_n"] == 0 and knobs["task_m"] % knobs["tile_m"] == 0


def test_results_are_right_and_a_database_is_not_asked(fathom, network, tmp_path):
    (tmp_path / "x.db").write_bytes(b"not a database " * 400)
    result = fathom("compile", network, "--tune", "off", "--db", "x.db", "-q", "-o", "off.fathom").expect(0)
    assert "F1015" not in result.err
    fathom("compile", network, "--tune", "off", "--db", "none", "-q", "-o", "again.fathom").expect(0)
    assert (tmp_path / "off.fathom").read_bytes() == (tmp_path / "again.fathom").read_bytes()
    assert json.loads(fathom("inspect", "off.fathom", "--json").expect(0).out)["kernels"]
    fathom("compile", network, "--db", "none", "-q", "-o", "draft.fathom").expect(0)
    for name in ("off", "draft"):
        fathom("run", f"{name}.fathom", "--seed", "7", "--output-dir", name, "-q").expect(0)
    off, draft = (np.load(tmp_path / name / "softmax.npy") for name in ("off", "draft"))
    np.testing.assert_allclose(off, draft, rtol=1e-5, atol=1e-7)


def test_the_plan_of_off_is_one_like_any_other(fathom, network, tmp_path):
    _, text = planned(fathom, network, "host")
    (tmp_path / "off.plan").write_text(text)
    assert fathom("compile", network, "--plan", "off.plan", "--emit", "plan").expect(0).out == text


def test_there_is_nothing_to_tune(fathom, network):
    fathom("tune", network, "--tune", "off").expect(2, "[F2001]", "nothing to tune")
    fathom("compile", network, "--tune", "off:3", "-o", "x.fathom").expect(2, "[F2001]", "--tune")


def test_classes_tell_their_fixed_schedules(fathom, network):
    """What the page of knobs says is what a plan without tuning has."""
    page = fathom("plan", "knobs").expect(0).out
    said = dict(re.findall(r"^## (\w+)\n\n.*\n\nWithout tuning: `(.*)`$", page, re.M))
    assert len(said) >= 15
    kernels, _ = planned(fathom, network, "neoverse-v1")
    depthwise = next(knobs for klass, knobs in kernels.values() if klass == "depthwise")
    assert re.findall(r"\b(block_c|grain): (\d+)", said["depthwise"]) == [(knob, str(depthwise[knob])) for knob in ("block_c", "grain")]
