"""The wheels in a clean environment and in a root without any LLVM: they compile, run and measure a network."""
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import onnx
import pytest
from support.networks import add_model
from support.pages import blocks
from support.tool import ROOT, fill
from wheel_tools import call

[README] = [block.text for block in blocks("README.md") if block.language == "python"]


def ours(wheels):
    return sorted(path for path in wheels.glob("fathom_*.whl"))


def test_there_are_two_and_their_tags_are_those_within(wheels):
    compiler, runtime = ours(wheels)
    assert runtime.stat().st_size < 500_000 and compiler.stat().st_size < 80_000_000
    for path in (compiler, runtime):
        with zipfile.ZipFile(path) as wheel:
            [name] = (entry for entry in wheel.namelist() if entry.endswith("/WHEEL"))
            tags = re.findall(r"^Tag: (.*)$", wheel.read(name).decode(), re.M)
        assert ["-".join(path.stem.split("-")[2:])] == tags
        assert "manylinux_2_" in tags[0]
    with zipfile.ZipFile(runtime) as wheel:
        assert not any("_compiler.c" in name or "/bin/" in name for name in wheel.namelist())


def test_what_pip_is_told(wheels):
    """Extras and names that the documentation has."""
    told = {}
    for path in ours(wheels):
        with zipfile.ZipFile(path) as wheel:
            texts = {name.rpartition("/")[2]: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
        told[path.name.split("-")[0]] = texts
    assert "Provides-Extra: serve\n" in told["fathom_runtime"]["METADATA"]
    assert all(f"Provides-Extra: {extra}\n" in told["fathom_compiler"]["METADATA"] for extra in ("serve", "verify"))
    assert "[torch_dynamo_backends]\nfathom = fathom.dynamo:backend\n" in told["fathom_compiler"]["entry_points.txt"]


def test_clean_environment(clean, tmp_path):
    model = fill("mobilenet_v2")
    shutil.copy(model, tmp_path / "model.onnx")
    shutil.copy(model.with_suffix(".data"), tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 224, 224), np.float32))
    environment = {"PATH": f"{clean}:/usr/bin:/bin", "FATHOM_DB": "none", "HOME": str(tmp_path)}
    options = {"cwd": tmp_path, "env": environment}
    call("python", "-c", README, **options)
    call("fathom", "compile", "model.onnx", "-o", "m.fathom", **options)
    one = call("fathom", "run", "m.fathom", "--output-dir", "one", "--json", **options)
    assert "outputs" in json.loads(one)
    call("fathom-run", "m.fathom", "--output-dir", "two", **options)
    first, second = ({path.name: np.load(path) for path in (tmp_path / name).glob("*.npy")} for name in ("one", "two"))
    assert first.keys() == second.keys() and first
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
        assert np.ptp(first[name]) > 0
    assert "ms median" in call("fathom-run", "m.fathom", "--bench", "--min-time", "0.1", **options)
    assert json.loads(call("fathom", "bench", "m.fathom", "--min-time", "0.1", "--json", **options))["runs"] >= 5
    # What the tool answers at once must not wait for the package and what that imports.
    (tmp_path / "numpy.py").write_text("raise ImportError")
    assert re.fullmatch(r"fathom [\d.]+\n", call("fathom", "--version", cwd=tmp_path, env=environment | {"PYTHONPATH": str(tmp_path)}))


def test_python_tests_pass_on_the_wheels(wheels, tmp_path):
    """Those of sessions and compiling, with the package as the wheels have it."""
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path, *ours(wheels))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "FATHOM_BIN": str(tmp_path / "fathom/bin/fathom")}
    tests = [ROOT / "tests/python" / name for name in ("test_session.py", "test_compile.py", "test_lists.py", "test_outputs.py")]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-3000:]
    found = call(sys.executable, "-c", "import fathom; print(fathom.__file__)", env=environment, cwd=tmp_path)
    assert str(tmp_path) in found


@pytest.fixture(scope="module")
def installed(bare):
    pip = next(bare.root.glob("wheels/pip-*.whl"))
    install = ["python3", f"/wheels/{pip.name}/pip", "install", "--no-index", "--find-links", "/wheels", "--break-system-packages", "--root-user-action=ignore"]
    return lambda *names: bare(*install, *names)


def test_bare_root(bare, installed):
    """First the runtime alone, which says what it lacks; then the compiler besides."""
    for library in ("LLVM", "MLIR", "protobuf"):
        assert not list(bare.root.rglob(f"lib{library}*")), library
    onnx.save(add_model(), bare.root / "root/model.onnx")
    np.save(bare.root / "root/x.npy", np.zeros((2, 1024), np.float32))
    installed("fathom-runtime")
    without = 'import fathom\ntry:\n  fathom.compile("/root/model.onnx")\nexcept fathom.Error as error: print(error)'
    assert "F5001" in bare("python3", "-c", without)
    installed("fathom-compiler")
    bare("/bin/sh", "-c", f"cd /root && python3 -c '{README}'")
    bare("fathom", "compile", "/root/model.onnx", "-o", "/root/m.fathom")
    first = json.loads(bare("fathom", "run", "/root/m.fathom", "--json"))["outputs"]
    assert first and all(output["max"] > output["min"] for output in first)
    assert first[0]["name"] in bare("fathom-run", "/root/m.fathom")
    assert "median_ms" in bare("fathom", "bench", "/root/m.fathom", "--json", "--min-time", "0.05")
    assert "compiled by fathom" in bare("fathom", "inspect", "/root/m.fathom")
    assert re.fullmatch(r"fathom [\d.]+\n", bare("fathom", "--version"))
