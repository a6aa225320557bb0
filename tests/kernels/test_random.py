"""Random numbers: their distribution, and that they are the same in every run but differ from node to node."""
import numpy as np
import pytest

import fathom
from support.models import FLOAT, INT64, model, node

COUNT = 200_003


def run(proto, feed, **options):
    artifact = fathom.compile(proto, **options)
    one, two = (fathom.Session(artifact, threads=threads) for threads in (1, 2))
    results = one.run(None, feed)
    for result, again, other in zip(results, one.run(None, feed), two.run(None, feed), strict=True):
        assert result.tobytes() == again.tobytes() == other.tobytes()
    return results


def test_uniform_and_normal():
    like = ("x", FLOAT, ["n"])
    proto = model([node("RandomUniformLike", "x", "u", low=-1.0, high=3.0), node("RandomNormalLike", "x", "z", mean=2.0, scale=0.5),
                   node("RandomNormalLike", "x", "w")], [like], [("u", FLOAT), ("z", FLOAT), ("w", FLOAT)])
    uniform, normal, other = run(proto, {"x": np.zeros(COUNT, np.float32)})
    assert uniform.min() >= -1 and uniform.max() <= 3
    counts, _ = np.histogram(uniform, 16, (-1, 3))
    np.testing.assert_allclose(counts, COUNT / 16, rtol=0.05)
    standard = (normal.astype(np.float64) - 2) / 0.5
    np.testing.assert_allclose([standard.mean(), standard.std(), (standard**3).mean(), (standard**4).mean()], [0, 1, 0, 3],
                               atol=0.05)
    # Neither neighbours nor two nodes have anything to do with each other.
    for a, b in [(standard[:-1], standard[1:]), (standard, other), (uniform, other)]:
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.01
    assert len(np.unique(other)) > 0.9 * COUNT


def test_seeds_and_sizes():
    def noise(**attributes):
        proto = model([node("RandomNormal", "", "y", shape=[3, 1, 7], **attributes)], [], [("y", FLOAT)])
        return run(proto, {})[0]

    assert noise().shape == (3, 1, 7)
    assert noise(seed=1.0).tobytes() == noise(seed=1.0).tobytes()
    assert noise(seed=1.0).tobytes() != noise(seed=2.0).tobytes()
    proto = model([node("RandomUniformLike", "x", "y")], [("x", FLOAT, ["a", "b"])], [("y", FLOAT)])
    assert run(proto, {"x": np.zeros((0, 3), np.float32)}, dim={"a": (0, 9)})[0].shape == (0, 3)


def test_bernoulli():
    proto = model([node("Bernoulli", "x", "y")], [("x", FLOAT, [3, "n"])], [("y", FLOAT)])
    odds = np.array([[0.0], [0.3], [1.0]], np.float32) * np.ones((1, COUNT), np.float32)
    [hits] = run(proto, {"x": odds})
    assert set(np.unique(hits)) == {0.0, 1.0}
    np.testing.assert_allclose(hits.mean(axis=1), [0, 0.3, 1], atol=0.01)


def test_multinomial():
    proto = model([node("Multinomial", "x", "y", sample_size=COUNT // 10, dtype=INT64)], [("x", FLOAT, ["n", 4])],
                  [("y", INT64)])
    odds = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], np.float32)
    [chosen] = run(proto, {"x": np.log(odds)})
    for row, want in zip(chosen, odds, strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / row.size, want, atol=0.02)


@pytest.mark.parametrize("attributes, words", [({"shape": [-3]}, "holds -3"), ({}, "missing"), ({"shape": [2], "dtype": 7}, "floats")],
                         ids=str)
def test_bad_attributes(attributes, words):
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(model([node("RandomNormal", "", "y", **attributes)], [], [("y", FLOAT)]))
