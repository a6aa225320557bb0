"""What bench/tune/searches.py makes of the runs of searches."""
import importlib.util
import io
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def searches():
    spec = importlib.util.spec_from_file_location("searches", ROOT / "bench/tune/searches.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def runs(search, kernel, *costs):
    return [{"search": search, "kernel": kernel, "seed": i + 1, "best": cost, "costs": [cost] * 4, "seconds": 0.5} for i, cost in enumerate(costs)]


def test_medians_over_seeds_are_compared(searches):
    found = [*runs("random", "a", 200, 100, 900), *runs("random", "b", 50, 50, 50)]
    found += [*runs("genetic", "a", 100, 100, 100), *runs("genetic", "b", 100, 100, 1)]
    found += [*runs("better", "a", 100, 50, 1000), *runs("better", "b", 25, 25, 25)]
    out = io.StringIO()
    searches.report(found, out)
    rows = {line.split()[0]: line.split()[1:] for line in out.getvalue().splitlines()[1:]}
    assert rows["random"][:4] == ["1.000", "1.000", "1.000", "0/2"]
    assert rows["genetic"][:4] == ["2.000", "0.500", "1.000", "1/2"]
    # Genetic costs 100 and 100, of which this has one and four times as little.
    assert rows["better"] == ["2.000", "2.000", "2.000", "2/2", "2.000", "4", "0.50"]


def test_a_tie_is_not_ahead(searches):
    out = io.StringIO()
    searches.report([*runs("random", "a", 100), *runs("genetic", "a", 99.9)], out)
    assert out.getvalue().splitlines()[2].split()[1:4] == ["1.001", "1.001", "0/1"]
