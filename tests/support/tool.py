"""The command line tool, and where it and the models are."""
import fcntl
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
TOOL = os.environ.get("FATHOM_BIN", str(BUILD / "bin" / "fathom"))
FILLED = BUILD / "models"


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def expect(self, exit_code, *texts):
        """The exit code and pieces of what is on stderr. Every failure names its code in the same form."""
        assert self.code == exit_code, f"exit code {self.code}, stderr:\n{self.err}"
        for text in texts:
            assert text in self.err, f"'{text}' is not in:\n{self.err}"
        if exit_code:
            assert "error: [F" in self.err
        return self


def run_tool(*arguments, env=None, cwd=None, timeout=None):
    environment = {**os.environ, "FATHOM_PYTHON": sys.executable, "NO_COLOR": "1", **(env or {})}
    return Result(subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, env=environment, cwd=cwd))


def fathom(*arguments):
    """What the tool prints, which must succeed."""
    return run_tool(*arguments).expect(0).out


def fill(name):
    """The path of a model of the zoo with seeded weights."""
    FILLED.mkdir(parents=True, exist_ok=True)
    with open(FILLED / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests may run beside this one
        if not (FILLED / f"{name}.data").exists() or not (FILLED / f"{name}.onnx").exists():
            subprocess.run([sys.executable, ROOT / "models" / "fill_weights.py", FILLED, name], check=True, capture_output=True)
    return FILLED / f"{name}.onnx"
