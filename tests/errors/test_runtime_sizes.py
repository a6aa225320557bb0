"""Hostile run-time sizes and indices give errors, never memory errors."""
import os
import random
import subprocess
import sys
from pathlib import Path

CALLS = 6000
SCRIPT = Path(__file__).with_name("hostile_sizes.py")


def test_hostile_sizes():
    seed = os.environ.get("FATHOM_TEST_SEED", str(random.SystemRandom().randrange(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    # Freed and fresh memory is filled, so that what is read too early or too late is noticed.
    environment = os.environ | {"MALLOC_PERTURB_": "165", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run([sys.executable, str(SCRIPT), seed, str(CALLS)], capture_output=True, text=True, env=environment)
    assert process.returncode == 0, f"exit code {process.returncode}\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
