"""What the tests themselves use: which cases are drawn, what took longest, how plans are edited, how far results may differ."""

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import compare, sampling, slowest, tolerances
from support.models import FLOAT, model, node
from support.plans import Plan

PLAN = Plan("""fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: r
    class: contract
    schedule:
      tile_m: 12
      task_m: 24
  - kernel: y
    class: softmax
    schedule: { lanes: 4, task_m: 7 }
""")


def test_plans_are_edited_by_knob():
    assert PLAN.is_aarch64 and PLAN.classes == ["contract", "softmax"] and len(PLAN.kernels) == 2
    assert PLAN.with_knobs({"task_m": 3}).values("task_m") == [3, 3]
    assert PLAN.with_knobs({"task_m": 3}, of="softmax").values("task_m") == [24, 3]
    assert PLAN.with_kernels(PLAN.kernels[1:]).text == PLAN.head + PLAN.kernels[1]
    with pytest.raises(AssertionError, match="the plan has no"):
        PLAN.with_knobs({"tile": 3})


def groups(folder, sizes):
    return {name: [SimpleNamespace(path=Path(sampling.ROOT / "tests" / folder / "test_x.py"), name=f"{name}{i}") for i in range(size)] for name, size in sizes.items()}


@pytest.mark.parametrize("settings, folder, count", [
    ({}, "kernels", 12), ({"FATHOM_TEST_SAMPLE": "2"}, "kernels", 5), ({"FATHOM_TEST_SAMPLE": "2"}, "errors", 12),
    ({"FATHOM_TEST_ONE_IN": "2", "FATHOM_TEST_SAMPLE": "1"}, "errors", 2), ({"FATHOM_TEST_ONE_IN": "3", "FATHOM_TEST_SAMPLE": "1"}, "kernels", 1),
])
def test_cases_are_drawn(settings, folder, count, monkeypatch):
    for name in ("FATHOM_TEST_SAMPLE", "FATHOM_TEST_ONE_IN"):
        monkeypatch.delenv(name, raising=False)
    for name, text in settings.items():
        monkeypatch.setenv(name, text)
    cases = groups(folder, {"a": 1, "b": 4, "c": 7})
    drawn = [[case.name for case in sampling.chosen(cases, random.Random(seed))] for seed in (1, 1, 2, 3, 4, 5)]
    assert {len(names) for names in drawn} == {count} and all(len(set(names)) == count for names in drawn)
    assert drawn[0] == drawn[1] and (count == 12 or len({tuple(names) for names in drawn}) > 1)


def test_the_slowest_are_told(tmp_path):
    case = '<testcase classname="k" name="{}" time="{}"/>'
    (tmp_path / "kernels.xml").write_text("<testsuite>" + "".join(case.format(f"t{i}", i) for i in range(20)) + "</testsuite>")
    (tmp_path / "lit.xml").write_text("<testsuites><testsuite>" + case.format("slow", 99.5) + "</testsuite></testsuites>")
    (tmp_path / "broken.xml").write_text("<testsuite>")
    first, *lines = slowest.report(tmp_path, {"kernels": 190, "lit": 100, "build": 300})
    assert first == "stages: build 300 s, kernels 190 s, lit 100 s"
    assert len(lines) == slowest.TESTS and lines[0].split() == ["99.5", "s", "lit", "k::slow"] and lines[1].split()[-1] == "k::t19"


def test_families_follow_from_the_operators():
    def family(*ops, **options):
        nodes = [node(op, f"v{i}", f"v{i + 1}") for i, op in enumerate(ops)]
        return tolerances.family_of(model(nodes, [("v0", FLOAT)], [(f"v{len(ops)}", FLOAT)]), **options)

    assert [family("Transpose"), family("Transpose", "Sqrt"), family("Exp", "Sqrt"), family("MatMul", "Exp"), family("Conv", "MatMul")] == [
        "exact", "arithmetic", "sum", "product", "convolution"]
    assert family("Conv", most="product") == "product" and family("Relu", most="product") == "exact"


def test_results_too_far_away_are_found():
    want = np.linspace(1, 2, 64, dtype=np.float32).reshape(8, 8)
    for family, (multiple, *_) in tolerances.MULTIPLES.items():
        assert (tolerances.allowed(want, family, want.dtype) >= multiple * 2**-23 * want).all()
        compare.assert_close(want, want, family)
        apart = want.copy()
        apart[3, 4] *= 1 + (multiple * 30 + 1) * 2.0**-23
        with pytest.raises(AssertionError, match=r"\(.*3.*4.*\)"):
            compare.assert_close(apart, want, family)
    with pytest.raises(AssertionError, match="shape"):
        compare.assert_close(want, want[:1], "network")
    with pytest.raises(AssertionError, match="type"):
        compare.assert_close(want.astype(np.float64), want, "network")
    for wrong in (np.nan, np.inf):
        changed = want.copy()
        changed[0, 0] = wrong
        with pytest.raises(AssertionError):
            compare.assert_close(changed, want, "network")
