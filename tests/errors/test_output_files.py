"""Where outputs go: links, pipes, the model itself, and what is left behind."""

import os
import subprocess

import numpy as np
import onnx
import pytest
from support.networks import add_model, relu_model
from support.tool import TOOL


def test_link_is_followed(fathom, save, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/real.fathom")
    for _ in range(2):  # the second time the link leads to a file
        fathom("compile", save(relu_model()), "-o", "link").expect(0)
        assert (tmp_path / "link").is_symlink()
        fathom("run", "folder/real.fathom").expect(0)
    assert os.listdir(tmp_path / "folder") == ["real.fathom"]


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_artifact_is_no_pipe(fathom, save, tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    fathom("compile", save(relu_model()), "-o", name).expect(1, "[F1014]", name, "regular file")
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()


def test_text_goes_into_a_pipe(save, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    words = [TOOL, "compile", str(save(relu_model())), "--emit", "plan", "-o", str(tmp_path / "pipe")]
    process = subprocess.Popen(words)
    text = (tmp_path / "pipe").read_text()
    assert process.wait(60) == 0 and "fathom-plan:" in text
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("extra", [[], ["--emit", "plan"]])
def test_model_is_not_overwritten(fathom, tmp_path, extra):
    path = tmp_path / "model.onnx"
    onnx.save(add_model(), path, save_as_external_data=True, location="model.data", size_threshold=0)
    (tmp_path / "link").symlink_to("model.data")
    before = path.read_bytes(), (tmp_path / "model.data").read_bytes()
    for output in ("model.onnx", "model.data", "link", tmp_path / "." / "model.data"):
        fathom("compile", "model.onnx", "-o", output, *extra).expect(1, "[F1014]", str(output), "the model")
    assert before == (path.read_bytes(), (tmp_path / "model.data").read_bytes())


def test_a_trace_does_not_replace_the_model(fathom, artifact, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(add_model(), path, save_as_external_data=True, location="model.data", size_threshold=0)
    (tmp_path / "link").symlink_to("model.data")
    for model, outputs in (path, ("model.onnx", "model.data", "link")), (artifact, (artifact,)):
        for output in outputs:
            before = (tmp_path / output).read_bytes()
            fathom("bench", model, "--min-time", "0", "--profile", output).expect(1, "[F1014]", str(output), "the model")
            assert (tmp_path / output).read_bytes() == before
    # Said ahead of the measurement, which would take minutes.
    missing = tmp_path / "missing" / "trace.json"
    fathom("bench", artifact, "--min-time", "600", "--profile", missing).expect(1, "[F1014]", str(missing))
    fathom("bench", artifact, "--min-time", "0", "--profile", "-").expect(2, "[F2001]", "stdout", "name of a file")
    assert not (tmp_path / "-").exists()


def test_profile_and_outputs_go_through_links(fathom, artifact, tmp_path):
    (tmp_path / "out").mkdir()
    for link, target in (("trace", "real.json"), ("out/y.npy", "../real.npy")):
        (tmp_path / link).symlink_to(target)
    fathom("bench", artifact, "--min-time", "0.01", "--profile", "trace").expect(0)
    fathom("run", artifact, "--output-dir", "out").expect(0)
    assert "traceEvents" in (tmp_path / "real.json").read_text()
    assert np.load(tmp_path / "real.npy").shape == (2, 3)
    assert (tmp_path / "trace").is_symlink() and (tmp_path / "out" / "y.npy").is_symlink()


def test_modes_follow_the_umask(save, tmp_path):
    for emit, mode in ([], 0o750), (["--emit", "plan"], 0o640):
        words = [TOOL, "compile", str(save(relu_model())), "-q", "-o", "out", *emit]
        subprocess.run(words, cwd=tmp_path, check=True, umask=0o027)
        assert (tmp_path / "out").stat().st_mode & 0o777 == mode
