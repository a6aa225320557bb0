"""Code for several CPUs of another architecture in one artifact: emulated CPUs take what they can run."""
import numpy as np
import pytest

import fathom
from support import emulation
from support.compare import assert_close
from test_cross import BATCH, model  # noqa: F401 the fixture

# The emulated CPU, and the code that it takes.
CASES = [
    ("aarch64", "neoverse-n1,neoverse-v1", "max", "neoverse-v1"),
    ("aarch64", "neoverse-v1,neoverse-n1", "neoverse-n1", "neoverse-n1"),
    ("x86_64", "x86-64-v2,x86-64-v3", "max", "x86-64-v3"),
    ("x86_64", "x86-64-v2,x86-64-v3", "Nehalem", "x86-64-v2"),
]


@pytest.mark.parametrize("architecture,cpus,emulated,taken", CASES)
def test_an_emulated_cpu_takes_the_best(model, architecture, cpus, emulated, taken):  # noqa: F811
    path, x, expected = model
    target = ",".join(f"{architecture}:{cpu}" for cpu in cpus.split(","))
    artifact = fathom.compile(path, target=target, db="none")
    session = emulation.session(artifact, 2, architecture, emulated)
    assert session.manifest["target"]["cpu"] == taken
    for result, reference in zip(session.run(None, {"x": x}), expected, strict=True):
        assert_close(result, reference, "network")
    # Each variant computes what it does alone.
    alone = emulation.session(fathom.compile(path, target=f"{architecture}:{taken}", db="none"), 2, architecture)
    for result, other in zip(session.run(None, {"x": x}), alone.run(None, {"x": x}), strict=True):
        assert np.array_equal(result, other)
    assert x.shape[0] == BATCH


def test_an_emulated_cpu_that_can_run_none(model):  # noqa: F811
    artifact = fathom.compile(model[0], target="aarch64:neoverse-n1,aarch64:neoverse-v1", db="none")
    with pytest.raises(fathom.Error, match="lacks: .*dotprod.* for neoverse-v1; .*dotprod.* for neoverse-n1"):
        emulation.session(artifact, 1, "aarch64", "cortex-a53")
