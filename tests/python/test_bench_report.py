"""What `./dev bench` makes of measured times: ratios, means, memory, and what it says of peers that are left out."""

import argparse
import os
import sys

import numpy as np
import pytest
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import load  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402
from peers.process import first_line  # noqa: E402
from peers.registry import PEERS, REFERENCE, Unavailable, install, last_words, parse_peers  # noqa: E402
from zoo import results_agree  # noqa: E402


def row(model, threads, peer, ms):
    return report.describe(model, threads, peer, [(ms, ms / 2)] * 3)


def measured(*rows, clock="wall", **more):
    return {"context": {"clock": clock}, "benchmarks": [row(*r) for r in rows], **more}


def test_a_row_has_medians_of_both_clocks():
    found = report.describe("m", 2, "fathom", [(3.0, 30.0), (1.0, 10.0), (2.0, 20.0)])
    assert (found["name"], found["real_time"], found["cpu_time"], found["min"]) == ("m/threads:2/fathom", 2.0, 20.0, 1.0)


def test_outliers_are_beyond_three_deviations():
    usual = [(float(i % 3), float(i)) for i in range(60)]
    assert timing.without_outliers(usual) == usual
    assert timing.without_outliers([*usual, (1000.0, 5.0)]) == usual
    # Of CPU times none is far from the others.
    assert (1000.0, 5.0) in timing.without_outliers([*usual, (1000.0, 5.0)], clock=1)
    assert timing.without_outliers([(2.0, 2.0)] * 3) == [(2.0, 2.0)] * 3


def test_ratios_and_their_geometric_mean():
    data = measured(("a", 1, "fathom", 2), ("a", 1, "onnxruntime", 4), ("b", 1, "fathom", 1), ("b", 1, "onnxruntime", 8))
    [(mean, count)] = report.mean_ratios(data)[1].values()
    assert (mean, count) == (pytest.approx(4), 2)
    assert report.peer_names(data) == ["fathom", "onnxruntime"]


def test_the_clock_decides_which_times_count():
    rows = [("a", 1, "onnxruntime", 4), ("a", 1, "fathom", 2)]
    assert report.latencies(measured(*rows))["a", 1] == {"fathom": 2, "onnxruntime": 4}
    assert report.latencies(measured(*rows, clock="cpu"))["a", 1] == {"fathom": 1, "onnxruntime": 2}


def test_scaling_needs_two_numbers_of_threads():
    one = [("a", 1, "fathom", 4), ("b", 1, "fathom", 6)]
    assert report.scalings(measured()) == {}
    assert report.scalings(measured(*one)) == {}
    two = [*one, ("a", 2, "fathom", 2), ("a", 2, "iree", 3)]
    assert report.scalings(measured(*two)) == {(1, 2): {"a": {"fathom": 2}}}
    assert report.scalings(measured(*two, ("b", 8, "fathom", 2))) == {(1, 2): {"a": {"fathom": 2}}, (1, 8): {"b": {"fathom": 3}}}


def test_scaling_is_printed():
    rows = [("a", 1, "fathom", 4), ("a", 1, "iree", 3), ("a", 2, "fathom", 2), ("b", 1, "fathom", 6), ("b", 1, "iree", 6), ("b", 2, "fathom", 4), ("b", 2, "iree", 4)]
    assert [line.split() for line in report.scaling_lines(measured(*rows))] == [
        ["speed-up,", "1", "to", "2", "threads", "fathom", "iree"],
        ["a", "2.00", "-"],
        ["b", "1.50", "1.50"],
    ]
    assert report.scaling_lines(measured(*rows[:2])) == []


def test_scaling_stands_beside_the_machines_own():
    data = measured(("a", 1, "fathom", 4), ("a", 2, "fathom", 2.5), ("b", 1, "fathom", 4), ("b", 2, "fathom", 2))
    data["registers"] = [{"model": "a", "threads": 1, "ms": 3}, {"model": "a", "threads": 2, "ms": 4}, {"model": "b", "threads": 1, "ms": 3}]
    assert [line.split() for line in report.scaling_lines(data)] == [
        ["speed-up,", "1", "to", "2", "threads", "fathom", "registers", "alone"],
        ["a", "1.60", "1.50"],
        ["b", "2.00", "-"],
    ]


def test_what_others_took_is_said_where_it_matters():
    loads = [{"model": "a", "others": None}, {"model": "b", "others": 0.001}, {"model": "c", "others": 0.25}]
    assert report.load_lines({"loads": loads}) == ["other processes took 25% of the CPUs: c"]


def test_cpu_times_are_read():
    ticks = os.sysconf("SC_CLK_TCK")
    assert load.busy_seconds(f"cpu {ticks} 0 {ticks} 99 99 0 0 {ticks} 99 99\ncpu0 5") == 3
    assert load.used_seconds(f"7 (a) b) S 1 2 3 4 5 6 7 8 9 10 {2 * ticks} {ticks} {3 * ticks} {4 * ticks} 11") == 10


def test_own_work_is_not_that_of_others(tmp_path, monkeypatch):
    ticks, clock = os.sysconf("SC_CLK_TCK"), [0.0]

    def machine(busy, **used):
        (tmp_path / "stat").write_text(f"cpu {busy * ticks} 0 0 0 0 0 0 0 0 0\n")
        for process, seconds in used.items():
            (tmp_path / process.strip("p")).mkdir(exist_ok=True)
            (tmp_path / process.strip("p") / "stat").write_text(f"1 (x) S 1 2 3 4 5 6 7 8 9 10 {seconds * ticks} 0 0 0 11")

    monkeypatch.setattr(load, "PROC", tmp_path)
    monkeypatch.setattr(load.os, "getpid", lambda: 1)
    monkeypatch.setattr(load.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(load.time, "perf_counter", lambda: clock[0])
    machine(100, p1=3, p7=5)
    found = load.Load([7])
    machine(120, p1=4, p7=22)  # 20 seconds, of which 18 are the two processes'
    clock[0] = 10.0
    assert found.share() == pytest.approx(0.1)
    assert load.Load([8]).share() is None  # no such process


def test_nothing_measured():
    assert report.summary_lines({}) == []
    assert report.peer_names({}) == [] and report.geometric_mean([]) is None


def test_memory_counts_scratch_of_every_thread():
    ours, theirs = {"now": 1, "peak": 90, "before": 1}, {"now": 150, "peak": 200, "before": 60}
    found = report.memory_of({"arena_bytes": 10, "scratch_bytes": 3}, 4, ours, theirs, weights=50)
    assert found == {"fathom": 22, "onnxruntime": 150, "onnxruntime_model": 40, "onnxruntime_before": 60, "fathom_process": 90, "onnxruntime_process": 200}
    assert report.memory_of({"arena_bytes": None, "scratch_bytes": 3}, 4, ours, theirs, 50) is None


@pytest.mark.parametrize("ours, theirs, text", [(2, 3, ""), (4, 3, "larger"), (2, -1, "not comparable"), (4, 1, "not comparable"), (4, 2, "larger")])
def test_memory_is_compared_where_that_says_something(ours, theirs, text):
    memory = dict.fromkeys(report.MEMORY_COLUMNS, 1) | {"fathom": ours, "onnxruntime": theirs, "onnxruntime_before": 2}
    assert report.memory_verdict(memory).startswith(text)
    assert text in report.summary_lines({"models": [{"model": "m", "memory": memory}, {"model": "n", "memory": None}]})[-1]


def test_what_was_left_out_is_said():
    data = measured(skipped=[{"peer": "tvm", "reason": "no wheel"}, {"peer": "iree", "reason": "slow", "model": "a", "threads": 2}])
    assert report.summary_lines(data) == ["left out: tvm: no wheel", "left out: iree on a with 2 threads: slow"]


def test_a_peer_without_a_time_has_a_dash():
    text = report.row_text("a", 1, {"fathom": 2, "onnxruntime": 3}, ["onnxruntime", "iree"])
    assert text.split() == ["a", "1", "2.000", "3.000", "(1.50)", "-"]


def test_names_of_peers():
    assert [peer.name for peer in parse_peers("")] == [REFERENCE]
    assert [peer.name for peer in parse_peers("iree,torch,iree")] == [REFERENCE, "iree", "torch"]
    assert [peer.name for peer in parse_peers("all")] == list(PEERS)
    with pytest.raises(ValueError, match="no peer 'ire'; known are"):
        parse_peers("ire")


def test_a_peer_that_cannot_be_installed_says_why(tmp_path, monkeypatch):
    class Failed:
        returncode, stderr = 1, "Collecting x\nERROR: No matching distribution found for x\n"

    monkeypatch.setattr("subprocess.run", lambda *_, **__: Failed)
    with pytest.raises(Unavailable, match="cannot be installed: No matching distribution found for x"):
        install(PEERS["tvm"], tmp_path)
    assert last_words("") == "it says nothing" and last_words("one\ntwo\n") == "two"


def test_long_messages_are_cut():
    assert first_line("short\nmore") == "short" and first_line("") == ""
    assert len(first_line("x" * 1000)) == 160


def test_results_that_do_not_agree():
    values = [np.array([1.0, 2.0], np.float32)]
    assert results_agree(values, [values[0] * (1 + 1e-5)])
    assert not results_agree(values, [values[0] * 1.01])
    assert not results_agree(values, []) and not results_agree([values[0][:1]], values)


def test_detections_agree_by_their_scores():
    boxes, scores, labels = np.arange(8.0).reshape(2, 4), np.array([0.5, 0.49999]), np.array([3, 7])
    assert results_agree([boxes, scores, labels], [boxes[::-1], scores, labels[::-1]])
    assert not results_agree([boxes, scores, labels], [boxes, scores * 1.1, labels])
    # Labels alone, or of another length than the scores, are no detections.
    assert not results_agree([boxes, labels], [boxes[::-1], labels])
    assert not results_agree([boxes, scores, labels[:1]], [boxes[::-1], scores, labels[:1]])


def test_a_turn_runs_a_few_times_at_least():
    calls = []
    times = timing.turn(lambda: calls.append(0), seconds=0)
    assert len(times) == timing.LEAST_RUNS and len(calls) == 1 + len(times)


def test_numbers_of_threads():
    assert timing.thread_counts("1,16") == [1, 16]
    for wrong in ("1,0", "x", "", "1,", "-1"):
        with pytest.raises(argparse.ArgumentTypeError, match="numbers of threads"):
            timing.thread_counts(wrong)
