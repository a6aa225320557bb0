"""Strings on the command line: files of them in and out, and what is wrong with one."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.models import value

WORDS = ["red", "größer", "", "other"]


@pytest.fixture
def colours(fathom, save):
    """An artifact that translates a word, or gives '?'."""
    made = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["red", "größer"],
                            values_strings=["rot", "größer"], default_string="?")  # fmt: skip
    graph = helper.make_graph([made], "g", [value("x", ["n"], TensorProto.STRING)], [value("y", ["n"], TensorProto.STRING)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 2)], ir_version=8)
    fathom("compile", save(model), "-o", "m.fathom").expect(0)
    return "m.fathom"


@pytest.mark.parametrize("encode", [np.array, lambda words: np.array([word.encode() for word in words])])
def test_files(fathom, colours, tmp_path, encode):
    np.save(tmp_path / "x.npy", encode(WORDS))
    fathom("run", colours, "--input", "x=@x.npy", "--output-dir", "out").expect(0)
    assert np.load(tmp_path / "out" / "y.npy").tolist() == ["rot", "größer", "?", "?"]
    shown = json.loads(fathom("run", colours, "--input", "x=@x.npy", "--json").expect(0).out)
    assert shown["outputs"][0]["strings"] == ["rot", "größer", "?", "?"] and shown["outputs"][0]["type"] == "string"


def test_random_strings_are_known(fathom, colours):
    shown = json.loads(fathom("run", colours, "--dim", "n=50", "--json").expect(0).out)
    assert set(shown["outputs"][0]["strings"]) <= {"rot", "größer", "?"} and len(set(shown["outputs"][0]["strings"])) > 1
    assert "x string[n]" in fathom("inspect", colours).expect(0).out


@pytest.mark.parametrize(
    "array, message",
    [
        (np.arange(3), "is string, the file has int64"),
        (np.array([["a"]]), "has shape [n], the file has [1,1]"),
        (np.array(["a"], dtype="U1").view("u4") + np.uint32(0x200000), "a character that Unicode does not"),
    ],
)
def test_wrong_files(fathom, colours, tmp_path, array, message):
    np.save(tmp_path / "x.npy", array.view("U1") if array.dtype == np.uint32 else array)
    fathom("run", colours, "--input", "x=@x.npy").expect(1, "[F1012]", message)


def test_a_short_file(fathom, colours, tmp_path):
    np.save(tmp_path / "x.npy", np.array(WORDS))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-4])
    fathom("run", colours, "--input", "x=@x.npy").expect(1, "[F1012]", "4 strings of 24 bytes")
