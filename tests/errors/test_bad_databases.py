"""Compiling and tuning with databases that cannot be used: a warning with its code, and the draft's choice."""
import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import numpy as np
import pytest
from support import board, models
from support.tool import TOOL


@pytest.fixture
def network(save):
    weights = {"w": models.floats(np.random.default_rng(5), 4, 4)}
    return save(models.model([models.node("MatMul", "x w", "y")], [("x", models.FLOAT, [4, 4])], [("y", models.FLOAT, [4, 4])], weights))


@pytest.fixture
def filled(fathom, network, tmp_path):
    """A database whose best schedule is another than the draft's."""
    words = ["tune", network, "--tune", "measure:8", "--measure-on", "ssh://board", "--db", "x.db", "-q"]
    fathom(*words, env=board.environment(tmp_path)).expect(0)
    draft = fathom("compile", network, "--emit", "plan", "--db", "none").expect(0).out
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        ids = [id_ for (id_,) in connection.execute("SELECT id FROM entries ORDER BY id")]
    for id_ in ids:
        change(tmp_path / "x.db", f"UPDATE entries SET nanoseconds = CASE WHEN id = '{id_}' THEN 1 ELSE 1000000 END")
        if fathom("compile", network, "--emit", "plan", "--db", "x.db").expect(0).out != draft:
            break
    return tmp_path / "x.db", draft


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def contents(path):
    """What is in it, as statements; of what is no database its bytes."""
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return [connection.execute("PRAGMA user_version").fetchone(), *connection.iterdump()]
    except sqlite3.DatabaseError:
        return path.read_bytes()


def newer(path):
    change(path, "PRAGMA user_version = 99")


def cut(path):
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path):
    """All but the first page, which says what the file is."""
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\x55" * (len(data) - 4096))


def another_program(path):
    path.unlink()
    change(path, "CREATE TABLE songs (name TEXT)")


def without_a_table(path):
    change(path, "DROP TABLE entries")


def unreadable_entry(path):
    change(path, "UPDATE entries SET schedule = 'tile_m'")


def folder(path):
    path.unlink()
    path.mkdir()


def unknown_knob(path):
    change(path, "UPDATE entries SET schedule = 'no_such_knob: 3'")


def value_out_of_range(path):
    change(path, "UPDATE entries SET schedule = 'tile_m: 31, tile_n: 31'")


def other_class(path):
    change(path, "UPDATE entries SET class = 'reduce'")


@pytest.mark.parametrize(
    "damage, code, said",
    [
        (newer, "F1015", "has version 99"),
        (cut, "F1015", "cannot be used as a database"),
        (overwritten, "F1015", "cannot be used as a database"),
        (another_program, "F1015", "not one of schedules"),
        (without_a_table, "F1015", "no such table"),
        (folder, "F1001", "not a regular file"),
        (unreadable_entry, "F1016", "its schedule cannot be read"),
        (unknown_knob, "F1016", "no_such_knob"),
        (value_out_of_range, "F1016", "kernel 'y'"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_used(fathom, network, filled, damage, code, said):
    path, draft = filled
    assert fathom("compile", network, "--emit", "plan", "--db", path).expect(0).err == ""
    damage(path)
    result = fathom("compile", network, "--emit", "plan", "--db", path).expect(0, f"warning: [{code}]", said, "going on without it")
    assert result.out == draft and result.err.count("warning") == 1
    fathom("compile", network, "-o", "x.fathom", "--db", path).expect(0)


def test_entries_of_other_kernels_are_none(fathom, network, filled):
    path, draft = filled
    other_class(path)
    assert fathom("compile", network, "--emit", "plan", "--db", path).expect(0).out == draft


@pytest.mark.parametrize("damage, code", [(newer, "F1015"), (cut, "F1015"), (folder, "F1001")])
def test_tuning_goes_on_without(fathom, network, filled, tmp_path, damage, code):
    path, _ = filled
    damage(path)
    before = contents(path)
    words = ["tune", network, "--tune", "measure:4", "--measure-on", "ssh://board", "--db", path, "-q"]
    result = fathom(*words, env=board.environment(tmp_path)).expect(0, f"warning: [{code}]", "going on without it")
    assert "contract" in result.out
    assert contents(path) == before


def test_read_only(network, filled):
    """By somebody who may not write: compiling takes what is there, tuning warns and keeps nothing."""
    path, draft = filled
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    place = pathlib.Path(tempfile.mkdtemp(prefix="fathom-read-only-", dir="/tmp"))
    try:
        for source, name in (path, "x.db"), (network, "x.onnx"):
            shutil.copy(source, place / name)
            os.chmod(place / name, 0o444)
        env = {**os.environ, "NO_COLOR": "1", **board.environment(place)}
        os.chmod(place / "ssh", 0o555)
        os.chmod(place, 0o555)

        def run(*words):
            return subprocess.run([TOOL, *words], capture_output=True, text=True, cwd=place, env=env, check=True, **nobody)

        compiled = run("compile", "x.onnx", "--emit", "plan", "--db", "x.db")
        assert "warning" not in compiled.stderr and compiled.stdout != draft
        tuned = run("tune", "x.onnx", "--tune", "measure:4", "--measure-on", "ssh://board", "--db", "x.db", "-q")
        assert "warning: [F1014]" in tuned.stderr and "read-only" in tuned.stderr and "contract" in tuned.stdout
        assert (place / "x.db").read_bytes() == path.read_bytes()
    finally:
        os.chmod(place, 0o755)
        shutil.rmtree(place)
