"""Measuring on another machine: what is packed, how it is run there without Fathom, and the turns that both take."""

import json
import os
import platform
import shutil
import subprocess
import sys

import fathom
import numpy as np
import pytest
from support.compare import reference
from support.models import make_model, value
from support.networks import perceptron
from support.tool import ROOT
from onnx import TensorProto, helper

sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "bench/peers"))

import carry  # noqa: E402
import turns  # noqa: E402
import with_fathom_rt  # noqa: E402
from peers.registry import Unavailable  # noqa: E402
from zoo import BUILD, digest  # noqa: E402

CARRY = ROOT / "bench/carry.py"
FOREIGN, FOREIGN_ARCHITECTURE = ("x86-64-v3", "x86_64") if platform.machine() == "aarch64" else ("neoverse-n1", "aarch64")


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setenv("FATHOM_RT_LIBRARY", str(BUILD / "lib/libfathom_rt.so.1"))


def run(script, *words):
    return subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed") / "folder"
    result = run(CARRY, folder, "--target", "host", "wrn_40_2_gn")
    assert result.returncode == 0, result.stderr
    return folder


def test_what_is_packed_is_measured_without_fathom(packed, tmp_path):
    results = tmp_path / "results.json"
    result = run(packed / "bench/carried.py", "--rounds", 1, "--threads", "1,2", "--json", results)
    assert result.returncode == 0, result.stderr
    assert "speed-up, 1 to 2 threads" in result.stdout
    rows = json.loads(results.read_text())["benchmarks"]
    assert [(row["model"], row["threads"], row["peer"]) for row in rows] == [
        ("wrn_40_2_gn", threads, peer) for threads in (1, 2) for peer in ("fathom", "onnxruntime")
    ]


@pytest.mark.skipif(not shutil.which(f"{FOREIGN_ARCHITECTURE}-linux-gnu-g++"), reason="no compiler for the other architecture; ./dev test installs it")
def test_packed_for_the_other_architecture(tmp_path):
    result = run(CARRY, tmp_path / "folder", "--target", FOREIGN, "wrn_40_2_gn")
    assert result.returncode == 0, result.stderr
    for file in ("artifacts/wrn_40_2_gn.fathom", "build/lib/libfathom_rt.so.1", "build/bin/machine_bench"):
        assert carry.architecture(tmp_path / "folder" / file) == FOREIGN_ARCHITECTURE


def test_other_results_are_not_timed(packed):
    entries = packed / "packed.json"
    text = entries.read_text()
    try:
        data = json.loads(text)
        data["models"]["wrn_40_2_gn"]["digest"] = "0" * 64
        entries.write_text(json.dumps(data))
        result = run(packed / "bench/carried.py", "--rounds", 1, "--threads", "1")
        assert result.returncode == 1 and "the results differ" in result.stderr and "Traceback" not in result.stderr
    finally:
        entries.write_text(text)


def test_a_damaged_folder(packed):
    entries = packed / "packed.json"
    text = entries.read_text()
    try:
        for damaged in ("{", "{}", text[:40]):
            entries.write_text(damaged)
            result = run(packed / "bench/carried.py")
            assert result.returncode == 1 and "packed.json" in result.stderr and "Traceback" not in result.stderr
    finally:
        entries.write_text(text)
    assert "usage:" in run(ROOT / "bench/carried.py", "--help").stdout


def test_mistakes(packed, tmp_path):
    for words, text in [
        ([packed, "--target", "host"], "is there already"),
        ([tmp_path / "new", "--target", "nosuchcpu", "wrn_40_2_gn"], "nosuchcpu"),
        ([tmp_path / "new", "--target", "host", "nosuchmodel"], "there is no model 'nosuchmodel'"),
        ([tmp_path / "new"], "--target"),
    ]:
        result = run(CARRY, *words)
        assert result.returncode != 0 and text in result.stderr and "Traceback" not in result.stderr
        assert not (tmp_path / "new").exists() and not list(tmp_path.iterdir())
    for script, words, text in [
        (packed / "bench/carried.py", ["resnet50"], "'resnet50' was not packed"),
        (packed / "bench/carried.py", ["--rounds", 0], "at least 1"),
        (packed / "bench/carried.py", ["--seconds", -1], "at least 1"),
        (packed / "bench/carried.py", ["--json", tmp_path / "no/where.json"], "where.json' cannot be a file"),
        (packed / "bench/carried.py", ["--json", tmp_path], "cannot be a file"),
        (ROOT / "bench/carried.py", [], "there is nothing packed"),
    ]:
        result = run(script, *words)
        assert result.returncode != 0 and text in result.stderr and "Traceback" not in result.stderr


def test_the_runtime_alone_gives_the_same_results(tmp_path):
    model, x = perceptron(batch=3), np.random.default_rng(7).standard_normal((3, 16)).astype(np.float32)
    artifact = tmp_path / "m.fathom"
    fathom.compile(model, artifact)
    session, _ = with_fathom_rt.load(artifact, 2, tmp_path)
    results, want = session({"x": x}), fathom.Session(artifact).run(None, {"x": x})
    assert digest(results) == digest(want)
    for got, expected in zip(results, reference(model)({"x": x}), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(RuntimeError, match="another shape"):
        session({"x": x[:2]})


def test_the_runtime_alone_and_results_whose_size_data_decides(tmp_path):
    nodes = [helper.make_node("NonZero", ["x"], ["where"], name="where"), helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0)]
    model = make_model(nodes, [value("x", [4, 5])], [value("where", [2, None], TensorProto.INT64), value("sum", [])])
    x = (np.random.default_rng(3).random((4, 5)) > 0.5).astype(np.float32)
    fathom.compile(model, tmp_path / "m.fathom")
    session, _ = with_fathom_rt.load(tmp_path / "m.fathom", 1, tmp_path)
    for given in (x, np.zeros_like(x), x):
        where, total = session({"x": given})
        np.testing.assert_array_equal(where, np.nonzero(given))
        assert total == given.sum()


def test_the_runtime_alone_tells_what_is_wrong(tmp_path):
    (tmp_path / "bad.fathom").write_bytes(b"no artifact")
    with pytest.raises(RuntimeError, match="bad.fathom"):
        with_fathom_rt.load(tmp_path / "bad.fathom", 1, tmp_path)
    fathom.compile(perceptron(), tmp_path / "any.fathom")
    with pytest.raises(RuntimeError, match="only a run knows"):
        with_fathom_rt.load(tmp_path / "any.fathom", 1, tmp_path)


def test_rounds_go_over_all_cpus():
    assert [turns.cpus_of(turn, 1, {2, 5, 9}) for turn in range(4)] == [[2], [5], [9], [2]]
    assert [turns.cpus_of(turn, 2, {2, 5, 9}) for turn in range(3)] == [[2, 5], [5, 9], [2, 9]]
    assert turns.cpus_of(1, 3, {2, 5, 9}) == turns.cpus_of(0, 8, {2, 5, 9}) == [2, 5, 9]


class Side:
    """Stands for a process that takes turns."""

    def __init__(self, name, log, fails=False):
        self.name, self.log, self.fails, self.process = name, log, fails, type("", (), {"pid": os.getpid()})

    def ask(self, do, seconds, cpus):
        self.log.append((self.name, tuple(cpus)))
        if self.fails:
            raise Unavailable("gone")
        return {"times": [(1.0, 2.0)]}


def test_all_take_turns_and_who_fails_is_left_out(monkeypatch):
    monkeypatch.setattr(turns, "register_times", lambda threads, cpus: [1.0])
    log, left = [], []
    sides = {(1, "a"): Side("a1", log), (1, "b"): Side("b1", log, fails=True), (2, "a"): Side("a2", log)}
    data = {"benchmarks": [], "loads": [], "registers": []}
    turns.take_turns("m", sides, 2, data, lambda *told: left.append(told[:2]))
    assert [name for name, _ in log] == ["a1", "b1", "a2", "a1", "a2"] and left == [(1, "b")]
    assert log[0][1] == log[1][1]
    assert [(row["threads"], row["peer"], row["iterations"]) for row in data["benchmarks"]] == [(1, "a", 2), (2, "a", 2)]
    assert [(entry["threads"], entry["ms"]) for entry in data["registers"]] == [(1, 1.0), (2, 1.0)]


def test_precision_is_of_devices(tmp_path):
    result = run(CARRY, tmp_path / "folder", "--target", "host", "--precision", "fp16", "wrn_40_2_gn")
    assert result.returncode and "--precision is for devices" in result.stderr
    assert not (tmp_path / "folder").exists()
