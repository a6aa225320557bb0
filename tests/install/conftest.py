"""What the tests of an installation share: a prefix that `cmake --install` wrote and that was then moved."""
import os
import subprocess

import pytest
from support.tool import BUILD


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    first = tmp_path_factory.mktemp("installed") / "first"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True, capture_output=True)
    return first.rename(first.with_name("moved"))


@pytest.fixture(scope="session")
def bare_environment():
    """Nothing that leads to the build folder."""
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "FATHOM_DB": "none"}


@pytest.fixture(scope="session")
def run():
    def call(*words, env=None, stdin=None, code=0):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, input=stdin, env=env or os.environ)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    return call
