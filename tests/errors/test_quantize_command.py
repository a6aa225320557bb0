"""fathom quantize: what it prints and writes, and how it fails. tests/python/test_quantize.py has the rest."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from support.networks import perceptron, relu_model
from support.tool import TOOL


@pytest.fixture
def model(save):
    return save(perceptron())


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(0).standard_normal((8, 16), np.float32))
    return tmp_path / "data.npz"


def test_what_it_writes(fathom, model, data, tmp_path):
    result = fathom("quantize", model, "--calibrate", data).expect(0)
    assert "model.int8.onnx: 2 of 2 products in 8 bits" in result.out and "output 'y': relative error 0.0" in result.out and result.err == ""
    onnx.checker.check_model(onnx.load(tmp_path / "model.int8.onnx"))
    fathom("compile", "model.int8.onnx", "-o", "model.fathom").expect(0)
    words = ["--method", "percentile", "--percentile", "99.9", "--per-tensor", "--no-bias-correction", "--max-error", "0.9", "--keep-float", "last",
             "--memory", "1", "--threads", "1", "-o", "out.onnx", "--json"]  # fmt: skip
    report = json.loads(fathom("quantize", model, "--calibrate", data, *words).expect(0).out)
    assert report["schema_version"] == 1 and report["method"] == "percentile" and report["left"] == [{"node": "last", "why": "it was asked for"}]
    assert fathom("quantize", model, "--calibrate", data, "-q").expect(0).out == ""


def test_what_it_refuses(fathom, model, data, save):
    fathom("quantize", model).expect(2, "[F2001]", "--calibrate is missing")
    fathom("quantize", model, "--calibrate", data, "--method", "guess").expect(2, "[F2001]", "minmax, percentile, entropy")
    fathom("quantize", model, "--calibrate", data, "--max-error", "0").expect(2, "[F2001]", "above 0")
    fathom("quantize", model, "--calibrate", "absent.npz").expect(1, "[F1001]", "absent.npz")
    fathom("quantize", model, "--calibrate", data, "-o", model).expect(1, "[F1014]", "would replace the model")
    fathom("quantize", save(relu_model(), "relu.onnx"), "--calibrate", data).expect(3, "[F3001]", "nothing to quantise")
    fathom("quantize", save(b"hello", "bad.onnx"), "--calibrate", data).expect(1, "[F1002]")


def test_an_interrupt_leaves_nothing(model, tmp_path):
    np.savez(tmp_path / "long.npz", x=np.ones((4000, 64, 16), np.float32))
    words = [TOOL, "quantize", str(model), "--calibrate", "long.npz", "--method", "entropy", "-o", "out.onnx"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, "FATHOM_PYTHON": sys.executable})
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)  # Python, too, has ended then
    assert process.returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.npz", "model.onnx"]
