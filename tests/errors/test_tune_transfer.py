"""--tune transfer: schedules of other models' kernels of the same class, carried to other sizes, machines and epilogues."""
import json
import re
import shutil
import sqlite3

import numpy as np
import pytest
from support import models
from support.plans import Plan
from support.tool import run_tool


def network(path, rows, columns, consumer="Relu"):
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x w", "product"), models.node(consumer, "product", "result")]
    model = models.model(nodes, [("x", models.FLOAT, [rows, 96])], [("result", models.FLOAT, [rows, columns])], {"w": models.floats(random, 96, columns)})
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A database with what was found for a small and a large model."""
    folder = tmp_path_factory.mktemp("pool")
    for name, rows in (("small", 48), ("large", 480)):
        path = network(folder / f"{name}.onnx", rows, 64)
        run_tool("tune", path, "--tune", "measure:2", "--choices", "none", "--apart", "--db", "x.db", "-q", cwd=folder).expect(0)
    return folder


@pytest.fixture
def pool(measured, tmp_path):
    """A copy of it."""
    for file in measured.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / "x.db"


def sources(fathom, path, *words):
    return json.loads(fathom("tune", path, "--db", "x.db", "--json", "-q", *words).expect(0).out)


def test_schedules_are_carried_and_the_choice_is_told(fathom, tmp_path, pool):
    other = network(tmp_path / "other.onnx", 160, 128)
    found = sources(fathom, other, "--tune", "transfer", "--apart", "-o", "found.plan")
    assert set(found["sources"]["scores"]) == {"small", "large"}
    assert found["sources"]["chosen"] == max(found["sources"]["scores"], key=found["sources"]["scores"].get)
    (kernel,) = found["kernels"]
    # One kernel of the same class: the whole time is that class's, and each source has one of it.
    assert found["sources"]["scores"] == {"small": 1, "large": 1}
    assert kernel["best"] == kernel["planned"] or kernel["from"].split(":")[0] == found["sources"]["chosen"]
    # Sizes of the plan are those of this kernel, and the plan is a plan.
    fathom("compile", other, "--plan", "found.plan", "--db", "none", "-q", "-o", "a.fathom").expect(0)
    for source in ("small", "large", "all"):
        named = sources(fathom, other, "--tune", f"transfer:{source}", "--apart")
        assert named["sources"]["chosen"] == source
    text = fathom("tune", other, "--tune", "transfer:small", "--apart", "--db", "x.db").expect(0).out
    assert "taken from small" in text and "large 1.000" in text


def test_what_is_carried_is_compared_in_the_model(fathom, tmp_path, pool):
    other = network(tmp_path / "other.onnx", 160, 128)
    found = sources(fathom, other, "--tune", "transfer:all")
    (kernel,) = found["kernels"]
    if kernel["trials"]:
        assert found["model"]["chosen_ns"] <= found["model"]["planned_ns"]
        place = kernel["in_place"]
        assert (kernel["best"] != kernel["planned"]) == place["taken"] == bool(kernel["from"])
    compiled = fathom("compile", other, "--db", "x.db", "--emit", "plan").expect(0).out
    knobs = {knob: int(value) for knob, value in re.findall(r"(?m)^ {6}(\w+): +(\d+)$", Plan(compiled).kernels[0].split("schedule:")[1])}
    assert knobs == kernel["best"]
    fathom("verify", other, "--db", "x.db", "-q").expect(0)


@pytest.mark.parametrize("target", ["neoverse-n1", "x86-64-v3"])
def test_other_machines_and_other_epilogues(fathom, tmp_path, pool, target):
    """What was found on this machine is a candidate on others, and a product with a sigmoid takes that of one with a ReLU."""
    other = network(tmp_path / "other.onnx", 320, 128, consumer="Sigmoid")
    words = ["--tune", "transfer:large", "--target", target, "--db", "x.db", "--json", "-q", "-o", "found.plan"]
    first, second = (fathom("tune", other, *words, "--apart").expect(0).out for _ in range(2))
    assert first == second
    kernels = json.loads(first)["kernels"]
    assert kernels[0]["trials"] >= 1 and kernels[0]["failed"] == 0
    fathom("compile", other, "--plan", "found.plan", "--target", target, "--db", "none", "-q", "-o", "a.fathom").expect(0)


def test_a_model_is_no_source_of_its_own(fathom, tmp_path, pool):
    found = sources(fathom, tmp_path / "small.onnx", "--tune", "transfer", "--apart")
    assert set(found["sources"]["scores"]) == {"large"}


def test_what_makes_no_sense(fathom, tmp_path, pool):
    other = network(tmp_path / "other.onnx", 160, 128)
    fathom("tune", other, "--tune", "transfer:nothing", "--db", "x.db").expect(1, "[F1015]", "'nothing'", "large, small")
    fathom("tune", other, "--tune", "transfer:", "--db", "x.db").expect(2, "[F2001]", "--tune")
    fathom("tune", other, "--tune", "transfer", "--db", "none").expect(1, "[F1015]", "no database")
    draft = fathom("compile", other, "--db", "none", "--emit", "plan").expect(0).out
    empty = fathom("compile", other, "--tune", "transfer", "--db", "empty.db", "--emit", "plan").expect(0, "warning", "no other model")
    assert empty.out == draft
    with sqlite3.connect(pool) as database:
        database.execute("update kernels set text = 'contract' || char(10) || 'no function = graph.MatMul = graph.Relu'")
    passed = fathom("compile", other, "--tune", "transfer", "--db", "x.db", "--emit", "plan").expect(0)
    assert passed.out == draft
