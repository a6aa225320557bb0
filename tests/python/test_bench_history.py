"""`./dev bench history`: what is kept of a measurement, and what counts as slower."""

import json
import subprocess
import sys

import pytest
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import history  # noqa: E402


def results(ours, theirs, spread=0.01, runs=25, clock="wall"):
    """What bench models writes, of models with these times."""
    rows = []
    for peer, times in (("fathom", ours), ("onnxruntime", theirs)):
        for model, time in times.items():
            rows.append({"model": model, "threads": 1, "peer": peer, "real_time": time, "iterations": runs, "p10": time, "p90": time * (1 + spread)})
    context = {"date": "2026-01-02T03:04:05+00:00", "cpu": "neoverse-v1", "num_cpus": 2, "clock": clock, "versions": {"onnxruntime": "1.0"}}
    return {"context": context, "benchmarks": rows}


def record(folder, data):
    path = folder / "results.json"
    path.write_text(json.dumps(data))
    return run(folder, "--record", path)


def run(folder, *words):
    command = [sys.executable, ROOT / "bench/history.py", "--folder", folder / "history", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_ratios_are_kept_and_compared(tmp_path):
    theirs = {"a": 10, "b": 10, "c": 10}
    assert "the first record" in record(tmp_path, results({"a": 5, "b": 5, "c": 5}, theirs)).stdout
    # Both sides slower is no change; a is slower, b faster, c is within the limit.
    out = record(tmp_path, results({"a": 14, "b": 8, "c": 10.3}, {name: 2 * time for name, time in theirs.items()})).stdout
    assert "1 slower, 1 faster" in out and "slower a " in out and "2.00 -> 1.43" in out and "faster b " in out
    lines = (tmp_path / "history/neoverse-v1.jsonl").read_text().splitlines()
    assert len(lines) == 2 and json.loads(lines[1])["ratios"]["1"]["b"][0] == 2.5
    assert "0 slower, 0 faster" in run(tmp_path, "--by", "90").stdout


def test_what_is_not_known_is_not_told(tmp_path):
    record(tmp_path, results({"a": 5}, {"a": 10}))
    # Half as fast again, by runs that lie as far apart as that.
    assert "0 slower, 0 faster" in record(tmp_path, results({"a": 6}, {"a": 10}, spread=2, runs=4)).stdout


def test_clocks_are_not_mixed(tmp_path):
    record(tmp_path, results({"a": 5}, {"a": 10}))
    assert "the first record" in record(tmp_path, results({"a": 9}, {"a": 10}, clock="cpu")).stdout


def test_times_are_kept_for_the_gallery(tmp_path):
    record(tmp_path, results({"a": 5.00049}, {"a": 10}))
    [line] = history.records(tmp_path / "history/neoverse-v1.jsonl")
    assert line["milliseconds"] == {"1": {"a": 5.0}}


NOTHING = json.dumps(results({"a": 5}, {"b": 10}))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"context": {}, "benchmarks": []}', NOTHING], ids=["empty", "object", "list", "none", "apart"])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    answer = run(tmp_path, "--record", tmp_path / "results.json")
    assert answer.returncode == 1 and answer.stderr.startswith("error: ") and "Traceback" not in answer.stderr
    assert not (tmp_path / "history").exists()


def test_the_records_of_the_tree_can_be_read():
    for path in history.FOLDER.glob("*.jsonl"):
        assert list(history.told(path, 5))
