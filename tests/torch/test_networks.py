"""Networks of torchvision and transformers with random weights, as torch.compile runs them and as they are: of one size, and of any batch.

They are those of tests/exports, at small sizes. FATHOM_TEST_PART=N takes one network in N, others with every seed.
"""

import os
import random
import sys

import fathom.torch
import pytest
import torch
from fathom import dynamo
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "tests" / "exports"))
import export_networks  # noqa: E402

export_networks.load_all()

VISION = """
torchvision_resnet18 torchvision_mobilenet_v2 torchvision_mobilenet_v3_small torchvision_shufflenet_v2_x0_5 torchvision_shufflenet_v2_x1_5
torchvision_mnasnet0_5 torchvision_regnet_y_400mf torchvision_regnet_x_400mf torchvision_squeezenet1_1 torchvision_efficientnet_b0
torchvision_efficientnet_v2_s torchvision_densenet121 torchvision_googlenet torchvision_inception_v3 torchvision_resnext50_32x4d
torchvision_convnext_tiny torchvision_swin_t torchvision_vit torchvision_r3d_18 lraspp_mobilenet_v3_large
""".split()
TEXT = "bert roberta electra albert distilbert mpnet gpt_neo llama qwen2 opt".split()


def chosen():
    names = [*VISION, *TEXT]
    wanted = os.environ.get("FATHOM_NETWORKS")
    if wanted:
        return [name for name in names if name in wanted.split(",")]
    part = int(os.environ.get("FATHOM_TEST_PART", 1))
    return random.Random(int(os.environ.get("FATHOM_TEST_SEED", 0))).sample(names, -(-len(names) // part))


@pytest.mark.parametrize("name", chosen())
def test_network(name, monkeypatch):
    compiled = []

    class Program(dynamo.TensorProgram):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            compiled.append(self)

    monkeypatch.setattr(dynamo, "TensorProgram", Program)
    torch._dynamo.reset()
    torch.manual_seed(0)
    function, _ = export_networks.NETWORKS.get(f"{name}/new") or export_networks.NETWORKS[f"{name}/old"]
    module, feeds, _ = function()
    module.eval()
    with torch.no_grad():
        for weight in module.parameters():
            if not weight.any():  # a head that is to be trained first: nothing would get through it
                weight.normal_(std=0.02)
    first = list(feeds[0].values())
    # Other rows of the same sizes: the second batch makes it one that changes.
    batches = [[torch.cat([each] * rows).clone() for each in first] for rows in (1, 3, 5)]
    for batch in batches:
        for each in batch:
            each.copy_(torch.randint_like(each, 5, 99) if each.dtype is torch.int64 and each.max() > 1 else each)
            if each.is_floating_point():
                each.normal_()
    fast = torch.compile(module, backend="fathom", options={"tune": "off"})
    with torch.no_grad():
        for batch in batches:
            got, want = fast(*batch), module(*batch)
            scale = want.abs().max()
            assert got.shape == want.shape and got.dtype == want.dtype
            # Random weights without training amplify rounding: of the largest magnitude.
            assert (got - want).abs().max() <= export_networks.TOLERANCE * scale, name
            assert want.std() > 0
    assert compiled and any(isinstance(program.session.inputs[0].shape[0], str) for program in compiled)
