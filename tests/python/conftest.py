"""What the tests of the package share."""
import pytest
from support.networks import perceptron


@pytest.fixture
def model():
    return perceptron()
