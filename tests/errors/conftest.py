"""Fixtures of the error tests."""

import onnx
import pytest
from support.networks import relu_model
from support.tool import run_tool


@pytest.fixture(params=["neoverse-v1", "x86-64-v3"])
def both(request):
    """The test compiles for both architectures, whatever this machine is: what it says of schedules holds on all."""
    return request.param


@pytest.fixture
def fathom(tmp_path, request):
    """Runs the tool in a folder of its own and sees to it that nothing half-written stays behind."""
    target = request.getfixturevalue("both") if "both" in request.fixturenames else None

    def run(*arguments, env=None, cwd=None):
        if target and arguments[0] in ("compile", "explain"):
            arguments = (*arguments, "--target", target)
        result = run_tool(*arguments, env=env, cwd=cwd or tmp_path, timeout=300)
        assert not list(tmp_path.glob("*.tmp*")), "a temporary file was left behind"
        if result.code != 70:
            assert not list(tmp_path.glob("fathom-crash-*"))
        return result

    return run


@pytest.fixture
def save(tmp_path):
    def write(model, name="model.onnx"):
        path = tmp_path / name
        path.write_bytes(model.SerializeToString() if isinstance(model, onnx.ModelProto) else model)
        return path

    return write


@pytest.fixture
def artifact(fathom, save, tmp_path):
    """A compiled model."""
    fathom("compile", save(relu_model(), "relu.onnx"), "-o", "relu.fathom").expect(0)
    return tmp_path / "relu.fathom"
