#!/usr/bin/env python3
"""How long it takes to tune models, and how fast they are then, beside the same models with the schedules of the draft.

    models.py [MODEL ...] [--tune MODE ...] [--threads N] [--rounds N]

Artifacts of all modes are made one after another, without a database, and take turns in one process. The gain is that of the medians:
the draft's time over the tuned one's.
"""
import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from timing import positive, quantiles, times_in_turns  # noqa: E402
from zoo import FEW, model_file, results_agree  # noqa: E402

import fathom  # noqa: E402
from fathom.inputs import random_inputs  # noqa: E402

BASE = "draft"


def tuned(path, mode, threads):
    start = time.perf_counter()
    artifact = fathom.compile(path, tune=mode, tune_threads=threads, db="none")
    return artifact, time.perf_counter() - start


def compare(name, arguments):
    """The gain of every mode, printed with what it took."""
    made = {mode: tuned(model_file(name), mode, arguments.threads) for mode in [BASE, *arguments.tune]}
    sessions = {mode: fathom.Session(artifact, arguments.threads) for mode, (artifact, _) in made.items()}
    inputs = random_inputs(sessions[BASE], seed=0)
    expected = sessions[BASE].run(None, inputs)
    for mode, session in sessions.items():
        if not results_agree(session.run(None, inputs), expected):
            sys.exit(f"{name}: the results of {mode} differ from those of {BASE}")
    times = times_in_turns(sessions, inputs, arguments.rounds)
    base = statistics.median(times[BASE])
    gains = {}
    for mode, values in times.items():
        found = quantiles(values)
        gains[mode] = base / found["median"]
        print(f"{name:24} {mode:16} {made[mode][1]:9.1f} {found['median']:9.3f} {found['p10']:9.3f} {found['p90']:9.3f} {gains[mode]:7.3f}", flush=True)
    return gains


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=FEW)
    parser.add_argument("--tune", nargs="+", default=["static"], metavar="MODE", help="as fathom compile --tune takes them (static)")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=10)
    arguments = parser.parse_args()
    print(f"{'model':24} {'mode':16} {'compiled s':>9} {'ms':>8} {'p10':>9} {'p90':>9} {'gain':>7}")
    gains = [compare(name, arguments) for name in arguments.models]
    for mode in arguments.tune:
        print(f"geometric mean of the gain of {mode}: {statistics.geometric_mean(gain[mode] for gain in gains):.3f}")


if __name__ == "__main__":
    main()
