"""What the tests of whole networks share: filled models, the compiler, and how far results may differ."""
import fcntl
import os
import pathlib
import subprocess
import sys

import numpy as np
from fathom.compare import tolerance as elementwise_tolerance

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
FILLED = BUILD / "models"
RELATIVE, ABSOLUTE = 1e-3, 1e-4  # the second one times the magnitudes beside an element


def fathom(*arguments):
    result = subprocess.run([BUILD / "bin" / "fathom", *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, f"fathom {' '.join(map(str, arguments))} exits with {result.returncode}:\n{result.stderr}"
    return result.stdout


def fill(name):
    """The path of a model of the zoo with seeded weights."""
    FILLED.mkdir(parents=True, exist_ok=True)
    with open(FILLED / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests may run beside this one
        if not (FILLED / f"{name}.data").exists() or not (FILLED / f"{name}.onnx").exists():
            subprocess.run([sys.executable, ROOT / "models" / "fill_weights.py", FILLED, name], check=True, capture_output=True)
    return FILLED / f"{name}.onnx"


def tolerance(want):
    return elementwise_tolerance(np.abs(want), RELATIVE, ABSOLUTE)
