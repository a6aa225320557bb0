"""The passes that give up exactness, on networks that they change, against ONNX Runtime: off by more than usual, and not by more than they say."""
import json
import os
import random

import numpy as np
import onnxruntime
import pytest
from support.tool import fathom as tool
from support.tool import fill

import fathom
from fathom.inputs import random_inputs

# Of the largest number of an output: roundings of 40 layers of halves, and functions within 3e-5 that others follow.
ALLOWED = {"fast-math": 3e-4, "to-mixed-precision": 0.02, "to-mixed-precision{type=bf16}": 0.16}
# With its seeded weights wrn_40_2_g8 has numbers up to 7e6, which f16 has not.
CASES = [("lstm_2x512", "fast-math"), ("lstm_2x512", "to-mixed-precision"), ("wrn_40_2_g8", "to-mixed-precision{type=bf16}")]


@pytest.mark.parametrize("name, change", CASES)
def test_networks(name, change):
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    model = fill(name)
    told = json.loads(tool("passes", model, "--passes", f"default+{change}", "--json"))["passes"]
    assert any(step["changed"] for step in told if step["pass"] == change.split("{")[0])
    exact = fathom.Session(fathom.compile(model), threads=1)
    session = fathom.Session(fathom.compile(model, passes=f"default+{change}"), threads=1)
    inputs = random_inputs(session, seed % 1000)
    expected = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, inputs)
    usual = exact.run(None, inputs)
    for got, before, want in zip(session.run(None, inputs), usual, expected, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        gap, largest = np.abs(got - want).max(), np.abs(want).max()
        print(f"off by {gap / largest:.2g} of the largest, {np.abs(before - want).max() / largest:.2g} without")
        assert 0 < gap <= ALLOWED[change] * largest
        assert got.tobytes() != before.tobytes()
