"""Machines that measure and die, hang, compute something else or lie: that costs a candidate, which is told with the machine's name."""
import json
import os

import numpy as np
import pytest
from support import board, models


@pytest.fixture
def network(save):
    """A product that is large enough for every schedule to have code of its own, by which the machine knows the culprit."""
    weights = {"w": models.floats(np.random.default_rng(5), 96, 40)}
    return save(models.model([models.node("MatMul", "x w", "y")], [("x", models.FLOAT, [24, 96])], [("y", models.FLOAT, [24, 40])], weights))


@pytest.fixture
def tune(fathom, network, tmp_path):
    """Measures on a machine that misbehaves; gives what was said, the kernel's row and the times that were kept."""

    def run(misbehaves):
        env = board.environment(tmp_path, misbehaves, tmp_path / "log")
        words = ["tune", network, "--tune", "measure:14", "--measure-on", "ssh://board", "--db", "x.db"]
        result = fathom(*words, env=env).expect(0)
        kept = {int(entry["nanoseconds"]) for entry in json.loads(fathom("db", "list", "--json", "--db", "x.db").expect(0).out)}
        return result, kept

    return run


@pytest.mark.parametrize(
    "misbehaves, told",
    [
        ("dies", "1 candidates failed, the last one crashed: ssh://board went away when it was run"),
        ("hangs", "1 candidates failed, the last one hung: ssh://board: it ran longer than 10 s"),
        ("wrong", "1 candidates failed, the last one wrong: ssh://board: output 0: element 7 is 1 and not 2"),
    ],
)
def test_only_the_culprit_is_lost(tune, tmp_path, misbehaves, told):
    result, kept = tune(misbehaves)
    assert told in result.err
    culprit = int((tmp_path / "log.culprit").read_text())
    times = {int(time) for line in (tmp_path / "log").read_text().splitlines() for time in line.split()}
    assert len(kept) > 4 and kept == times - {culprit}
    assert "contract" in result.out and "ratio" in result.out


def test_who_lies_is_believed_nothing(tune, tmp_path):
    """What does not speak the language is asked once more, and then the group is lost; other groups are not."""
    result, kept = tune("lies")
    assert "lost: ssh://board went away while kernels were timed" in result.err
    culprit = int((tmp_path / "log.culprit").read_text())
    honest = [set(map(int, line.split())) for line in (tmp_path / "log").read_text().splitlines()]
    honest = [group for group in honest if culprit not in group]
    assert kept == set().union(*honest)


@pytest.mark.parametrize(
    "address, exit_code, texts",
    [
        ("ssh://nohost.invalid", 5, ["[F5001]", "cannot reach 'ssh://nohost.invalid'", "hint: `ssh nohost.invalid true`"]),
        ("ssh://127.0.0.1:1", 5, ["[F5001]", "cannot reach 'ssh://127.0.0.1:1'", "refused"]),
        ("board", 2, ["[F2001]", "ssh://"]),
        ("ssh://", 2, ["[F2001]", "names no host"]),
        ("ssh://-oProxyCommand=x", 2, ["[F2001]", "names no host"]),
        ("ssh://board:99999", 2, ["[F2001]", "port"]),
        ("ssh://board/a;b", 2, ["[F2001]", "folder"]),
    ],
)
def test_machines_that_are_not_there(fathom, network, tmp_path, address, exit_code, texts):
    fathom("tune", network, "--tune", "measure:2", "--measure-on", address, "--db", "x.db", "-o", "x.plan").expect(exit_code, *texts)
    assert not (tmp_path / "x.plan").exists()
    # What was there before is as it was.
    if (tmp_path / "x.db").exists():
        fathom("db", "list", "--db", "x.db").expect(0, "0 entries")


def test_no_program_that_measures(fathom, network, tmp_path):
    """One that calls itself ssh and is none."""
    (tmp_path / "ssh").write_text("#!/bin/sh\necho hello\nexit 3\n")
    os.chmod(tmp_path / "ssh", 0o700)
    fathom("tune", network, "--measure-on", "ssh://board", "--db", "none", env={"FATHOM_SSH": str(tmp_path / "ssh")}).expect(5, "[F5001]", "ended with exit code 3")
