"""fathom verify: what it prints, and that it can fail."""

import json
import subprocess

import numpy as np
import pytest
from support.models import make_model, value
from support.networks import relu_model
from support.tool import TOOL
from onnx import helper, numpy_helper


@pytest.fixture
def model(save):
    weight = numpy_helper.from_array(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Sigmoid", ["a"], ["b"], name="squash"),
        helper.make_node("Mul", ["b", "b"], ["y"], name="square"),
    ]
    return save(make_model(nodes, [value("x", ["batch", 3])], [value("y", ["batch", 4])], [weight]))


@pytest.mark.parametrize("against", ["onnxruntime", "reference"])
def test_match(fathom, model, against):
    data = json.loads(
        fathom("verify", model, "--against", against, "--seed", "3", "--dim", "batch=5", "--json").expect(0).out
    )
    assert data["ok"] and data["against"] == against and data["inputs"] == {"x": [5, 3]}
    assert data["outputs"][0]["shape"] == [5, 4] and data["outputs"][0]["max_ulp"] < 100


def test_options_of_the_compilation(fathom, model):
    given = json.loads(fathom("verify", model, "--shape", "x:7x3", "--json").expect(0).out)
    assert given["inputs"] == {"x": [7, 3]}
    fathom("verify", model, "--dim", "batch=1..8,opt=4", "--conv-algorithm", "winograd4", "--max-weight-growth", "12.5").expect(0)
    assert "no input 'other'" in fathom("verify", model, "--shape", "other:7x3").expect(1).err


def test_given_inputs(fathom, model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((6, 3), np.float32))
    given = json.loads(fathom("verify", model, "--input", "x=@x.npy", "--json").expect(0).out)
    assert given["inputs"] == {"x": [6, 3]}
    fathom("verify", model, "--input", "x=x.npy").expect(2, "[F2001]", "NAME=@FILE.npy")
    fathom("verify", model, "--input", "z=@x.npy").expect(1, "[F1012]", "no input 'z'", "its inputs are x")
    fathom("verify", model, "--input", "x=@x.npy", "--input", "x=@x.npy").expect(1, "[F1012]", "given twice")
    fathom("verify", model, "--input", "x=@x.npy", "--dim", "batch=5").expect(1, "[F1012]", "'batch' is 5, and 6")
    fathom("verify", model, "--input", "x=@absent.npy").expect(1, "[F1001]", "absent.npy")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    fathom("verify", model, "--input", "x=@bad.npy").expect(1, "[F1001]", "bad.npy")
    np.save(tmp_path / "d.npy", np.ones((6, 3)))
    fathom("verify", model, "--input", "x=@d.npy").expect(1, "[F1012]", "float32", "float64")
    np.save(tmp_path / "n.npy", np.ones((6, 4), np.float32))
    fathom("verify", model, "--input", "x=@n.npy").expect(1, "[F1012]", "shape [batch,3]")


def test_given_sequences(fathom, save, tmp_path):
    element = helper.make_tensor_type_proto(1, ["a", 2])
    nodes = [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0, name="join")]
    model = save(make_model(nodes, [helper.make_value_info("s", helper.make_sequence_type_proto(element))], [value("y", None)]))
    np.save(tmp_path / "d.npy", np.arange(8, dtype=np.float32))
    np.save(tmp_path / "s.npy", np.array([[1, 2], [3, 2]]))
    given = ["--input", "s.data=@d.npy", "--input", "s.shapes=@s.npy"]
    report = json.loads(fathom("verify", model, *given, "--json").expect(0).out)
    assert report["inputs"] == {"s": [[1, 2], [3, 2]]} and report["outputs"][0]["shape"] == [4, 2]
    fathom("verify", model, *given[:2]).expect(1, "[F1012]", "'s.shapes' is missing")
    np.save(tmp_path / "s.npy", np.array([[1, 2], [30, 2]]))
    fathom("verify", model, *given).expect(1, "[F1012]", "sizes that do not go with its values")


def test_text(fathom, model):
    result = fathom("verify", model).expect(0)
    for word in ("max abs", "max rel", "max ulp", "float32", "ok"):
        assert word in result.out


def test_mismatch_names_the_node(fathom, model):
    """Nothing agrees exactly with everything: with no tolerance a rounding difference is a mismatch."""
    result = fathom("verify", model, "--rtol", "0", "--atol", "0", "--dim", "batch=64", "--json")
    if result.code == 0:
        pytest.skip("the results are bit-identical")
    result.expect(4, "[F4001]")
    found = json.loads(result.out)["first_divergence"]
    assert found["node"] in ("product", "squash", "square")


def test_model_that_cannot_be_compiled(fathom, save):
    fathom("verify", save(b"hello")).expect(1, "[F1002]")
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="odd")]
    fathom("verify", save(make_model(nodes, [value("x", [2])], [value("y", [2])]))).expect(3, "[F3001]", "node 'odd'")


def test_unknown_dimension(fathom, model):
    fathom("verify", model, "--dim", "rows=2").expect(1, "[F1012]", "'batch'")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_full_stdout(model, options):
    with open("/dev/full", "w") as full:
        words = [TOOL, "verify", str(model), *options]
        process = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert process.returncode == 1
    assert process.stderr == "error: [F1014] cannot write to stdout: No space left on device\n"


def test_package_that_cannot_be_loaded(fathom, model, tmp_path):
    """An interpreter without NumPy, or without the memory to load it."""
    (tmp_path / "numpy.py").write_text("raise ImportError('no room')")
    result = fathom("verify", model, env={"PYTHONPATH": str(tmp_path)}).expect(5, "[F5001]", "no room", "FATHOM_PYTHON")
    assert "Traceback" not in result.err


def test_python_that_is_missing(fathom, save):
    fathom("verify", save(relu_model()), env={"FATHOM_PYTHON": "/nowhere/python"}).expect(5, "[F5001]", "FATHOM_PYTHON")


def test_layers(fathom, model):
    told = fathom("verify", model, "--layers", "--dim", "batch=5").expect(0).out
    assert "3 values, each against the reference" in told
    lines = told.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.split()[:3] == ["node", "op", "output"]) + 1 :]
    assert sorted(line.split()[0] for line in table) == ["product", "square", "squash"]
    data = json.loads(fathom("verify", model, "--layers", "--dim", "batch=5", "--json").expect(0).out)
    units = [layer["units"] for layer in data["layers"]]
    assert units == sorted(units, reverse=True) and all(0 <= unit <= 1 for unit in units)
    bounds = {layer["node"]: layer["bound"] for layer in data["layers"]}
    assert 2**-23 < bounds["product"] < bounds["squash"] < bounds["square"] < 1e-4
