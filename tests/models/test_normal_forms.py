"""Every network of the zoo as the text of a program, and as a graph again: the same one. Weights are sparse files, of which nothing depends."""
import json

import pytest
from support.sparse import sparse
from support.tool import ROOT, fathom, run_tool

NETWORKS = sorted(path.stem for path in (ROOT / "models").glob("*.onnx"))


@pytest.mark.parametrize("name", NETWORKS)
def test_round_trip(tmp_path, name):
    told = json.loads(fathom("passes", sparse(name, tmp_path), "--json", "--passes", "to-a-normal-form, to-graph-normal-form"))
    written, read = told["passes"]
    assert (written["pass"], read["pass"]) == ("to-a-normal-form", "to-graph-normal-form")
    assert written["changed"] and read["changed"]
    assert read["hash"] == told["hash"] != written["hash"]


def test_text(tmp_path):
    """What is printed is a program: each op bound by a let, operands named, weights parameters."""
    text = fathom("compile", sparse("resnet18", tmp_path), "--emit", "graph", "--passes", "to-a-normal-form")
    assert text.startswith("fn main(") and "weights: (Tensor[(" in text.split("{")[0]
    lets = [line for line in text.splitlines() if line.startswith("  let ")]
    assert sum(" Conv(" in line for line in lets) == 20
    assert all(line.count("(") >= 1 and line.endswith(";") for line in lets if "Conv" in line)


def test_passes_behind(tmp_path):
    """A graph that was a program goes on as any other; one that is a program does not."""
    model = sparse("wrn_40_2_s", tmp_path)
    plan = fathom("compile", model, "--target", "neoverse-v1", "--emit", "plan")
    default = fathom("passes").strip()
    again = fathom("compile", model, "--target", "neoverse-v1", "--emit", "plan", "--passes", f"to-a-normal-form, to-graph-normal-form, {default}")
    assert again == plan
    run_tool("compile", model, "--emit", "plan", "--passes", f"to-a-normal-form, {default}").expect(2, "[F2001]", "needs row-major", "'to-a-normal-form'")
