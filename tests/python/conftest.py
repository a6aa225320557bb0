"""Finds the package: that of the build folder unless PYTHONPATH or the environment has another."""

import importlib.util
import os
import sys

import pytest
from networks import ROOT, perceptron

if importlib.util.find_spec("fathom") is None or importlib.util.find_spec("fathom._runtime") is None:
    sys.path.insert(0, os.environ.get("FATHOM_PACKAGE", str(ROOT / "build" / "python")))


@pytest.fixture
def model():
    return perceptron()
