"""What kernel tests compile for."""
import pytest
from support import targets

targets.install()


@pytest.fixture
def pinned(request):
    """The test compiles for a CPU that is the same on every machine of the architecture: what it says of schedules holds on all."""
    if "both" in request.fixturenames:
        yield
        return
    with targets.default(targets.of_tests()) as target:
        yield target


@pytest.fixture(params=targets.BOTH)
def both(request):
    """The test compiles for both architectures, whatever this machine is."""
    with targets.default(request.param) as target:
        yield target
