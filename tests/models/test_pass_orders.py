"""Random legal orders of random passes over whole networks: results stay within 1e-5 of the largest number of the default's.

`./dev test full` takes 500 of them over all of NETWORKS (FATHOM_NETWORK_ORDERS), the default run two, other ones with every seed. Passes that
are for less exact results have bounds and tests of their own (tests/kernels/test_fast_math.py, test_mixed_precision.py).
"""
import os
import random

import numpy as np
import pytest
from support.tool import fill

import fathom
from fathom.inputs import random_inputs

NETWORKS = """wrn_40_2_g8 mobilenet_v2 lstm_2x512 resnet18 gru_2x512 mnasnet1_0 googlenet efficientnet_b0 wrn_40_2_gn mobilebert_128""".split()
COUNT = int(os.environ.get("FATHOM_NETWORK_ORDERS", 2))
# Where so few orders are tried, each is of one of the first, small ones.
FEW, SMALL = 10, 3
# A test takes so many of them.
ORDERS = 10 if COUNT > FEW else 1

ROWS = """annotate-spans batching-ops canonicalize-cast canonicalize-ops combine-parallel-conv2d combine-parallel-dense dead-code-elimination
decompose-quantized dynamic-to-static eliminate-common-subexpr fold-constant fold-explicit-padding forward-fold-scale-axis hoist-invariants
name-ops nest-concats remove-unused-functions simplify-expr simplify-fc-transpose simplify-inference alter-op-layout""".split()
LAYOUTS = "place-pieces fuse-ops defuse-ops".split()


def random_order(chance):
    """A subset of the passes in any order, some of them twice; what each needs is put in front of it (`with:`)."""
    rows = chance.sample(ROWS, chance.randint(1, len(ROWS)))
    rows += chance.sample(rows, chance.randint(0, min(3, len(rows))))
    chance.shuffle(rows)
    return "with:" + ",".join(rows + [name for name in LAYOUTS if chance.random() < 0.5])


@pytest.mark.parametrize("number", range(-(-COUNT // ORDERS)))
def test_random_orders(number):
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.randrange(2**32)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    chance = random.Random(seed + number)
    model = fill(NETWORKS[number % len(NETWORKS)] if COUNT > FEW else chance.choice(NETWORKS[:SMALL]))
    session = fathom.Session(fathom.compile(model), threads=1)
    inputs = random_inputs(session, chance.randrange(1000))
    expected = session.run(None, inputs)
    for _ in range(min(ORDERS, COUNT)):
        order = random_order(chance)
        results = fathom.Session(fathom.compile(model, passes=order), threads=1).run(None, inputs)
        for got, want in zip(results, expected, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            gap, largest = np.abs(got.astype(np.float64) - want).max(initial=0), np.abs(want).max(initial=0)
            assert gap <= 1e-5 * largest, f"{gap} of {largest} on {model.stem}: {order}"
    # Not zeros alone, which any order would give.
    assert all(np.abs(want).max(initial=0) > 0 for want in expected)
