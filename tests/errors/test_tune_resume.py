"""Tuning that ends before time: what was measured stays, and the same command goes on from there."""
import json
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from support import models
from support.tool import TOOL


@pytest.fixture
def network(tmp_path):
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x w", "product")]
    model = models.model(nodes, [("x", models.FLOAT, [48, 96])], [("product", models.FLOAT, [48, 64])], {"w": models.floats(random, 96, 64)})
    path = tmp_path / "network.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def kernels_of(result):
    return {kernel["kernel"]: kernel for kernel in json.loads(result.out)["kernels"]}


def entries(path):
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return database.execute("select count(*) from entries").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def tune(fathom, network, *words):
    return kernels_of(fathom("tune", network, "--db", "x.db", "--json", "-q", *words).expect(0))


def test_what_was_measured_is_not_measured_again(fathom, network):
    words = ["--tune", "measure:3", "--search", "evolution", "--apart"]  # what whole models take is measured anew
    first, second = tune(fathom, network, *words), tune(fathom, network, *words)
    again = tune(fathom, network, "--tune", "measure:1", "--again")
    for name, kernel in first.items():
        assert kernel["known"] == again[name]["known"] == 0 and again[name]["trials"] == 1
        # The same candidates come in the same order, and all are known: so is the result.
        assert second[name]["known"] == second[name]["trials"] == kernel["trials"]
        assert second[name]["best"] == kernel["best"]
        assert second[name]["best_cost"] == pytest.approx(kernel["best_cost"], rel=1e-9)  # cycles, of nanoseconds


def test_an_interrupt_keeps_what_was_found(fathom, network, tmp_path):
    command = [TOOL, "tune", network, "--db", "x.db", "--tune", "measure:2000", "-o", "found.plan"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not entries(tmp_path / "x.db") and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "product" in out and "ratio" in out and "goes on" in err
    # What is there is whole, and nothing else is: a plan, and a database whose entries are as good as any.
    found = entries(tmp_path / "x.db")
    assert found > 0
    fathom("compile", network, "--plan", "found.plan", "--db", "none", "-q", "-o", "a.fathom").expect(0)
    fathom("compile", network, "--db", "x.db", "-q", "-o", "b.fathom").expect(0)
    resumed = tune(fathom, network, "--tune", "measure:2000", "--tune-time", "3")
    assert sum(kernel["known"] for kernel in resumed.values()) == found


def test_time_is_heeded(fathom, network):
    """No candidates are begun behind it; those at hand are finished."""
    found = tune(fathom, network, "--tune", "measure:2000", "--tune-time", "1")
    assert sum(kernel["trials"] for kernel in found.values()) < 2000
