"""Ctrl-C: it ends a compilation and a run at once, nothing is left behind, and what comes next works."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.networks import many_products, perceptron
from onnx import TensorProto, helper, numpy_helper

import fathom


@pytest.fixture
def interrupt():
    """Ctrl-C in a moment. What it interrupts would take much longer."""
    # A process that others started in the background does not heed it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers = []

    def soon(seconds=0.4):
        timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield soon
    for timer in timers:
        timer.cancel()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_compilation(interrupt, tmp_path, in_memory):
    model = many_products(60)
    open_before = len(os.listdir("/proc/self/fd"))
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        fathom.compile(model, None if in_memory else tmp_path / "x.fathom", jobs=1)
    # The next one is not disturbed by what was left, and behind it nothing is.
    x = np.ones((2, 16), np.float32)
    assert fathom.Session(fathom.compile(perceptron())).run(None, {"x": x})[0].shape[0] == 2
    while len(os.listdir("/proc/self/fd")) > open_before:
        time.sleep(0.05)
    assert not os.listdir(tmp_path)


def test_an_exception_of_a_handler(tmp_path):
    """Whatever a signal's handler raises ends the compilation."""

    def handler(*_):
        raise TimeoutError("too slow")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(TimeoutError, match="too slow"):
            fathom.compile(many_products(60), tmp_path / "x.fathom", jobs=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not (tmp_path / "x.fathom").exists()


def test_a_handler_that_raises_nothing():
    """The compilation goes on."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        artifact = fathom.compile(many_products(6), jobs=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fathom.Session(artifact).outputs


def loop():
    """A model that multiplies as often as it is told to, and an input that stays what it is."""
    infos = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("state", TensorProto.FLOAT, [64, 64])]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["still"]), helper.make_node("MatMul", ["state", "w"], ["next"])],
        "body",
        [helper.make_tensor_value_info(*info) for info in infos],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [64, 64])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
        "g",
        [helper.make_tensor_value_info("times", TensorProto.INT64, []), helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 64])],
        [numpy_helper.from_array(np.eye(64, dtype=np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


def test_a_run(interrupt):
    """A loop of a thousand million iterations; the session can be used again."""
    model, x = loop()
    for threads in (1, 2):
        session = fathom.Session(fathom.compile(model), threads=threads)
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            session.run(None, {"times": np.array(10**9), "x": x})
        np.testing.assert_array_equal(session.run(None, {"times": np.array(3), "x": x})[0], x)


def test_a_run_that_waits_for_its_turn(interrupt):
    """Until another thread's, which signals do not reach, has ended."""
    model, x = loop()
    session = fathom.Session(fathom.compile(model), threads=1, concurrency=1)
    start = time.monotonic()
    session.run(None, {"times": np.array(20000), "x": x})
    times = int(20000 * 3 / (time.monotonic() - start))  # of three seconds
    other = threading.Thread(target=session.run, args=(None, {"times": np.array(times), "x": x}))
    other.start()
    time.sleep(0.2)
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        session.run(None, {"times": np.array(3), "x": x})
    assert other.is_alive()
    other.join()
    np.testing.assert_array_equal(session.run(None, {"times": np.array(3), "x": x})[0], x)


def test_a_process_ends_by_it(tmp_path):
    """What the compiler is in the middle of does not crash the process on its way out."""
    path = tmp_path / "m.onnx"
    path.write_bytes(many_products(60).SerializeToString())
    script = f"import fathom, signal; signal.signal(2, signal.default_int_handler); print('ready', flush=True); fathom.compile({str(path)!r}, 'x.fathom')"
    words = [sys.executable, "-c", script]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": ":".join(sys.path)}
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode in (-signal.SIGINT, 130) and "KeyboardInterrupt" in said
    assert os.listdir(tmp_path) == ["m.onnx"]
