"""The tool that compares what two builds make (tests/same/same.py)."""
import pathlib
import sys

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "same"))
import same


@pytest.fixture
def model(tmp_path):
    given, made = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, columns]) for name, columns in (("x", 5), ("y", 7)))
    weight = onnx.numpy_helper.from_array(np.arange(35, dtype=np.float32).reshape(5, 7), "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [given], [made], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.mark.parametrize("target", same.TARGETS)
def test_tells_code_host_and_weights(model, target):
    first = same.made(ROOT / "build", model, target, "fast")
    assert {"weights", "arena", "scratch"} < first.keys()
    assert any(name.startswith("MatMul") for name in first) and any("run" in name for name in first), first.keys()
    assert same.made(ROOT / "build", model, target, "fast") == first
    changed = onnx.load(model)
    changed.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones((5, 7), np.float32), "w"))
    onnx.save(changed, model)
    other = same.made(ROOT / "build", model, target, "fast")
    assert {name for name in other if other[name] != first[name]} == {"weights"}


def test_tells_functions_apart():
    before, after = (same.functions(f"f:\n\tret\ng:\n.L1:\n\t{last}\n") for last in ("ret", "nop"))
    assert before.keys() == after.keys() == {"f", "g"} and before["f"] == after["f"] and before["g"] != after["g"]


def test_remembers_the_old_build(model, tmp_path):
    case = (model, "x86-64-v3", "fast")
    memory = tmp_path / "case.json"
    assert same.compared(ROOT / "build", ROOT / "build", memory, case) == [] and memory.exists()
    # No build is asked again for what is remembered.
    assert same.compared(tmp_path, ROOT / "build", memory, case) == []
