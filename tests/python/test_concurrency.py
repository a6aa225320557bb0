"""Models apart from what runs them: several sessions of one, several runs of one session, and sessions that are closed."""

import os
import threading

import fathom
import numpy as np
import pytest
from support.networks import perceptron


def run_together(works):
    """Calls all at the same time; what one raises is raised here."""
    problems, barrier = [], threading.Barrier(len(works))

    def call(work):
        try:
            barrier.wait()
            work()
        except BaseException as error:
            problems.append(error)

    workers = [threading.Thread(target=call, args=(work,)) for work in works]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if problems:
        raise problems[0]


def test_sessions_of_one_model(random):
    model = fathom.Model(fathom.compile(perceptron()))
    assert [info.name for info in model.inputs] == ["x"] and [info.name for info in model.outputs] == ["y", "r"]
    sessions = [fathom.Session(model, threads=count) for count in (1, 2, 1)]
    assert all(session.model is model for session in sessions)
    inputs = [random.standard_normal((n, 16)).astype(np.float32) for n in (1, 7, 13)]
    expected = [fathom.Session(model).run(["y"], {"x": x})[0] for x in inputs]

    def work(session, x, want):
        for _ in range(20):
            np.testing.assert_array_equal(session.run(["y"], {"x": x})[0], want)

    run_together([lambda i=i: work(sessions[i], inputs[i], expected[i]) for i in range(3)])


@pytest.mark.parametrize("limit", [1, 3])
def test_runs_of_one_session_have_contexts_up_to_a_limit(random, limit):
    session = fathom.Session(fathom.compile(perceptron(width=512)), threads=1, concurrency=limit)
    inputs = [random.standard_normal((n, 16)).astype(np.float32) for n in (97, 101, 103, 107, 109)]
    expected = [session.run(None, {"x": x}) for x in inputs]
    assert session._runner.contexts() == 1  # others come when they are needed

    def work(x, want):
        for _ in range(10):
            for got, other in zip(session.run(None, {"x": x}), want, strict=True):
                np.testing.assert_array_equal(got, other)

    for _ in range(200):
        run_together([lambda i=i: work(inputs[i], expected[i]) for i in range(len(inputs))])
        if limit == 1 or session._runner.contexts() > 1:
            break
    assert 1 < session._runner.contexts() <= limit or session._runner.contexts() == limit == 1


def test_a_session_that_runs_on_all_cpus_takes_turns():
    session = fathom.Session(fathom.compile(perceptron()))
    x = np.ones((3, 16), np.float32)
    run_together([lambda: [session.run(None, {"x": x}) for _ in range(50)]] * 4)
    assert session._runner.contexts() == 1


@pytest.mark.parametrize("count", [-1, 1 << 31, 1 << 40])
def test_impossible_concurrency(count):
    with pytest.raises(fathom.Error, match=f"F1012.*concurrency is {count}:"):
        fathom.Session(fathom.compile(perceptron()), concurrency=count)


def test_closing():
    model = fathom.Model(fathom.compile(perceptron()))
    x = np.ones((3, 16), np.float32)
    with fathom.Session(model) as session:
        want = session.run(None, {"x": x})
    for _ in range(2):
        with pytest.raises(fathom.Error, match="F1012.*the session is closed"):
            session.run(None, {"x": x})
        session.close()
    # Others go on.
    np.testing.assert_array_equal(fathom.Session(model).run(None, {"x": x})[0], want[0])


def test_a_closed_session_has_no_model():
    """Its file and its weights are freed, whoever still has the session; what it was can be asked."""
    session = fathom.Session(fathom.compile(perceptron()))
    path, before = session.model._artifact.path, repr(session)
    there = os.stat(path).st_ino
    session.close()
    assert not os.path.exists(path) or os.stat(path).st_ino != there
    assert repr(session) == before and [info.name for info in session.outputs] == ["y", "r"]
    with pytest.raises(fathom.Error, match="F1012.*the session is closed"):
        session.model.kernels


def test_kernels_and_texts_for_people():
    model = fathom.Model(fathom.compile(perceptron()))
    assert len(model.kernels) == len(model.manifest["kernels"]) > 0
    assert f"{len(model.kernels)} kernels" in repr(model)
    page = fathom.Session(model)._repr_html_()
    assert "<td>x</td>" in page and "[batch,16]" in page


def test_names_in_a_notebook_are_text():
    from onnx import helper
    from support.models import make_model, value

    name = "<script>alert(1)</script>"
    proto = make_model([helper.make_node("Relu", [name], ["y"])], [value(name, [2])], [value("y", [2])])
    page = fathom.Session(fathom.compile(proto))._repr_html_()
    assert "&lt;script&gt;" in page and "<script>" not in page
