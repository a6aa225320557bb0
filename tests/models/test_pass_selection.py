"""What is told of graphs by their features alone: classes of networks, and passes that change nothing, held against what the passes do.

The graphs of the zoo have sparse files for weights: nothing here depends on their values."""
import json
import os
import shutil
import subprocess
import sys

import onnx
import pytest
from onnx import helper
from support.models import make_model, value
from support.sparse import sparse
from support.tool import ROOT, fathom, run_tool

CLASSES = {
    "alexnet": "plain", "vgg16": "plain", "googlenet": "inception", "densenet161": "dense", "vit_b_16": "vision",
    "resnet18": "RN", "resnet34": "RN", "resnet50": "RN", "resnet50.dynamo": "RN",
    "wrn_40_2_s": "RN", "wrn_40_2_g2": "RN", "wrn_40_2_g4": "RN", "wrn_40_2_g8": "RN", "wrn_40_2_g16": "RN", "wrn_40_2_gn": "MN",
    "mobilenet_v2": "MN", "mobilenet_v2.dynamic_batch": "MN", "mobilenet_v2.train_bn": "MN", "mnasnet1_0": "MN",
    "efficientnet_b0": "MN", "efficientnet_b4": "MN", "ssd300_vgg16": "SSD", "ssdlite320_mobilenet_v3_large": "MN SSD",
    "bert_base_128": "BR", "bert_base_256": "BR", "bert_base_dynamic": "BR", "mobilebert_128": "BR", "mobilebert_256": "BR",
    "lstm_2x512": "recurrent", "gru_2x512": "recurrent",
}  # fmt: skip
# One of each kind, unless all are asked for.
FEW = "resnet18 mobilenet_v2.dynamic_batch mobilenet_v2.train_bn googlenet bert_base_128 lstm_2x512 vit_b_16".split()
HELD = list(CLASSES) if os.environ.get("FATHOM_PASSES_ALL") else FEW

# All passes on graphs without layouts, in an order in which each gets what it needs.
ROWS = """decompose-quantized canonicalize-ops eliminate-common-subexpr dead-code-elimination hoist-invariants fold-explicit-padding
simplify-inference forward-fold-scale-axis simplify-expr canonicalize-cast simplify-fc-transpose nest-concats fold-constant dynamic-to-static
remove-unused-functions combine-parallel-conv2d batching-ops combine-parallel-dense fast-math to-mixed-precision canonicalize-ops""".split()


def told(model, *options):
    return json.loads(fathom("passes", model, "--json", *options))


@pytest.mark.parametrize("name", CLASSES)
def test_classes(tmp_path, name):
    said = told(sparse(name, tmp_path), "--why")["classes"]
    assert sorted(said) == sorted(CLASSES[name].split())
    assert all(any(c.isdigit() for c in why) for why in said.values())


def test_decoder_is_one(tmp_path):
    subprocess.run([sys.executable, ROOT / "models" / "make_decoder.py", tmp_path / "d.onnx"], check=True)
    assert list(told(tmp_path / "d.onnx", "--why")["classes"]) == ["decoder"]


def test_names_do_not_count(tmp_path):
    """The zoo's names are nowhere looked at: a graph under another's name is of its own class."""
    shutil.move(sparse("googlenet", tmp_path), tmp_path / "resnet50.onnx")
    assert list(told(tmp_path / "resnet50.onnx", "--why")["classes"]) == ["inception"]


def test_of_no_class(tmp_path):
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [3])], [value("y", [3])], opset=17)
    onnx.save(model, tmp_path / "relu.onnx")
    assert run_tool("passes", tmp_path / "relu.onnx", "--why").expect(0).out.startswith("of no class that is known\n")


@pytest.mark.parametrize("name", HELD)
def test_idle_passes_change_nothing(tmp_path, name):
    """A pass that cannot change the graph, wherever among all others it runs, leaves it as it is at every place of the sequence; and what
    does not apply at a place changes nothing there."""
    model = sparse(name, tmp_path)
    idle = list(told(model, "--why", "--passes", ",".join(ROWS))["idle"])
    sequence = [*idle, *(step for one in ROWS for step in (one, *idle))]
    steps = told(model, "--passes", ",".join(sequence))["passes"]
    assert [step["pass"] for step in steps] == sequence
    assert not [step["pass"] for step in steps if step["changed"] and (step["pass"] in idle or not step["applicable"])]
    assert idle and any(step["changed"] for step in steps)
