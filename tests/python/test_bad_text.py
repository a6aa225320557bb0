"""Texts that are no UTF-8, in models, options and paths: an error of Fathom that prints them escaped, never one of Python's."""

import os
import subprocess
import sys

import fathom
import numpy as np
import pytest
from support.models import make_model, value
from support.networks import perceptron
from onnx import helper


def pooling(auto_pad):
    """A model whose attribute has other bytes than protobuf's writer lets one give."""
    node = helper.make_node("AveragePool", ["x"], ["y"], name="pool", kernel_shape=[2, 2], auto_pad="SAME_UPPER")
    data = make_model([node], [value("x", [1, 1, 4, 4])], [value("y", None)]).SerializeToString()
    assert data.count(b"SAME_UPPER") == 1 and len(auto_pad) == len(b"SAME_UPPER")
    return data.replace(b"SAME_UPPER", auto_pad)


def test_an_attribute():
    with pytest.raises(fathom.Error, match=r"\[F1006\] node 'pool': .*'SAME_UP\\xffER'"):
        fathom.compile(pooling(b"SAME_UP\xffER"))
    (problem,) = fathom.check(pooling(b"SAME_UP\xc3(ER"[:10]))
    assert problem["code"] == "F1006" and r"\xc3" in problem["message"]


@pytest.mark.parametrize("place", ["hidden", "w1", "relu", "batch"])
def test_a_name(place):
    data = perceptron().SerializeToString()
    broken = data.replace(place.encode(), b"\xff" * len(place))
    assert broken != data
    shown = r"\xff" * len(place)
    with pytest.raises(fathom.Error) as error:
        fathom.compile(broken)
    assert str(error.value).startswith(f"[F1003] the name '{shown}' is not valid UTF-8")


def test_a_doc_string():
    """Nobody reads it."""
    model = perceptron()
    model.doc_string = model.graph.doc_string = "described"
    data = model.SerializeToString().replace(b"described", b"\xff\xfe\x80\xc0descr")
    assert fathom.Session(fathom.compile(data)).inputs


@pytest.mark.parametrize("text", ["\udcff", "\ud800", "a\udc80b"])
@pytest.mark.parametrize("option", ["target", "plan", "fp", "dim", "weights"])
def test_an_option(model, option, text):
    with pytest.raises(fathom.Error) as error:
        fathom.compile(model, **{option: text})
    str(error.value).encode()


def test_paths(model, tmp_path):
    """What the system's names are, an artifact's and a model's can be."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(folder)
    with open(f"{folder}/m.onnx", "wb") as file:
        file.write(model.SerializeToString())
    path = fathom.compile(f"{folder}/m.onnx", f"{folder}/m.fathom")
    y = fathom.Session(path).run(None, {"x": np.ones((2, 16), np.float32)})[0]
    assert y.shape == (2, 8)
    for call in (fathom.compile, fathom.Session):
        with pytest.raises(fathom.Error, match=r"absent") as error:
            call(f"{folder}/absent")
        str(error.value).encode()
    (problem,) = fathom.check(f"{folder}/absent")
    assert problem["code"] == "F1001" and r"\xff/absent" in problem["message"]


def test_the_command_line(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(pooling(b"SAME_UP\xffER"))
    for command in (["compile", "-o", "x.fathom"], ["check"]):
        words = [sys.executable, "-m", "fathom", *command, "bad.onnx"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
        assert rb"SAME_UP\xffER" in done.stdout + done.stderr
