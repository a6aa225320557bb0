"""What a whole model chooses before its kernels' schedules: a draft that is wrong is put right, a database and plans remember it."""
import json

import numpy as np
import pytest
from support import models
from support.plans import Plan

# The draft believes that Winograd's transforms take as long as nothing else.
WRONG = "fathom-calibration: 1\ntarget: x86_64-unknown-linux-gnu:x86-64-v3\nconstants: { winograd-transforms: 0.1 }\n"
WORDS = ["--target", "x86-64-v3", "--calibration", "wrong.yaml", "--max-weight-growth", "400"]
STATIC = [*WORDS, "--tune", "static:2", "-q"]
COMPILE = [*WORDS, "--emit", "plan"]


@pytest.fixture
def network(tmp_path):
    """Two convolutions: one that Winograd's method suits, and one that it cannot compute."""
    random = np.random.default_rng(5)
    nodes = [
        models.node("Conv", "x v", "wide", pads=[1, 1, 1, 1]),
        models.node("Relu", "wide", "positive"),
        models.node("Conv", "positive w", "narrow"),
    ]
    weights = {"v": models.floats(random, 64, 64, 3, 3), "w": models.floats(random, 32, 64, 1, 1)}
    model = models.model(nodes, [("x", models.FLOAT, [1, 64, 28, 28])], [("narrow", models.FLOAT, [1, 32, 28, 28])], weights)
    path = tmp_path / "network.onnx"
    path.write_bytes(model.SerializeToString())
    (tmp_path / "wrong.yaml").write_text(WRONG)
    return path


def tuned(fathom, network, *words, growth="400"):
    return json.loads(fathom("tune", network, *STATIC[:-4], growth, *STATIC[-3:], "--json", *words).expect(0).out)


def changed(found):
    return {site["op"]: site["taken"] for site in found["choices"]["sites"] if site["taken"] != site["proposed"]}


def kinds(found):
    return {site["choice"] for site in found["choices"]["sites"]}


def test_an_algorithm_is_put_right_and_remembered(fathom, network, tmp_path):
    draft = fathom("compile", network, *COMPILE, "--db", "none").expect(0).out
    assert "winograd" not in Plan(draft).classes
    found = tuned(fathom, network, "--db", "x.db", "-o", "found.plan")
    sites = {site["op"]: site for site in found["choices"]["sites"] if site["choice"] == "algorithm"}
    assert set(sites) == {"wide", "narrow"}
    assert {site["op"] for site in found["choices"]["sites"] if site["choice"] == "fusion"} == {"positive"}
    assert sites["wide"]["taken"] in ("winograd2", "winograd4") and sites["wide"]["taken_cost"] < sites["wide"]["proposed_cost"]
    assert found["choices"]["taken_cost"] < found["choices"]["proposed_cost"] and not found["choices"]["measured"]
    plan = (tmp_path / "found.plan").read_text()
    assert "winograd" in Plan(plan).classes and "choices:" in Plan(plan).head
    # A compilation has it from the database, names it, and makes the same bytes again.
    for name in "a.fathom", "b.fathom":
        fathom("compile", network, *COMPILE[:-2], "--db", "x.db", "-q", "-o", name).expect(0)
    assert (tmp_path / "a.fathom").read_bytes() == (tmp_path / "b.fathom").read_bytes()
    manifest = json.loads(fathom("inspect", "a.fathom", "--json").expect(0).out)
    assert manifest["choices"]["entry"] == found["choices"]["entry"]
    assert [one["take"] for one in manifest["choices"]["made"] if one["op"] == "wide"] == [sites["wide"]["taken"]]
    assert "winograd" in [kernel["class"] for kernel in manifest["kernels"]]
    entry = fathom("db", "show", found["choices"]["entry"], "--db", "x.db").expect(0).out
    assert "choices" in entry and "algorithm.0" in entry
    # It is no schedule that another model could take.
    (tmp_path / "other.onnx").write_bytes(network.read_bytes())
    words = ["tune", "other.onnx", *WORDS, "--tune", "transfer", "--apart", "--db", "x.db", "--json", "-q"]
    assert set(json.loads(fathom(*words).expect(0).out)["sources"]["scores"]) == {"network"}
    # So is it exported and taken in again.
    lines = fathom("db", "export", "--db", "x.db").expect(0).out
    (tmp_path / "lines").write_text(lines)
    fathom("db", "import", "lines", "--db", "y.db").expect(0)
    assert fathom("db", "export", "--db", "y.db").expect(0).out == lines
    (tmp_path / "lines").write_text(lines.replace("algorithm.0", "algorithm"))
    fathom("db", "import", "lines", "--db", "z.db").expect(1, "[F1016]", "no choice of a site")


def test_nothing_else_is_chosen_than_what_is_asked_for(fathom, network):
    assert tuned(fathom, network, "--db", "none", "--choices", "none")["choices"] is None
    # Winograd's weights are larger, and may not be.
    assert not any(take.startswith("winograd") for take in changed(tuned(fathom, network, "--db", "none", "--choices", "algorithm")).values())
    found = tuned(fathom, network, "--db", "none", growth="0")
    assert not any(take.startswith("winograd") for take in changed(found).values())
    found = tuned(fathom, network, "--db", "none", "--fp", "strict")
    assert not any(take.startswith("winograd") for take in changed(found).values())
    # What the user says is no choice.
    assert kinds(tuned(fathom, network, "--db", "none", "--conv-algorithm", "contract")) == {"fusion"}
    for words in "all", "algorithm,", "algorithm;growth", "winograd":
        fathom("tune", network, "--choices", words).expect(2, "[F2001]", "--choices")


PARTIAL = "fathom-plan: 3\ntarget: 'x86_64-unknown-linux-gnu:x86-64-v3'\nchoices:\n  - { op: %s, choice: %s, take: %s }\n"


def test_a_plan_of_choices_alone(fathom, network, tmp_path):
    """All else is proposed as always, and the plan that it becomes says the same."""
    words = ["compile", network, "--target", "x86-64-v3", "--db", "none", "--plan", "x.plan"]
    for take, klass in ("winograd2", "winograd"), ("spatial_pack", "spatial_pack"), ("contract", "contract"):
        (tmp_path / "x.plan").write_text(PARTIAL % ("wide", "algorithm", take))
        plan = fathom(*words, "--emit", "plan").expect(0).out
        whole = next(text for text in Plan(plan).kernels if "- wide" in text)
        assert f"class: {klass}" in " ".join(whole.split()) and f"take: {take}" in Plan(plan).head
        fathom(*words, "-q", "-o", "a.fathom").expect(0)
        (tmp_path / "x.plan").write_text(plan)
        fathom(*words, "-q", "-o", "b.fathom").expect(0)
        assert (tmp_path / "a.fathom").read_bytes() == (tmp_path / "b.fathom").read_bytes()
    # A plan whose kernels are others contradicts itself.
    (tmp_path / "x.plan").write_text(plan.replace("take: contract", "take: winograd2"))
    fathom(*words, "--emit", "plan").expect(1, "[F1009]", "'winograd2' is not what kernel", "class 'contract'")
    for op, choice, take, said in ("nobody", "algorithm", "contract", "nothing to choose"), ("narrow", "algorithm", "winograd2", "cannot be chosen"), ("wide", "colour", "red", "no choice of a 'colour'"):
        (tmp_path / "x.plan").write_text(PARTIAL % (op, choice, take))
        fathom(*words, "--emit", "plan").expect(1, "[F1009]", said, op)


def test_a_plan_takes_apart_what_belongs_together(fathom, network, tmp_path):
    words = ["compile", network, "--target", "x86-64-v3", "--db", "none", "--plan", "x.plan"]
    plans = {}
    for take in "together", "apart":
        (tmp_path / "x.plan").write_text(PARTIAL % ("positive", "fusion", take))
        plans[take] = fathom(*words, "--emit", "plan").expect(0).out
        fathom(*words, "-q", "-o", "a.fathom").expect(0)
        (tmp_path / "x.plan").write_text(plans[take])
        fathom(*words, "-q", "-o", "b.fathom").expect(0)
        assert (tmp_path / "a.fathom").read_bytes() == (tmp_path / "b.fathom").read_bytes()
        first = next(text for text in Plan(plans[take]).kernels if "- wide" in text)
        assert ("- positive" in first) == (take == "together")
    (tmp_path / "x.plan").write_text(plans["apart"].replace("take: apart", "take: together"))
    fathom(*words, "--emit", "plan").expect(1, "[F1009]", "fusion of 'positive'", "'together'")
    for op, take, said in ("x", "apart", "nothing to choose"), ("positive", "nearby", "cannot be chosen"):
        (tmp_path / "x.plan").write_text(PARTIAL % (op, "fusion", take))
        fathom(*words, "--emit", "plan").expect(1, "[F1009]", said, op)


def test_schedules_are_tuned_behind_choices(fathom, network):
    """What tuning then finds for kernels does not contradict what was chosen."""
    words = ["--tune", "static:24", "--target", "x86-64-v3", "--db", "none", "-q"]
    fathom("tune", network, *words, "-o", "found.plan").expect(0)
    fathom("compile", network, "--target", "x86-64-v3", "--db", "none", "--plan", "found.plan", "-o", "a.fathom", "-q").expect(0)


def test_results_are_right(fathom, network):
    """On this machine, with whatever is chosen for it."""
    fathom("tune", network, "--tune", "static:2", "--db", "x.db", "-q").expect(0)
    fathom("verify", network, "--db", "x.db", "-q").expect(0)
    target = Plan(fathom("compile", network, "--db", "none", "--emit", "plan").expect(0).out).head.split("'")[1]
    for kind in "winograd4", "spatial_pack":
        choices = f"  - {{ op: wide, choice: algorithm, take: {kind} }}\n  - {{ op: positive, choice: fusion, take: apart }}\n"
        (network.parent / "x.plan").write_text(f"fathom-plan: 3\ntarget: '{target}'\nchoices:\n{choices}")
        fathom("verify", network, "--plan", "x.plan", "-q").expect(0)


def test_measured_choices(fathom, network):
    """Whole models take turns; what they say is kept, and is asked for no more."""
    words = ["tune", network, "--tune", "measure:2", "--max-weight-growth", "400", "--db", "x.db", "--json", "-q"]
    found = json.loads(fathom(*words).expect(0).out)["choices"]
    # Both are measured once more at the end, when a busy machine may turn their order around.
    assert found["measured"] and found["entry"] and found["taken_cost"] > 0 and found["proposed_cost"] > 0
    again = json.loads(fathom(*words).expect(0).out)["choices"]
    assert again["entry"] == found["entry"]
    assert [site["taken"] for site in again["sites"]] == [site["taken"] for site in found["sites"]]
    fathom("verify", network, "--db", "x.db", "--max-weight-growth", "400", "-q").expect(0)
