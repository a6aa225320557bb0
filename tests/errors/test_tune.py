"""fathom tune, and compiling with what it found: what they tell, what a database changes, and what is wrong with them."""
import json
import platform
import re
import sqlite3

import numpy as np
import pytest
from support import models
from support.plans import Plan
from support.tool import run_tool


@pytest.fixture
def product(tmp_path):
    """A product large enough that candidates differ, and a softmax behind it."""
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x w", "product"), models.node("Softmax", "product", "softmax")]
    model = models.model(nodes, [("x", models.FLOAT, [48, 96])], [("softmax", models.FLOAT, [48, 64])], {"w": models.floats(random, 96, 64)})
    path = tmp_path / "product.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def schedules(text):
    """The knobs of each kernel, by its name."""
    found = {}
    for kernel in Plan(text).kernels:
        name = re.search(r"- kernel: +(\S+)", kernel).group(1)
        found[name] = {knob: int(value) for knob, value in re.findall(r"(?m)^ {6}(\w+): +(\d+)$", kernel.split("schedule:")[1])}
    return found


def test_measuring_fills_a_database_that_compiling_takes(fathom, product, tmp_path):
    found = json.loads(fathom("tune", product, "--tune", "measure:12", "--db", "x.db", "--json", "-q", "-o", "tuned.plan").expect(0).out)
    kernels = {kernel["kernel"]: kernel for kernel in found["kernels"]}
    assert set(kernels) == {"product", "softmax"}
    for kernel in kernels.values():
        assert kernel["trials"] >= 2 and kernel["failed"] == 0 and kernel["best_cost"] <= kernel["planned_cost"]
    listed = json.loads(fathom("db", "list", "--json", "--db", "x.db").expect(0).out)
    assert len(listed) >= 4 and all(entry["found"] == "measured" and entry["samples"] > 0 for entry in listed)
    # What is found is in the plan, and the same compilation without a device has it from the database.
    planned = schedules((tmp_path / "tuned.plan").read_text())
    assert planned["product"] == kernels["product"]["best"]
    fathom("compile", product, "--db", "x.db", "-q", "-o", "a.fathom").expect(0)
    fathom("compile", product, "--db", "x.db", "-q", "-o", "b.fathom").expect(0)
    assert (tmp_path / "a.fathom").read_bytes() == (tmp_path / "b.fathom").read_bytes()
    manifest = json.loads(fathom("inspect", "a.fathom", "--json").expect(0).out)
    ids = {entry["id"] for entry in listed}
    taken = [kernel["schedule_entry"] for kernel in manifest["kernels"] if "schedule_entry" in kernel]
    assert set(taken) <= ids
    fathom("verify", product, "--db", "x.db", "-q").expect(0)


def test_a_database_decides_and_none_does_not(fathom, product, tmp_path):
    draft = fathom("compile", product, "--emit", "plan", "--db", "none").expect(0).out
    fathom("tune", product, "--tune", "measure:8", "--apart", "--db", "x.db", "-q").expect(0)
    # The slowest schedule becomes the best: a compilation that heeds the database takes it.
    with sqlite3.connect(tmp_path / "x.db") as database:
        table = next(name for (name,) in database.execute("select name from sqlite_master where type = 'table'") if "entr" in name or "schedule" in name)
        database.execute(f"update {table} set nanoseconds = 1e12 - nanoseconds")
    other = fathom("compile", product, "--emit", "plan", "--db", "x.db").expect(0).out
    assert schedules(other)["product"] != schedules(draft)["product"]
    assert fathom("compile", product, "--emit", "plan", "--db", "none").expect(0).out == draft
    fathom("verify", product, "--db", "x.db", "-q").expect(0)


def test_tuning_of_a_size_that_only_the_run_knows(fathom, tmp_path):
    """Versions for few rows share the packed weights: those that want other panels go where the best schedule has others."""
    random = np.random.default_rng(6)
    nodes = [models.node("MatMul", "x w", "y")]
    for number, columns in enumerate((4, 8, 12, 20)):
        model = models.model(nodes, [("x", models.FLOAT, ["batch", 24])], [("y", models.FLOAT, ["batch", columns])], {"w": models.floats(random, 24, columns)})
        (tmp_path / f"{number}.onnx").write_bytes(model.SerializeToString())
        fathom("tune", f"{number}.onnx", "--tune", "measure:16", "--apart", "--db", "x.db", "-q").expect(0)
        fathom("verify", f"{number}.onnx", "--dim", "batch=3", "--db", "x.db", "-q").expect(0)
        fathom("compile", f"{number}.onnx", "--tune", "static:32", "--db", "none", "-o", "m.fathom", "-q").expect(0)


@pytest.mark.parametrize("search, levels", [("construct", "registers cache tasks manner"), ("construct:no-l1", "registers tasks manner")])
def test_construction_tells_what_it_visits(fathom, product, search, levels):
    result = fathom("tune", product, "--tune", "measure:4", "--search", search, "--show-search", "--db", "none", "--json", "-q").expect(0)
    kernels = json.loads(result.out)["kernels"]
    assert all(kernel["failed"] == 0 and kernel["best_cost"] <= kernel["planned_cost"] for kernel in kernels)
    visited = re.findall(r"(?m)^(\w+): \d+ cycles: \w+=\d+", result.err)
    assert set(visited) == set(levels.split()) and len(visited) > 100


@pytest.mark.parametrize("search", ["autotvm", "chameleon"])
def test_a_search_that_learns_measures(fathom, product, search):
    found = json.loads(fathom("tune", product, "--tune", "measure:6", "--search", search, "--db", "none", "--json", "-q").expect(0).out)
    assert all(kernel["failed"] == 0 and kernel["trials"] >= 2 for kernel in found["kernels"])


@pytest.mark.parametrize("search", ["autotvm", "chameleon:knobs"])
def test_a_search_without_its_library_is_refused(product, tmp_path, search):
    """A file of the library's name that is none is what the loader finds first."""
    (tmp_path / "libxgboost.so.0").write_text("nothing")
    words = ["tune", product, "--tune", "measure:2", "--db", "none", "-q"]
    lacking = {"LD_LIBRARY_PATH": str(tmp_path)}
    run_tool(*words, "--search", search, env=lacking, cwd=tmp_path).expect(5, "[F5001]", "libxgboost.so.0", "--search")
    run_tool(*words, "--search", "random", env=lacking, cwd=tmp_path).expect(0)


@pytest.mark.parametrize("target", ["neoverse-v1", "sapphirerapids"])
def test_analysing_needs_no_device_and_is_deterministic(fathom, product, target):
    first, second = (fathom("tune", product, "--tune", "static:16", "--target", target, "--db", "none", "--json", "-q").expect(0).out for _ in range(2))
    assert first == second
    kernels = {kernel["kernel"]: kernel for kernel in json.loads(first)["kernels"]}
    assert kernels["product"]["trials"] == 16 and kernels["product"]["failed"] == 0
    assert 0 < kernels["product"]["best_cost"] <= kernels["product"]["planned_cost"]
    plan = fathom("compile", product, "--tune", "static:16", "--target", target, "--db", "none", "--emit", "plan").expect(0).out
    assert schedules(plan)["product"] == kernels["product"]["best"]


def test_a_database_of_another_program_is_a_warning_and_the_draft_decides(fathom, product, tmp_path):
    draft = fathom("compile", product, "--emit", "plan", "--db", "none").expect(0).out
    (tmp_path / "x.db").write_bytes(b"not a database " * 400)
    result = fathom("compile", product, "--emit", "plan", "--db", "x.db").expect(0, "warning", "[F1015]")
    assert result.out == draft
    tuned = fathom("tune", product, "--tune", "static:2", "--db", "x.db", "-q").expect(0, "warning", "[F1015]")
    assert "product" in tuned.out


def test_an_entry_that_is_not_legal_is_passed_over(fathom, product, tmp_path):
    draft = fathom("compile", product, "--emit", "plan", "--db", "none").expect(0).out
    fathom("tune", product, "--tune", "measure:4", "--db", "x.db", "-q").expect(0)
    lines = [json.loads(line) for line in fathom("db", "export", "--db", "x.db").expect(0).out.splitlines()]
    for line in lines:
        if line.get("class") == "contract":
            line["schedule"]["tile_m"], line["nanoseconds"] = 31, 1.0
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines if line.get("class") in ("contract", None)))
    fathom("db", "import", "in.jsonl", "--db", "y.db").expect(0)
    result = fathom("compile", product, "--emit", "plan", "--db", "y.db").expect(0, "warning", "[F1016]", "product", "register")
    assert schedules(result.out) == schedules(draft)


@pytest.mark.parametrize(
    "words, exit_code, texts",
    [
        (["--tune", "measure:0"], 2, ["[F2001]", "--tune"]),
        (["--tune", "guess"], 2, ["[F2001]", "--tune"]),
        (["--tune", "draft"], 2, ["[F2001]", "nothing to tune"]),
        (["--search", "luck"], 2, ["[F2001]", "random", "construct"]),
        (["--search", "construct:no-luck"], 2, ["[F2001]", "construct"]),
        (["--measure-on", "board"], 2, ["[F2001]", "ssh://"]),
        (["--tune", "measure:2", "--measure-on", "ssh://127.0.0.1:1", "--db", "none"], None, ["127.0.0.1"]),
    ],
)
def test_what_makes_no_sense(fathom, product, words, exit_code, texts):
    result = fathom("tune", product, *words)
    result.expect(exit_code or result.code, *texts)
    assert result.code != 0


def test_another_architecture_cannot_be_measured_here(product, tmp_path):
    """Candidates for it are refused by the machine, which is said; nothing crashes."""
    other = "x86-64-v3" if platform.machine() == "aarch64" else "neoverse-n1"
    result = run_tool("tune", product, "--tune", "measure:2", "--target", other, "--db", "none", "-q", cwd=tmp_path)
    result.expect(result.code, "architecture", "--measure-on")
    assert result.code != 0
