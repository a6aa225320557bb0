#!/usr/bin/env python3
"""What the draft gains over schedules that are fixed for every machine (--tune off).

    off.py [MODEL ...] [--threads N] [--rounds N]

Both artifacts of a model take turns in one process, without a database. The ratio is that of the medians: time(off) / time(draft).
"""
import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from timing import positive, quantiles, times_in_turns  # noqa: E402
from zoo import is_model, model_file, results_agree  # noqa: E402

import fathom  # noqa: E402
from fathom.inputs import random_inputs  # noqa: E402

SMALL = "mobilenet_v2 wrn_40_2_g8 resnet18 mobilebert_128".split()
MOST = 3.0


def ratio(name, arguments):
    """How much slower off is, printed."""
    sessions = {mode: fathom.Session(fathom.compile(model_file(name), tune=mode, db="none"), arguments.threads) for mode in ("off", "draft")}
    inputs = random_inputs(sessions["draft"], seed=0)
    if not results_agree(sessions["off"].run(None, inputs), sessions["draft"].run(None, inputs)):
        sys.exit(f"{name}: the results of off differ from those of the draft")
    found = {mode: quantiles(values) for mode, values in times_in_turns(sessions, inputs, arguments.rounds).items()}
    ratio = found["off"]["median"] / found["draft"]["median"]
    spread = max((of["p90"] - of["p10"]) / of["median"] for of in found.values())
    print(f"{name:32} {found['off']['median']:9.3f} {found['draft']['median']:9.3f} {ratio:7.3f} {spread:10.1%}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=SMALL)
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=4)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.models if not is_model(name)]:
        parser.error(f"there are no models {', '.join(unknown)}")
    print(f"{'model':32} {'off ms':>9} {'draft ms':>9} {'ratio':>7} {'p10..p90':>10}")
    mean = statistics.geometric_mean([ratio(name, arguments) for name in arguments.models])
    print(f"geometric mean of time(off) / time(draft): {mean:.3f}; it is to be at most {MOST:g}")


if __name__ == "__main__":
    main()
