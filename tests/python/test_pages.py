"""The examples of the users' pages run as they are written."""

import re
import sys

import numpy as np
import onnx
import pytest
from support.models import FLOAT, INT64, model, node
from support.networks import perceptron
from support.tool import ROOT

sys.path.append(str(ROOT / "models"))
from make_decoder import make_decoder  # noqa: E402


def examples(page):
    """The blocks of Python of a page, one after the other: later ones use what earlier ones made."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/user" / page).read_text(), re.M | re.S))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a page's examples in a folder of their own; returns what they defined."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "kept"))

    def run(page, **names):
        code = examples(page)
        assert code
        exec(compile(code, page, "exec"), names)
        return names

    return run


def save_perceptron():
    """With one output, as in the examples."""
    proto = perceptron()
    del proto.graph.output[1]
    onnx.save(proto, "model.onnx")


def test_onnxruntime(run):
    save_perceptron()
    assert run("onnxruntime.md")["y"].shape == (2, 8)


def test_backend(run):
    save_perceptron()
    names = run("backend.md")
    np.testing.assert_array_equal(names["z"], -names["y"])


def test_quantizing(run, capsys):
    save_perceptron()
    names = run("quantizing.md")
    assert capsys.readouterr().out.startswith("2 {'y': 0.0") and names["artifact"].manifest


def tokenizer(texts, **options):
    """Letters as tokens, rows of one length."""
    rows = [[ord(letter) % 100 for letter in text] for text in texts]
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}


def test_huggingface(run, capsys):
    table = np.ones((100, 4), np.float32)
    onnx.save(model([node("Gather", "table input_ids", "logits")], [("input_ids", INT64, ["n", "m"])], [("logits", FLOAT)], {"table": table}), "encoder.onnx")
    onnx.save(make_decoder(0), "decoder.onnx")
    names = run("huggingface.md", tokenizer=tokenizer)
    assert names["scores"].shape == (2, 9, 4)
    assert names["tokens"].shape == (1, 16 + 20)
    assert capsys.readouterr().out


def test_serving(run):
    save_perceptron()
    names = run("serving.md")
    session = names["fathom"].Session(names["model"])
    for number, result in enumerate(names["results"]):
        want = session.run(["y"], {"x": np.full((1, 16), number, "float32")})[0]
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)
