"""Which tests and cases run, where not all do: others with every seed.

FATHOM_TEST_SAMPLE=N runs N of the cases of each kernel test, FATHOM_TEST_ONE_IN=N one test in N of every folder. With FATHOM_TEST_TARGET, tests that
compile for both architectures whatever it says are left out: they would do again what they do without it.
"""
import os
import random

from support.tool import ROOT

KERNELS = ROOT / "tests" / "kernels"


def chosen(groups, chance):
    """Of the cases of each test, by its name, those that run."""
    one_in, size = (int(os.environ.get(name, 0)) for name in ("FATHOM_TEST_ONE_IN", "FATHOM_TEST_SAMPLE"))
    names = list(groups)
    if one_in > 1:
        names = chance.sample(names, -(-len(names) // one_in))
    for name in names:
        cases = groups[name]
        is_sampled = size and (one_in or KERNELS in cases[0].path.parents)
        yield from chance.sample(cases, min(size, len(cases))) if is_sampled else cases


def sample(config, items):
    chance = random.Random(int(os.environ.get("FATHOM_TEST_SEED", 0)))
    groups = {}
    is_repeated = bool(os.environ.get("FATHOM_TEST_TARGET"))
    for item in items:
        if is_repeated and "both" in item.fixturenames:
            continue
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = {id(item) for item in chosen(groups, chance)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
