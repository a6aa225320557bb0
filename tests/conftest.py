"""Fixtures and choices of all tests in Python; what they import is in support/."""
import importlib.util
import os
import random
import sys

import numpy as np
import pytest
from support import sampling
from support.tool import BUILD

# The package: that of the build folder unless PYTHONPATH or the environment has another.
if importlib.util.find_spec("fathom") is None or importlib.util.find_spec("fathom._runtime") is None:
    sys.path.insert(0, os.environ.get("FATHOM_PACKAGE", str(BUILD / "python")))

# What somebody tuned on this machine changes no test.
os.environ["FATHOM_DB"] = "none"


def pytest_collection_modifyitems(config, items):
    sampling.sample(config, items)


@pytest.fixture
def seed():
    """A fresh seed for every run, printed with a failure; FATHOM_TEST_SEED repeats one."""
    value = int(os.environ.get("FATHOM_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={value}")
    return value


@pytest.fixture(name="random")
def numbers(seed):
    """Random numbers that are fresh in every run."""
    return np.random.default_rng(seed)
