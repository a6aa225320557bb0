"""The scripts behind ./dev: what they say to a mistake, and what an interrupted one leaves behind."""

import os
import resource
import subprocess
import sys

import pytest
from support.tool import ROOT

FILL = ROOT / "models" / "fill_weights.py"
BENCH = ROOT / "bench" / "models.py"


def run(script, *words, **keywords):
    return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, timeout=300, **keywords)


def test_interrupted_filling_leaves_nothing(tmp_path):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    assert run(FILL, tmp_path, "mobilenet_v2", preexec_fn=limit).returncode != 0
    assert os.listdir(tmp_path) == []
    assert run(FILL, tmp_path, "mobilenet_v2").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["mobilenet_v2.data", "mobilenet_v2.onnx"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["nosuchmodel"], "there is no model 'nosuchmodel'"),
        (["nowhere.onnx"], "nowhere.onnx"),
        (["mobilenet_v2", "--threads", "two"], "--threads"),
        (["--peers", "nosuchpeer"], "there is no peer 'nosuchpeer'"),
        (["--clock", "cpu", "--threads", "1,2"], "--clock cpu"),
    ],
)
def test_bench_of_nothing(words, text):
    result = run(BENCH, *words)
    assert result.returncode != 0
    assert text in result.stderr.splitlines()[-1] and "Traceback" not in result.stderr


def test_filling_an_unknown_model(tmp_path):
    result = run(FILL, tmp_path, "nosuchmodel")
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "nosuchmodel" in result.stderr
