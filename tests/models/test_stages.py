"""Stages of whole networks, given back as they were printed: the artifact is the same, byte for byte."""
import filecmp

import pytest
from support.tool import fathom, fill

TARGETS = {"resnet18": "neoverse-n1", "mobilenet_v2.dynamic_batch": "x86-64-v3", "bert_base_128": "sapphirerapids", "gru_2x512": "neoverse-v1"}


@pytest.mark.parametrize("stage", ["graph", "kernels"])
@pytest.mark.parametrize("name, target", TARGETS.items())
def test_a_stage_leads_to_the_same_artifact(name, target, stage, tmp_path):
    words = ["compile", fill(name), "--target", target, "-q", "-o"]
    fathom(*words, tmp_path / "plain")
    fathom(*words, tmp_path / "text", "--emit", stage)
    fathom(*words, tmp_path / "again", f"--{stage}", tmp_path / "text")
    assert filecmp.cmp(tmp_path / "plain", tmp_path / "again", shallow=False)
