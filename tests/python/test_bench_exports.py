"""The table of a folder of exported models: what is compared, what counts, and what is told."""

import subprocess
import sys

import fathom
import numpy as np
import onnx
import pytest
from support.models import make_model, value
from support.tool import ROOT
from onnx import helper


def chain(*ops):
    names = ["x", *(f"t{i}" for i in range(len(ops) - 1)), "y"]
    nodes = [helper.make_node(op, [a], [b]) for op, a, b in zip(ops, names, names[1:])]
    return make_model(nodes, [value("x", ["n", 5])], [value("y", ["n", 5])])


def run(folder, *words):
    command = [sys.executable, ROOT / "bench/exports.py", folder, *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.fixture()
def folder(tmp_path):
    onnx.save(chain("Tanh", "Abs"), tmp_path / "tanh.old.onnx")
    for i, rows in enumerate((1, 3)):
        np.savez(tmp_path / f"tanh.old.onnx.{i}.npz", x=np.random.default_rng(i).standard_normal((rows, 5)).astype(np.float32))
    onnx.save(chain("Relu"), tmp_path / "relu.new.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    return tmp_path


def test_models_are_compared_and_timed(folder):
    result = run(folder, "--rounds", 1, "--threads", "1,2")
    assert result.returncode == 0, result.stderr
    rows = [line.split(" | ") for line in result.stdout.splitlines() if line.startswith("| ") and "---" not in line]
    assert [len(row) for row in rows] == [10, 10, 10]
    assert [row[:3] for row in rows[1:]] == [["| relu.new", "1", "1"], ["| tanh.old", "2", "2"]]
    assert "2 agree, 0 do not compile or differ, 1 are not run by ONNX Runtime" in result.stdout
    assert "threads 2: geometric mean" in result.stdout
    assert "broken: ONNX Runtime does not load it" in result.stdout


def test_what_differs_is_told(folder):
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    fathom.compile(chain("Relu"), str(artifacts / "tanh.old.fathom"))
    result = run(folder, "tanh", "relu", "--rounds", 0, "--artifacts", artifacts)
    assert result.returncode == 1
    assert "1 agree, 1 do not compile or differ" in result.stdout
    assert "tanh.old: differs: y: " in result.stdout
    assert (artifacts / "relu.new.fathom").exists()


def test_a_folder_without_models(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 2 and "no such model" in result.stderr
