"""What tests compile for where they do not say it, and where the results are computed.

FATHOM_TEST_TARGET names a target for all of them; results of another architecture are computed under emulation. Without it, that is the
host.
"""
import contextlib
import os

import fathom
from support import emulation

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
