"""Tasks of the same rows, which pack or transform them once for a run of any length: every grid, and every number of threads."""
import hostile_launch
import numpy as np
import onnxruntime
import pytest
from onnx import helper

import fathom
from support import emulation
from support.compare import assert_close
from support.models import model_of
from support.plans import Plan


def results(model, feed, tmp_path, knobs, random, **options):
    """Of one, two, three and seven threads, and of runs in any order: the same bytes, and ONNX Runtime's values."""
    artifact = Plan.of(model, **options).with_knobs(knobs).compile(model, tmp_path, **options)
    one, *others = (fathom.Session(artifact, threads=threads).run(None, feed) for threads in (1, 2, 3, 7))
    for other in others:
        for x, y in zip(one, other, strict=True):
            assert x.tobytes() == y.tobytes(), "results depend on the thread count"
    # The host of hostile_launch is this process, so that it runs what this machine can run.
    for _ in range(40 if emulation.architecture_of(artifact.path) == emulation.HOST else 0):
        again = [np.full_like(x, np.nan) for x in one]
        hostile_launch.run(artifact.path, list(feed.values()), again, random)
        for x, y in zip(one, again, strict=True):
            assert x.tobytes() == y.tobytes(), "results depend on the order of runs"
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(one, session.run(None, feed), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        assert_close(got, want, "convolution" if "conv_algorithm" in options else "chain")


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("task_m", [4, 8, 1000])
@pytest.mark.parametrize("task_n", [1, 2, 5, 1000])
@pytest.mark.parametrize("block_k", [16, 1000])
def test_packed_rows(task_m, task_n, block_k, tmp_path, random):
    """A producer that is computed while rows are packed, and partial sums of several blocks."""
    rows, depth, columns = (int(random.choice(sizes)) for sizes in ([1, 7, 29], [5, 37, 64], [2, 8, 61, 96]))
    x = random.standard_normal((rows, depth)).astype(np.float32)
    w = (random.standard_normal((depth, columns)) / np.sqrt(depth)).astype(np.float32)
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("MatMul", ["r", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["y"])]
    knobs = dict(pack_a=1, tile_m=4, tile_n=8, unroll_k=4, load_ahead=0, rows_outer=0, streams=1, fetch_ahead=0, block_k=block_k, task_m=task_m, task_n=task_n)
    results(model_of(nodes, {"x": x}, {"w": w}), {"x": x}, tmp_path, knobs, random)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("depth", [1024, 2048, 2500])
def test_packed_rows_a_power_of_two_long(depth, tmp_path, random):
    """Blocks of 4 KiB would meet in the sets of a cache: they lie further apart than they are long."""
    x = random.standard_normal((int(random.choice([13, 27, 31])), depth)).astype(np.float32)
    w = (random.standard_normal((depth, 37)) / np.sqrt(depth)).astype(np.float32)
    knobs = dict(pack_a=1, tile_m=12, tile_n=8, unroll_k=4, load_ahead=0, rows_outer=0, streams=1, fetch_ahead=0, block_k=1024, task_m=24, task_n=2)
    results(model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, {"w": w}), {"x": x}, tmp_path, knobs, random)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("task_m", [4, 1000])
@pytest.mark.parametrize("task_n", [1, 3])
def test_packed_rows_of_a_batch(task_m, task_n, tmp_path, random):
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((3, 9, 20), (3, 20, 33)))
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"])]
    knobs = dict(pack_a=1, tile_m=4, tile_n=8, unroll_k=4, load_ahead=0, rows_outer=0, streams=1, fetch_ahead=0, block_k=20, task_m=task_m, task_n=task_n)
    results(model_of(nodes, {"a": a, "b": b}, {}), {"a": a, "b": b}, tmp_path, knobs, random)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("task_n", [1, 2, 1000])
@pytest.mark.parametrize("task_t", [2, 6, 1000])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("algorithm", ["winograd2", "winograd4"])
def test_transformed_tiles(algorithm, batch, task_t, task_n, tmp_path, random):
    """The first convolution writes the halo of the second, a part of it with every run. Tiles that do not fill the last block, nor the last pair."""
    channels, size = int(random.choice([3, 17, 40])), int(random.choice([4, 7, 11, 19]))
    x = random.standard_normal((batch, channels, size, size)).astype(np.float32)
    w = (random.standard_normal((channels, channels, 3, 3)) / (3 * np.sqrt(channels))).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Conv", ["r", "w"], ["y"], pads=[1] * 4)]
    results(model_of(nodes, {"x": x}, {"w": w}), {"x": x}, tmp_path, dict(tile_m=2, load_ahead=0, task_t=task_t, task_n=task_n), random, conv_algorithm=algorithm)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_of_several_faults(threads, random):
    """An index outside, in a run of many tasks and at its ends, is the caller's error at every number of threads."""
    table = random.standard_normal((10, 3)).astype(np.float32)
    good = random.integers(0, 10, 5000)
    artifact = fathom.compile(model_of([helper.make_node("Gather", ["table", "ids"], ["y"], name="lookup")], {"ids": good}, {"table": table}))
    session = fathom.Session(artifact, threads=threads)
    for place in (0, 1, 2499, 2500, 4999):
        bad = good.copy()
        bad[place] = 10
        with pytest.raises(fathom.Error, match="lookup"):
            session.run(None, {"ids": bad})
        np.testing.assert_array_equal(session.run(None, {"ids": good})[0], table[good])
