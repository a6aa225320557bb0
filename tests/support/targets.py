"""What tests compile for where they do not say it, and where the results are computed.

FATHOM_TEST_TARGET names a target for all of them; results of another architecture are computed under emulation. Without it, that is the
host. FATHOM_TEST_SAMPLE=N runs N of the cases of each kernel test, others with every seed.
"""
import contextlib
import os
import random

import emulation

import fathom

# One for each architecture. Their registers and vectors differ, and most machines of either can run them.
PINNED = {"aarch64": "neoverse-n1", "x86_64": "x86-64-v3"}
BOTH = ["neoverse-v1", "x86-64-v3"]
OTHER = PINNED["x86_64" if emulation.HOST == "aarch64" else "aarch64"]

_compile = fathom.compile
_current = [os.environ.get("FATHOM_TEST_TARGET")]


def of_tests():
    """The target of tests that speak of schedules and run what they compile."""
    return os.environ.get("FATHOM_TEST_TARGET") or PINNED[emulation.HOST]


@contextlib.contextmanager
def default(target):
    """What fathom.compile compiles for where it is not told."""
    _current.append(target)
    try:
        yield target
    finally:
        _current.pop()


def install():
    def compile(model, output=None, **options):
        if _current[-1]:
            options.setdefault("target", _current[-1])
        return _compile(model, output, **options)

    fathom.compile = compile
    emulation.install()


def sample(config, items):
    """Leaves FATHOM_TEST_SAMPLE cases of each test."""
    if not (size := int(os.environ.get("FATHOM_TEST_SAMPLE", 0))):
        return
    chance = random.Random(int(os.environ.get("FATHOM_TEST_SEED", 0)))
    cases = {}
    kernels = emulation.HERE.parent / "kernels"
    for item in (item for item in items if kernels in item.path.parents):
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = {id(item) for group in cases.values() for item in chance.sample(group, min(size, len(group)))}
    chosen |= {id(item) for item in items if kernels not in item.path.parents}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]
