"""What is faster apart from a model is taken where it is so in the model, too; a database remembers that for this model alone."""
import json
import re
import sqlite3

import numpy as np
import pytest
from support import models
from support.plans import Plan


def network(path, consumer):
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x w", "product"), models.node(consumer, "product", "result")]
    model = models.model(nodes, [("x", models.FLOAT, [64, 256])], [("result", models.FLOAT, [64, 128])], {"w": models.floats(random, 256, 128)})
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def softmax(tmp_path):
    return network(tmp_path / "softmax.onnx", "Softmax")


def schedule_of(text, name):
    kernel = next(kernel for kernel in Plan(text).kernels if re.search(r"kernel: +(\S+)", kernel).group(1) == name)
    return {knob: int(value) for knob, value in re.findall(r"(?m)^ {6}(\w+): +(\d+)$", kernel.split("schedule:")[1])}


@pytest.fixture
def liar(fathom, softmax, tmp_path):
    """A database in which a product's second best schedule, by the draft, has the time of a miracle."""
    fathom("tune", softmax, "--tune", "measure:4", "--apart", "--db", "x.db", "-q").expect(0)
    draft = schedule_of(fathom("compile", softmax, "--db", "none", "--emit", "plan").expect(0).out, "product")
    with sqlite3.connect(tmp_path / "x.db") as database:
        rows = database.execute("select id, schedule from entries where class = 'contract'").fetchall()
        other = next(id for id, text in rows if {knob: int(value) for knob, value in re.findall(r"(\w+): (\d+)", text)} != draft)
        database.execute("update entries set nanoseconds = 1 where id = ?", [other])
    return draft


def test_a_time_apart_from_the_model_does_not_decide(fathom, softmax, tmp_path, liar):
    words = ["tune", softmax, "--tune", "measure:4", "--db", "x.db", "--json", "-q", "-o", "found.plan"]
    found = json.loads(fathom(*words, "--apart").expect(0).out)
    product = next(kernel for kernel in found["kernels"] if kernel["kernel"] == "product")
    assert found["model"] is None and product["in_place"] is None and product["best"] != liar
    found = json.loads(fathom(*words).expect(0).out)
    product = next(kernel for kernel in found["kernels"] if kernel["kernel"] == "product")
    # It seemed to be better, so that it was compared; and what is kept is what was faster there.
    place = product["in_place"]
    assert place and product["best_cost"] == 1
    assert product["planned"] == liar
    if not place["taken"]:
        assert product["best"] == liar
    else:
        assert place["best_ns"] < place["planned_ns"] and product["best"] != liar
    assert found["model"]["chosen_ns"] <= found["model"]["planned_ns"]
    assert schedule_of((tmp_path / "found.plan").read_text(), "product") == product["best"]
    # The database has the verdict, whatever it says of the kernel apart.
    compiled = fathom("compile", softmax, "--db", "x.db", "--emit", "plan").expect(0).out
    assert schedule_of(compiled, "product") == product["best"]
    # Another model has none, and goes by what is known of the kernel.
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("delete from entries where provenance like '%in its model'")
    alone = fathom("compile", softmax, "--db", "x.db", "--emit", "plan").expect(0).out
    assert schedule_of(alone, "product") != liar
