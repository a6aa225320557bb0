"""fathom explain: the nodes of kernels, their work, and what it refuses."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import make_model, value


def explained(fathom, *words):
    result = fathom("explain", *words, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def gemm_model(batch):
    """Two products with an activation each, a reshape, and something to fold."""
    weights = [numpy_helper.from_array(np.ones((5, 7), np.float32), "w"), numpy_helper.from_array(np.ones((7, 3), np.float32), "v")]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="rectify"),
        helper.make_node("Exp", ["v"], ["u"], name="constant"),
        helper.make_node("MatMul", ["b", "u"], ["c"], name="second"),
        helper.make_node("Flatten", ["c"], ["y"], name="flat"),
    ]
    return make_model(nodes, [value("x", [batch, 5])], [value("y", None)], weights)


@pytest.fixture
def save(tmp_path):
    def write(model):
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        return str(path)

    return write


def test_every_node_is_explained(fathom, save):
    report = explained(fathom, save(gemm_model(4)))
    found = {op["node"]: op["why"] for kernel in report["kernels"] for op in kernel["ops"]}
    found |= {node["node"]: node["why"] for node in report["other_nodes"]}
    assert found["first"] == "decides the kernel's loops"
    assert found["rectify"].startswith("fused: applied to the result of MatMul")
    assert found["constant"].startswith("folded")
    assert {"second", "flat"} <= set(found)
    first, second = report["kernels"][:2]
    assert first["flop"] == 2 * 4 * 5 * 7 + 4 * 7
    # The weight's columns are padded to whole panels.
    assert 4 * (4 * 5 + 5 * 7 + 4 * 7) <= first["bytes"] <= 4 * (4 * 5 + 5 * 64 + 4 * 7)
    assert second["apart"] == [{"kernel": first["result"], "why": "MatMul and MatMul need loops of their own"}]
    assert "ms" not in first


def test_symbolic_sizes(fathom, save):
    path = save(gemm_model("batch"))
    assert explained(fathom, path)["kernels"][0]["flop"] is None
    assert explained(fathom, path, "--dim", "batch=4")["kernels"][0]["flop"] == 2 * 4 * 5 * 7 + 4 * 7


def test_run_tells_times(fathom, save, tmp_path):
    artifact = str(tmp_path / "model.fathom")
    assert fathom("compile", save(gemm_model("batch")), "-o", artifact, "-q").code == 0
    report = explained(fathom, artifact, "--run", "--dim", "batch=16", "--threads", "1")
    assert report["peak"]["gflop_per_second"] > 0 and report["peak"]["gb_per_second"] > 0 and report["peak"]["threads"] == 1
    assert [kernel["launches"] for kernel in report["kernels"]] == [1] * len(report["kernels"])
    assert all(kernel["ms"] > 0 for kernel in report["kernels"])
    assert report["kernels"][0]["flop"] == 2 * 16 * 5 * 7 + 16 * 7
    text = fathom("explain", artifact, "--run", "--dim", "batch=16").out
    assert "roofline of this machine" in text and "first (MatMul): decides the kernel's loops" in text


def test_control_flow_is_host_code(fathom, save):
    branches = [helper.make_graph([helper.make_node(op, ["x"], ["r"], name=op)], op, [], [value("r", None)]) for op in ("Relu", "Neg")]
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1], name="choose")]
    model = make_model(nodes, [value("x", [3]), value("c", [], TensorProto.BOOL)], [value("y", None)])
    report = explained(fathom, save(model))
    assert {"op": "If", "node": "choose", "why": "host code around kernels"} in report["other_nodes"]


def test_bad_uses(fathom, save, tmp_path):
    artifact = str(tmp_path / "model.fathom")
    assert fathom("compile", save(gemm_model("batch")), "-o", artifact, "-q").code == 0
    fathom("explain", artifact, "--fp", "strict").expect(2, "F2001", "compiled already")
    fathom("explain").expect(2, "F2001", "MODEL is missing")
    fathom("explain", str(tmp_path / "absent.fathom")).expect(1, "F100")
