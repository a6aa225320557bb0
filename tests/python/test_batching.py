"""Queues: results are those of a session, whoever else asks at the same time; what is refused, late or cancelled says so."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import CancelledError, wait

import fathom
import numpy as np
import pytest
from onnx import TensorProto, helper
from support.models import constant, make_model, node, value
from support.networks import perceptron


@pytest.fixture(scope="module")
def loaded():
    return fathom.Model(fathom.compile(perceptron(), dim={"batch": (1, 16)}))


def rows(random, count):
    return random.standard_normal((count, 16)).astype(np.float32)


def expect(session, x, results):
    for got, want in zip(results, session.run(None, {"x": x}), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        # Other sizes may be summed in another order, and what is summed has magnitudes of 10 and more.
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("max_batch", [1, 8])
def test_results_are_those_of_a_session(loaded, random, max_batch):
    session = fathom.Session(loaded)
    inputs = [rows(random, count) for count in (1, 3, 1, 16, 2, 1, 1, 7)]
    with fathom.Queue(loaded, max_batch=max_batch) as queue:
        futures = [queue.submit({"x": x}) for x in inputs]
        for x, future in zip(inputs, futures):
            expect(session, x, future.result())
        assert not np.array_equal(futures[0].result()[0], futures[2].result()[0])
        assert queue.stats()["completed"] == len(inputs)
    assert queue.stats()["runs"] <= len(inputs) and queue.stats()["pending"] == 0


def test_requests_are_joined(loaded, random):
    # For ever, if the run were not full.
    with fathom.Queue(loaded, max_batch=4, max_wait=3600, contexts=2, threads=1) as queue:
        inputs = [rows(random, 1) for _ in range(12)]
        futures = [queue.submit({"x": x}) for x in inputs]
        for x, future in zip(inputs, futures):
            expect(fathom.Session(loaded), x, future.result())
        assert queue.stats()["runs"] == 3


def test_many_threads_and_models_on_one_pool(random):
    pool = fathom.Pool(2)
    models = [fathom.Model(fathom.compile(perceptron(width=width), dim={"batch": (1, 8)})) for width in (24, 40)]
    sessions = [fathom.Session(model) for model in models]
    queues = [fathom.Queue(model, max_batch=8, pool=pool, contexts=2) for model in models]
    seeds = random.integers(1 << 30, size=6)
    problems = []

    def client(number):
        mine = np.random.default_rng(seeds[number])
        try:
            for _ in range(40):
                x = rows(mine, int(mine.integers(1, 4)))
                expect(sessions[number % 2], x, queues[number % 2].run({"x": x}))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(seeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert sum(queue.stats()["completed"] for queue in queues) == 40 * len(seeds)
    assert pool.threads == 2


def test_coroutines(loaded, random):
    inputs = [rows(random, 1) for _ in range(20)]

    async def ask(queue):
        return await asyncio.gather(*[asyncio.wrap_future(queue.submit({"x": x})) for x in inputs])

    with fathom.Queue(loaded, max_batch=16) as queue:
        for x, results in zip(inputs, asyncio.run(ask(queue))):
            expect(fathom.Session(loaded), x, results)


class Held:
    """A queue with a request that waits for others for an hour, so that there is one to be refused beside, or cancelled."""

    def __init__(self, model, **options):
        self.queue = fathom.Queue(model, max_batch=2, max_wait=3600, contexts=1, **options)
        self.waiting = self.queue.submit({"x": np.ones((1, 16), np.float32)})


def test_a_full_queue_refuses(loaded):
    held = Held(loaded, max_pending=1)
    with pytest.raises(fathom.Error, match=r"\[F5002\] the queue is full: 1 requests wait") as caught:
        held.queue.submit({"x": np.ones((1, 16), np.float32)})
    assert caught.value.exit_code == 5
    held.queue.close(drain=True)
    assert len(held.waiting.result()) == 2
    assert held.queue.stats()["refused"] == 1


@pytest.mark.parametrize("timeout", [-1, 0, 1e-6])
def test_deadlines(loaded, timeout):
    with fathom.Queue(loaded, max_batch=2) as queue:
        # One that comes in time may be run: at last one is late.
        for _ in range(1000):
            future = queue.submit({"x": np.ones((1, 16), np.float32)}, timeout=timeout)
            error = future.exception()
            if error:
                break
        assert isinstance(error, fathom.Error) and error.code == "F5003" and "deadline passed" in error.message
        assert queue.stats()["expired"] == 1
        assert len(queue.run({"x": np.ones((1, 16), np.float32)}, timeout=float("inf"))) == 2


def test_cancelling(loaded):
    held = Held(loaded)
    assert held.waiting.cancel()
    with pytest.raises(CancelledError):
        held.waiting.result()
    assert held.queue.stats()["cancelled"] == 1 and held.queue.stats()["pending"] == 0
    later = held.queue.submit({"x": np.ones((1, 16), np.float32)})
    held.queue.close(drain=False)
    assert later.exception().code == "F5004" and "was cancelled" in later.exception().message
    with pytest.raises(fathom.Error, match=r"\[F5004\] the queue is closed"):
        held.queue.submit({"x": np.ones((1, 16), np.float32)})


def test_what_is_left_alone_goes(loaded):
    held = Held(loaded)
    future, there = held.waiting, weakref.ref(held.queue)
    del held
    gc.collect()
    assert there() is None
    assert future.exception().code == "F5004"


@pytest.mark.parametrize("drops", [False, True])
def test_a_callback_may_end_the_queue(loaded, drops):
    """In a thread of the queue's, which cannot wait for itself."""
    for _ in range(20):
        queues, ended = [fathom.Queue(loaded, max_batch=2, max_wait=3600, contexts=2, threads=1)], threading.Event()

        def end(_):
            queues.clear() if drops else queues[0].close()
            ended.set()

        first = queues[0].submit({"x": np.ones((1, 16), np.float32)})
        first.add_done_callback(end)
        second = queues[0].submit({"x": np.ones((1, 16), np.float32)})  # which fills the run
        assert ended.wait(60)
        assert len(first.result()) == len(second.result()) == 2


def test_a_queue_that_several_threads_close(loaded):
    queue = fathom.Queue(loaded, contexts=3, threads=1)
    future = queue.submit({"x": np.ones((1, 16), np.float32)})
    closing = [threading.Thread(target=queue.close) for _ in range(4)]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join()
    assert len(future.result()) == 2 and queue.stats()["running"] == 0


def test_a_program_that_ends_with_requests_in_its_queue(tmp_path):
    fathom.compile(perceptron(), str(tmp_path / "m.fathom"))
    script = """if True:
        import fathom, numpy as np
        queue = fathom.Queue("m.fathom", max_batch=4, max_wait=3600)
        future = queue.submit({"x": np.ones((1, 16), np.float32)})
        future.add_done_callback(lambda ended: print(ended.exception().code))
    """
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout) == (0, "F5004\n"), result.stderr


def gather_model():
    table = constant("table", np.arange(30, dtype=np.float32).reshape(10, 3))
    graph_inputs = [value("ids", ["batch", 2], TensorProto.INT64)]
    return make_model([node("Gather", "table ids", "y", name="look")], graph_inputs, [value("y", ["batch", 2, 3])], [table])


def test_only_the_request_that_is_wrong_fails(random):
    model = fathom.Model(fathom.compile(gather_model(), dim={"batch": (1, 8)}))
    table = np.arange(30, dtype=np.float32).reshape(10, 3)
    with fathom.Queue(model, max_batch=4, max_wait=3600) as queue:
        ids = [random.integers(0, 10, (1, 2)) for _ in range(4)]
        ids[1][0, 1] = 99
        futures = [queue.submit({"ids": array}) for array in ids]
        wait(futures)
        for number in (0, 2, 3):
            np.testing.assert_array_equal(futures[number].result()[0], table[ids[number]])
        error = futures[1].exception()
        assert error.code == "F1012" and error.node == "look" and "an index is outside" in error.message


@pytest.mark.parametrize(
    "nodes, sizes",
    [([node("Transpose", "x", "y")], ["n", "batch"]), ([node("Transpose", "x", "t"), node("MatMul", "x t", "y")], ["batch", "other"])],
)
def test_sizes_that_are_those_of_a_batch_by_chance(nodes, sizes):
    model = make_model(nodes, [value("x", ["batch", "n"])], [value("y", sizes)])
    model = fathom.Model(fathom.compile(model, dim={"batch": (1, 8), "n": (1, 8)}))
    session = fathom.Session(model)
    with fathom.Queue(model, max_batch=2, max_wait=3600) as queue:
        inputs = [np.arange(2, dtype=np.float32).reshape(1, 2) + start for start in (0, 10)]
        futures = [queue.submit({"x": x}) for x in inputs]
        for x, future in zip(inputs, futures):
            np.testing.assert_array_equal(future.result()[0], session.run(None, {"x": x})[0], strict=True)


def test_wrong_inputs(loaded):
    with fathom.Queue(loaded) as queue:
        x = np.ones((1, 16), np.float32)
        for inputs, message in (
            ({}, "input 'x' is missing"),
            ({"x": x, "z": x}, "the model has no input 'z'"),
            ({"x": x.astype(np.float64)}, "input 'x' is float32, the array is float64"),
            ({"x": x[:, :5]}, r"input 'x' has shape \[batch,16\], the array \[1,5\]"),
            ({"x": np.ones((17, 16), np.float32)}, "got 17, compiled for 1 to 16"),
        ):
            with pytest.raises(fathom.Error, match=rf"\[F1012\] {message}|{message}"):
                queue.submit(inputs)
        # A strided one is copied.
        expect(fathom.Session(loaded), x, queue.run({"x": np.ones((1, 32), np.float32)[:, ::2]}))


@pytest.mark.parametrize(
    "options",
    [{"max_batch": 0}, {"max_wait": -1}, {"max_pending": 0}, {"threads": -1}, {"contexts": -1}, {"contexts": 5000}, {"device": -2}],
)
def test_impossible_options(loaded, options):
    with pytest.raises(fathom.Error, match=f"F1012.*{next(iter(options))} is {next(iter(options.values()))}: expected"):
        fathom.Queue(loaded, **options)
    with pytest.raises(fathom.Error, match="F1012.*threads is -5"):
        fathom.Pool(-5)


def test_results_that_cannot_be_made(loaded, monkeypatch):
    """Whoever waits is told."""

    class Full(list):
        def __iter__(self):
            raise MemoryError("no room")

    model = fathom.Model(loaded._artifact)
    with fathom.Queue(model) as queue:
        monkeypatch.setattr(model, "results", Full(model.results))
        with pytest.raises(MemoryError, match="no room"):
            queue.submit({"x": np.ones((1, 16), np.float32)}).result(60)


def test_strings_are_for_sessions():
    nodes = [node("Identity", "x", "y")]
    model = make_model(nodes, [value("x", ["n"], TensorProto.STRING)], [value("y", ["n"], TensorProto.STRING)])
    with pytest.raises(fathom.Error, match="F1012.*strings\nhint: run it by a fathom.Session"):
        fathom.Queue(fathom.compile(model))
