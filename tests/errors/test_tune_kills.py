"""A run that tunes and is killed, at any moment, loses no more than what was being measured; runs that share a database lose nothing."""
import contextlib
import os
import random as chance
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from support import board, models
from support.tool import TOOL

KILLS = int(os.environ.get("FATHOM_TEST_KILLS", 10))


@pytest.fixture
def network(save):
    """A kernel whose code is soon generated, and whose candidates are several groups."""
    weights = {"w": models.floats(np.random.default_rng(5), 4, 4)}
    return save(models.model([models.node("MatMul", "x w", "y")], [("x", models.FLOAT, [4, 4])], [("y", models.FLOAT, [4, 4])], weights))


@pytest.fixture
def tune(tmp_path, network):
    """Starts to tune; what the board told goes into the file `log`."""

    def start(database="x.db", log="log"):
        words = [TOOL, "tune", network, "--tune", "measure:26", "--measure-on", "ssh://board", "--db", database, "-q"]
        options = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        return subprocess.Popen(words, env={**os.environ, "NO_COLOR": "1", **board.environment(tmp_path, log=tmp_path / log)}, **options)

    return start


def times_in(database):
    """Of what was measured; the file must be whole."""
    if not database.exists():
        return set()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]:
            return set()
        return {int(time) for (time,) in connection.execute("SELECT nanoseconds FROM entries")}


def told(log):
    """The times of each group that was told, the groups in order."""
    return [set(map(int, line.split())) for line in log.read_text().splitlines()] if log.exists() else []


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and "warning" not in err, err
    return out


def test_a_run_that_is_killed(tune, tmp_path, seed):
    random = chance.Random(seed)
    start = time.monotonic()
    finish(tune("whole.db", "whole.log"))
    whole, wanted = time.monotonic() - start, times_in(tmp_path / "whole.db")
    assert len(wanted) > 10 and wanted == set().union(*told(tmp_path / "whole.log"))
    lost = ended = 0
    for kill in range(KILLS):
        # A fresh database now and then, so that it is also killed while it makes one.
        database, log = tmp_path / f"{kill // 5}.db", tmp_path / f"{kill}.log"
        before = times_in(database)
        process = tune(database.name, log.name)
        # Some at any moment, others when there is something to write.
        groups = random.randint(0, 3) if kill % 2 else 0
        while len(told(log)) < groups and process.poll() is None:
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.02 if groups else whole))
        process.kill()
        process.communicate()
        groups, there = told(log), times_in(database)
        assert there >= before, f"kill {kill} took away what was there"
        missing = [group for group in groups if not group <= there]
        assert not missing or missing == groups[-1:], f"kill {kill} lost more than the last measurement"
        lost, ended = lost + len(missing), ended + (process.returncode < 0 and bool(groups))
    print(f"{KILLS} kills: {ended} when something had been measured, {lost} lost the measurement at hand, none more")
    assert ended
    # What was interrupted last is brought to its end, and finds what an undisturbed run does.
    finish(tune(database.name, "rest.log"))
    assert times_in(database) == wanted
    exported = subprocess.run([TOOL, "db", "export", "--db", database], capture_output=True, text=True, check=True).stdout
    assert len(exported.splitlines()) > len(wanted)


def test_two_tune_into_one_file(tune, tmp_path):
    runs = [tune("x.db", f"{i}.log") for i in range(2)]
    for run in runs:
        finish(run)
    groups = [group for i in range(2) for group in told(tmp_path / f"{i}.log")]
    assert len(groups) > 2 and times_in(tmp_path / "x.db") == set().union(*groups)
