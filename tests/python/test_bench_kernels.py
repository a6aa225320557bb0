"""Tables of what kernel_bench measured: medians, shares of the peak, sums over the convolutions of a network."""

import json
import subprocess
import sys

import pytest
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from kernel_report import KernelResults  # noqa: E402


def row(name, gflops, family, **counters):
    return {"name": name, "run_type": "iteration", "family_index": family, "flops": gflops * 1e9, **counters}


LAYER = {"operations": 4e9, "uses": 3, "constant_ms": 100, "constant_peak": 40e9}
ROWS = [
    row("layer/a/xnnpack", 40, 3, **LAYER),
    row("layer/a/fathom", 50, 2, **LAYER),
    row("layer/a/fathom", 70, 2, **LAYER),
    row("layer/a/fathom", 60, 2, **LAYER),
    row("gemm/b/fathom", 20, 1, operations=1e9, uses=0, constant_ms=0, constant_peak=40e9),
    row("peak/fma", 80, 0),
    {"name": "layer/a/fathom_median", "run_type": "aggregate", "flops": 1},
]


def test_medians_in_the_order_of_the_program():
    found = KernelResults(ROWS)
    assert found.peak == 80 and found.sides == ["fathom", "xnnpack"]
    assert list(found.rates) == ["gemm/b", "layer/a"] and found.rates["layer/a"] == pytest.approx({"fathom": 60, "xnnpack": 40})


def test_constants_are_scaled_by_the_peak():
    # 40 GFLOP/s on a machine with half the peak.
    assert KernelResults(ROWS).constants == {"layer/a": pytest.approx(80)}


def test_sums_count_every_use():
    totals = list(KernelResults(ROWS).totals().values())
    assert totals == [pytest.approx(ms) for ms in (200, 300, 300, 150)]


def test_who_lacks_a_layer_has_no_sum():
    rows = [*ROWS, row("layer/c/fathom", 60, 4, **LAYER)]
    assert [who.split(":")[0] for who in KernelResults(rows).totals()] == ["fathom", "constants"]


def test_table():
    text = "\n".join(KernelResults(ROWS).lines())
    assert "80.0 GFLOP/s" in text and "75 %" in text and "1.50" in text and "Sum over the 3 convolutions" in text


def test_nothing_measured():
    found = KernelResults([])
    assert found.totals() == {} and found.notes() == [] and len(found.lines()) == 1
    assert KernelResults(ROWS[:4]).constants == {}


def run(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/single_kernels.py", *map(str, arguments)], capture_output=True, text=True)


WRONG = [(["--filter", "["], 1, "regular expression"), (["--filter", "(?P<a>b)"], 1, "regular expression"), (["--rounds", 0], 2, "at least 1"), (["--json", "no/where.json"], 2, "cannot be a file")]


@pytest.mark.parametrize("arguments, code, reason", WRONG, ids=str)
def test_wrong_arguments_leave_files_alone(arguments, code, reason, tmp_path):
    old = tmp_path / "old.json"
    old.write_text("kept")
    result = run("--json", old, *arguments)
    assert result.returncode == code and reason in result.stderr and old.read_text() == "kept"
    assert "Traceback" not in result.stderr


def test_results_are_written(tmp_path):
    path = tmp_path / "new.json"
    result = run("--filter", "gemm/512x512x512", "--rounds", 1, "--json", path)
    assert result.returncode == 0 and "gemm/512x512x512" in result.stdout
    assert any(row["name"].startswith("gemm/512x512x512/fathom") for row in json.loads(path.read_text())["benchmarks"])
