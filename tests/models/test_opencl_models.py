"""Whole networks on a device with OpenCL, PoCL's, against ONNX Runtime, and the same bits again.

FATHOM_MODELS picks models; where FATHOM_TEST_PART leaves some out there is one, another with every seed."""
import os
import tempfile

import pytest
from fathom_runtime import Context
from support.compare import assert_close
from support.tool import fill
from test_models import MODELS, SEEDS, Model, runtime, some

# Programs that were built before are taken from a cache, which must not outlive the compiler that made their source.
os.environ.setdefault("POCL_CACHE_DIR", tempfile.mkdtemp(prefix="pocl-"))

# What a CPU computes in seconds without vectors.
SMALL = [name for name in "resnet18 googlenet mobilenet_v2 mnasnet1_0 efficientnet_b0 wrn_40_2_s wrn_40_2_g8 wrn_40_2_gn lstm_2x512 gru_2x512".split() if name in MODELS]  # fmt: skip
CHOSEN = some(SMALL)[: 1 if os.environ.get("FATHOM_TEST_PART", "1") != "1" else None]

__all__ = ["runtime"]


@pytest.mark.parametrize("name", CHOSEN)
def test_results_of_a_device(name, runtime, tmp_path):
    fill(name)
    model = Model(name, tmp_path, "--target", "opencl")
    with Context(runtime, model.artifact, 1) as context:
        for seed in SEEDS[:2]:
            inputs = model.inputs(seed)
            expected = model.expected(inputs)
            outputs = context.run(inputs, expected)
            for got, want in zip(outputs, expected, strict=True):
                assert_close(got, want, "network", f"seed {seed}")
            for first, other in zip(outputs, context.run(inputs, expected), strict=True):
                assert first.tobytes() == other.tobytes(), "other bits in another run"
    model.artifact.unlink()
