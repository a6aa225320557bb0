"""fathom-run: what runs models where there is no compiler."""

import json
import re

import fathom
import numpy as np
import pytest
from fathom.run import main
from support.networks import perceptron


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "m.fathom"
    fathom.compile(perceptron(), path)
    return str(path)


def test_it_runs_on_files(artifact, random, tmp_path, capsys):
    x = random.standard_normal((5, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    assert main([artifact, "-i", f"x=@{tmp_path}/x.npy", "--output-dir", str(tmp_path / "out"), "--threads", "1"]) == 0
    assert "y float32[5, 8] -> " in capsys.readouterr().out
    expected = fathom.Session(artifact, threads=1).run(None, {"x": x})
    for name, value in zip("yr", expected):
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}.npy"), value)


def test_random_inputs_are_those_of_the_seed(artifact, capsys):
    printed = []
    for seed in ("1", "1", "2"):
        assert main([artifact, "--dim", "batch=3", "--seed", seed]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]
    assert "y float32[3, 8] min " in printed[0]


def test_it_measures(artifact, capsys):
    assert main([artifact, "--bench", "--min-time", "0.01", "--threads", "1"]) == 0
    assert re.match(r"[\d.e+-]+ ms median, [\d.e+-]+/s, 1 threads; p10 ", capsys.readouterr().out)


def test_it_describes(artifact, capsys):
    assert main([artifact, "--inspect"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["inputs"]] == ["x"]


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["absent.fathom"], 1, "F1001"),
        ([__file__], 1, "F1011"),
        (["ARTIFACT", "--dim", "batch"], 2, "NAME=SIZE"),
        (["ARTIFACT", "--dim", "batch=1..4"], 2, "has one size"),
        (["ARTIFACT", "--dim", "seq=3"], 1, "no symbolic dimension 'seq'"),
        (["ARTIFACT", "-i", "x=1"], 2, "NAME=@FILE.npy"),
        (["ARTIFACT", "--output-dir", __file__], 1, "F1014"),
    ],
)
def test_mistakes(artifact, words, code, text, capsys):
    assert main([artifact if word == "ARTIFACT" else word for word in words]) == code
    told = capsys.readouterr().err
    assert told.startswith("error: [F") and text in told
