"""fathom bench --throughput: what it tries and tells, and what it refuses."""

import json
import re

import numpy as np
import pytest
from onnx import TensorProto
from support.models import constant, make_model, node, value
from support.networks import perceptron

SHORT = ["--throughput", "--min-time", "0.05", "--warm-up", "0.01"]


@pytest.fixture
def compiled(fathom, save):
    fathom("compile", save(perceptron()), "-o", "m.fathom").expect(0)
    return "m.fathom"


def measured(fathom, *words, env=None):
    return json.loads(fathom("bench", *words, *SHORT, "--json", env=env).expect(0).out)


def test_settings_share_the_cpus(fathom, compiled):
    result = measured(fathom, compiled, "--dim", "batch=3", env={"FATHOM_NUM_THREADS": "4"})
    tried = [(other["streams"], other["threads"]) for other in result["tried"]]
    assert tried == [(1, 4), (2, 2), (4, 1)]
    assert (result["streams"], result["threads"]) in tried
    best = max(result["tried"], key=lambda other: other["runs_per_second"])
    assert (result["streams"], result["threads"]) == (best["streams"], best["threads"])
    assert result["schema"] == 1 and result["model"] == "m.fathom"
    assert result["runs"] >= result["streams"] and result["runs_per_second"] > 0
    assert 0 < result["median_ms"] <= result["p90_ms"] <= result["p99_ms"] <= result["max_ms"]


@pytest.mark.parametrize("words, expected", [(["--streams", "3", "--threads", "2"], (3, 2)), (["--streams", "2"], (2, 2)), (["--threads", "1"], (4, 1))])
def test_what_is_given_is_measured(fathom, compiled, words, expected):
    result = measured(fathom, compiled, *words, env={"FATHOM_NUM_THREADS": "4"})
    assert (result["streams"], result["threads"], result["tried"]) == (*expected, [])


def test_for_people(fathom, save):
    # An ONNX model is compiled first.
    lines = fathom("bench", save(perceptron()), *SHORT, env={"FATHOM_NUM_THREADS": "2"}).expect(0).out.splitlines()
    assert re.fullmatch(r"[\d.]+ runs/s, \d at a time with \d threads? each", lines[0])
    assert re.fullmatch(r"latency [\d.]+ ms median, [\d.]+ ms p90, [\d.]+ ms p99, [\d.]+ ms most \(\d+ runs in [\d.]+ s\)", lines[1])
    assert [line.split()[1] for line in lines[2:]] == ["1", "2"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--throughput", "--profile", "x.json"], "--profile traces one run"),
        (["--streams", "2"], "--streams is for --throughput"),
        (["--throughput", "--streams", "-1"], "--streams: '-1' is not a whole number"),
        (["--throughput", "--streams", "1025"], "--streams is 1025: expected 0 to 1024"),
    ],
)
def test_what_makes_no_sense(fathom, compiled, words, message):
    fathom("bench", compiled, *words).expect(2, "[F2001]", message)


def test_a_run_that_fails(fathom, save, tmp_path):
    table = constant("table", np.ones((4, 3), np.float32))
    model = make_model([node("Gather", "table ids", "y", name="look")], [value("ids", [2], TensorProto.INT64)], [value("y", [2, 3])], [table])
    np.save(tmp_path / "ids.npy", np.array([0, 9]))
    fathom("bench", save(model), *SHORT, "--input", f"ids=@{tmp_path / 'ids.npy'}").expect(1, "[F1012]", "an index is outside")
