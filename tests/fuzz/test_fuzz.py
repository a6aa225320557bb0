"""Random models and damaged files: what the generator makes of a seed, and what once failed."""
import json
import os
import random as system_random
import tempfile
from pathlib import Path

import campaign
import catalog
import generate
import mutate
import pytest
import reduce
import run as command
from case import Case, Outcome

GRAPHS = int(os.environ.get("FATHOM_FUZZ_GRAPHS", 500))
FILES = int(os.environ.get("FATHOM_FUZZ_FILES", 300))
LEAST_OPERATORS = 138
REDUCED, REDUCE_SECONDS = 3, 60


@pytest.fixture(scope="module")
def seed():
    value = int(os.environ.get("FATHOM_TEST_SEED", system_random.SystemRandom().randrange(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={value}")
    return value


def report(run):
    """Every failure in words; the first few made small and saved."""
    lines, worker = [run.summary()], campaign.Worker()
    for number, (job, outcome) in enumerate(run.failures):
        lines.append(f"{outcome.kind}: {outcome.detail}")
        if number < REDUCED:
            lines.append(campaign.saved(job, outcome, worker, REDUCE_SECONDS))
        lines.append(f"repeat with: ./dev fuzz {run.kind} {job['seed']} {job['number']}")
    worker.close()
    return "\n".join(lines)


def test_random_graphs(seed):
    run = campaign.Campaign("graphs", seed).run(count=GRAPHS)
    print(run.summary())
    assert not run.failures, report(run)
    assert len(run.operators) >= LEAST_OPERATORS
    # Refusals and models that no reference computes are few, or the test would say little.
    assert run.kinds["ok"] > 0.8 * GRAPHS, run.refusals


def test_damaged_files(seed):
    run = campaign.Campaign("files", seed).run(count=FILES)
    print(run.summary())
    assert not run.failures, report(run)
    # Some are harmless, most are not.
    assert run.kinds["ok"] > 0.05 * FILES and run.kinds["refusal"] > 0.2 * FILES, run.summary()


def test_a_seed_repeats():
    one, two = (generate.graph(7, number=3) for _ in range(2))
    assert one.model.SerializeToString(deterministic=True) == two.model.SerializeToString(deterministic=True)
    assert mutate.file(7, 3) == mutate.file(7, 3)


def test_every_declaration_leads_to_its_operator():
    # Some have no reference in any operator set that the generator draws.
    for number, name in enumerate(catalog.load()):
        made = (generate.generate([1, number, attempt], name) for attempt in range(12))
        assert any(case and name in {node.op_type for node in case.model.graph.node} for case in made) or name in UNREFERENCED, name


# Operators of operator sets that the references do not know yet.
UNREFERENCED = {"SwiGLU", "CausalConvWithState", "Upsample"}


@pytest.mark.parametrize("breakage", ["wrong element", "wrong type", "wrong shape"])
def test_a_wrong_result_is_found_and_reduced(breakage, monkeypatch):
    """The comparison itself: a result that is off by a little more than rounding is a mismatch, and the case is made small."""
    import case as cases
    import fathom
    import numpy as np

    made = generate.generate([3], "Softmax")
    real = fathom.Session.run

    def broken(self, names, feed):
        results = [np.array(result) for result in real(self, names, feed)]
        k = next(i for i, r in enumerate(results) if r.size)
        if breakage == "wrong element":
            flat = results[k].reshape(-1)
            flat[-1] = ~flat[-1] if flat.dtype == bool else flat[-1] + 1
        elif breakage == "wrong type":
            results[k] = results[k].astype(np.float64 if results[k].dtype == np.float32 else np.float32)
        else:
            results[k] = results[k][None]
        return results

    monkeypatch.setattr(fathom.Session, "run", broken)
    outcome = cases.run(made)
    assert outcome.kind == "mismatch", outcome

    class InProcess:
        def ask(self, job):
            return cases.run(Case.load(job["folder"])), []

    small, still = reduce.reduce(made, outcome, InProcess(), 30)
    assert still.kind == "mismatch" and len(small.model.graph.node) == 1


@pytest.mark.parametrize("folder", sorted(path.name for path in (Path(__file__).parent / "found").glob("*")))
def test_found_before(folder):
    """Cases that once failed: one folder each, as reduced."""
    worker = campaign.Worker()
    outcome = worker.ask({"kind": "saved", "folder": str(Path(__file__).parent / "found" / folder)})[0]
    worker.close()
    assert not outcome.is_failure and outcome.kind != "skipped", outcome


def test_so_many_cases_are_run_and_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("FATHOM_TEST_SEED", "7")
    assert command.main(["graphs", "--count", "4", "--report", str(tmp_path / "report.json")])
    told = json.loads((tmp_path / "report.json").read_text())["graphs"]
    assert told["seed"] == 7 and told["cases"] == 4 == sum(told["outcomes"].values()) and told["done"] and not told["failures"]


def test_a_report_is_there_before_the_end(tmp_path, monkeypatch):
    """A run that is cut off has told of what failed before."""
    path, seen = tmp_path / "report.json", []

    def ask(self, job):
        if job["number"] == 2:
            seen.append(json.loads(path.read_text())["files"])
        return Outcome("crash", "while it runs") if job["number"] == 1 else Outcome("ok"), []

    monkeypatch.setattr(campaign.Worker, "ask", ask)
    monkeypatch.setattr(campaign, "saved", lambda *arguments: "")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setenv("FATHOM_TEST_SEED", "7")
    assert not command.main(["--count", "3", "files", "--report", str(path)])
    failure = {"kind": "files", "seed": 7, "number": 1, "outcome": "crash", "detail": "while it runs"}
    assert [(told["cases"], told["done"], told["failures"]) for told in seen] == [(2, False, [failure])]
    assert json.loads(path.read_text())["files"]["done"]


@pytest.mark.parametrize("words", [[], ["0"], ["--count", "0"], ["--count", "3", "targets"], ["3", "graphs", "files"], ["rafts"]])
def test_a_run_that_cannot_be_is_explained(words):
    with pytest.raises(SystemExit, match="Fuzzing by hand"):
        command.main(words)


def test_a_case_is_saved_and_loaded():
    made = generate.graph(7, 5)
    with tempfile.TemporaryDirectory() as folder:
        again = Case.load(made.save(folder))
    assert again.options == made.options and len(again.feeds) == len(made.feeds)
    for feed, other in zip(made.feeds, again.feeds, strict=True):
        assert all(array.tobytes() == other[name].tobytes() and array.dtype == other[name].dtype for name, array in feed.items())
