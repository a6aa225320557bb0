"""Training steps of Fathom beside PyTorch's, from the same weights on the same batches."""

import copy
import os

import fathom
import numpy as np
import pytest
import torch
from training import NETWORKS, batches, export, optimizer, step_of

# The exporter tells that counters of steps are not kept, which nothing reads.
pytestmark = pytest.mark.filterwarnings("ignore")
# 100 steps in full runs.
STEPS = 100 // int(os.environ.get("FATHOM_TEST_PART", 1))


def losses_of_torch(network, draw, classes, text, dtype, steps):
    network = copy.deepcopy(network).to(dtype).train()
    optimizing = optimizer(network, text)
    return [step_of(network, optimizing, x, y) for x, y in batches(draw, classes, steps, dtype)]


def losses_of_fathom(network, draw, classes, text, dtype, steps, path):
    network = copy.deepcopy(network).to(dtype)
    export(network, next(batches(draw, classes, 1, dtype))[0], path)
    trainer = fathom.Trainer(path, loss="cross-entropy:logits:labels", train=text)
    return [trainer.step({"x": x.numpy(), "labels": y.numpy()}) for x, y in batches(draw, classes, steps, dtype)]


@pytest.fixture(params=NETWORKS)
def chosen(request):
    make, text = NETWORKS[request.param]
    torch.manual_seed(int(os.environ.get("FATHOM_TEST_SEED", 0)))
    return *make(), text


def test_in_double_precision_losses_are_those_of_torch(chosen, tmp_path):
    network, draw, classes, text = chosen
    want = losses_of_torch(network, draw, classes, text, torch.float64, STEPS)
    got = losses_of_fathom(network, draw, classes, text, torch.float64, STEPS, tmp_path / "model.onnx")
    assert want[-1] < want[0]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def test_in_single_precision_losses_are_as_near_as_those_of_torch_to_each_other(chosen, tmp_path):
    """Rounding grows with every step; how much, PyTorch shows on weights that differ by 1e-7 of their size."""
    network, draw, classes, text = chosen
    steps = min(STEPS, 40)
    want = np.array(losses_of_torch(network, draw, classes, text, torch.float32, steps))
    others = []
    for _ in range(3):
        other = copy.deepcopy(network)
        with torch.no_grad():
            for weight in other.parameters():
                weight *= 1 + 1e-7 * torch.randn_like(weight)
        others.append(losses_of_torch(other, draw, classes, text, torch.float32, steps))
    spread = np.maximum.accumulate(np.abs(np.array(others) - want).max(0))
    got = np.array(losses_of_fathom(network, draw, classes, text, torch.float32, steps, tmp_path / "model.onnx"))
    # Three others are few: their spread is a draw itself.
    assert (np.abs(got - want) <= 4 * spread + 1e-5 * want).all(), (np.abs(got - want) / (spread + 1e-9)).round(1)
