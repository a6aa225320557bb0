"""Files of other formats: what they are is told, and what to do with them."""

import io
import struct
import zipfile

import numpy as np
import pytest
from support.networks import add_model


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return buffer.getvalue()


def array():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


HEADER = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
FORMATS = {
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(64), "TensorFlow Lite", "tf2onnx"),
    "torchscript": (zipped(m__code__m_dot_py="x", m__constants_dot_pkl="x"), "TorchScript", "torch.onnx.export"),
    "torch": (zipped(m__data_dot_pkl="x"), "torch.save", "torch.onnx.export"),
    "zip": (zipped(a="x"), "zip archive", "torch.onnx.export"),
    "npz": (zipped(a_dot_npy="x"), "archive of NumPy arrays", ".onnx"),
    "pickle": (b"\x80\x02}q\0." + bytes(32), "pickle", "torch.onnx.export"),
    "safetensors": (struct.pack("<Q", len(HEADER)) + HEADER + bytes(4), "safetensors", "no graph"),
    "gguf": (b"GGUF\x03\0\0\0" + bytes(64), "GGUF", "no graph"),
    "tensorrt": (b"ptrt" + bytes(64), "TensorRT engine", ".onnx"),
    "openvino": (b'<?xml version="1.0"?>\n<net name="m" version="11"></net>', "OpenVINO", ".onnx"),
    "xml": (b'<?xml version="1.0"?>\n<other/>', "XML", ".onnx"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5", "tf2onnx"),
    "numpy": (array(), "NumPy array", "--input NAME=@FILE.npy"),
    "ort": (b"\x20\0\0\0ORTM" + bytes(64), "ONNX Runtime's own format", ".onnx"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_given_as_a_model(fathom, tmp_path, name):
    data, what, advice = FORMATS[name]
    (tmp_path / "given").write_bytes(data)
    for command in (["compile", "given", "-o", "x.fathom"], ["check", "given"]):
        result = fathom(*command)
        told = result.err + result.out
        assert result.code == 1 and "[F1002]" in told and f"hint: this is" in told
        assert what in told and advice in told, told


@pytest.mark.parametrize("name", FORMATS)
def test_given_as_an_artifact(fathom, tmp_path, name):
    data, what, _ = FORMATS[name]
    (tmp_path / "given").write_bytes(data)
    fathom("run", "given").expect(1, "[F1011]", "hint:", what)


def test_an_artifact_given_as_a_model(fathom, save, tmp_path):
    path = save(add_model())
    fathom("compile", path, "-o", "m.fathom").expect(0)
    fathom("compile", "m.fathom", "-o", "x.fathom").expect(1, "[F1002]", "'fathom run' runs it")


def test_a_model_given_as_an_artifact(fathom, save):
    path = save(add_model())
    fathom("run", path).expect(1, "[F1011]", "this is an ONNX model", "fathom compile")


def test_one_line_for_one_cause(fathom, save, tmp_path):
    """Many tensors in a file that is not there are one problem."""
    import onnx
    from support.models import make_model, node, value

    weights = {f"w{i}": np.full((64,), i, np.float32) for i in range(20)}
    nodes = [node("Add", f"x{i} w{i}", f"x{i + 1}") for i in range(20)]
    model = make_model(nodes, [value("x0", [64])], [value("x20", [64])], weights)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "m.data").unlink()
    checked = fathom("check", "m.onnx")
    assert checked.code == 1 and "and 19 more: external data file 'm.data'" in checked.out
    assert len(checked.out.splitlines()) == 2 and "1 problem, at 20 places" in checked.err
    compiled = fathom("compile", "m.onnx").expect(1, "[F1005]", "more problems; 'fathom check m.onnx' lists all")
    assert len(compiled.err.splitlines()) <= 4


def test_one_problem_is_not_said_to_be_more(fathom, save):
    from support.models import make_model, node, value

    path = save(make_model([node("Nonsense", "x", "y")], [value("x", [2])], [value("y", [2])]))
    assert "more problem" not in fathom("compile", path, "-o", "x.fathom").expect(3).err
