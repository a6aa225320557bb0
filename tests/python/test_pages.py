"""The examples of the users' pages run as they are written."""

import re

import onnx
import pytest
from support.networks import perceptron
from support.tool import ROOT


def examples(page):
    """The blocks of Python of a page, one after the other: later ones use what earlier ones made."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/user" / page).read_text(), re.M | re.S))


@pytest.mark.parametrize("page", ["onnxruntime.md"])
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "kept"))
    model = perceptron()
    del model.graph.output[1]  # the example has one output
    onnx.save(model, "model.onnx")
    code, names = examples(page), {}
    assert code
    exec(compile(code, page, "exec"), names)
    assert names["y"].shape == (2, 8)


def test_examples_of_serving(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(perceptron(), "model.onnx")
    names = {}
    exec(compile(examples("serving.md"), "serving.md", "exec"), names)
    session = names["fathom"].Session(names["model"])
    for number, result in enumerate(names["results"]):
        want = session.run(["y"], {"x": names["np"].full((1, 16), number, "float32")})[0]
        names["np"].testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)
