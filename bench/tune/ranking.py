#!/usr/bin/env python3
"""How well models of cost order schedules that were drawn from kernels' whole spaces and measured, family by family.

    ranking.py [FAMILY ...] [--samples N] [--raw FILE] [--no-measuring]

Of each family the samples are those of four kernels together (families.py). Samples are kept as lines of JSON; what is there is not
measured again, so that a run that ended before time goes on.

A family's figures are means over its kernels:
  top-10, top-50  the times of the 10 (50) fastest samples, added up, over those of the 10 (50) that are predicted to be fastest
  order           Spearman's correlation of predictions and times
  order in front  the same within the quarter of the samples that is fastest

Coefficients were fitted to all other kernels, to all other families, or are none (latencies). What is left out is so before the fit.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.stats import spearmanr

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import families  # noqa: E402
import polydl  # noqa: E402
from timing import positive  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
FATHOM = BUILD / "bin" / "fathom"

GROUPS = {
    "movement": ["near", "far", "memory", "written", "packed"],
    "instructions": ["multiply-adds", "vector-loads", "vector-stores", "others"],
    "pipeline": ["busy", "waits", "hidden", "starts"],
}
LATENCIES = {"busy": 1, "waits": 1, "hidden": 1, "starts": 1, "near": 1, "far": 1, "memory": 1, "written": 1}
FITTED, OTHERS = "precise, fitted to other kernels", "precise, fitted to other families"
COLUMNS = "top-10", "top-50", "order", "order in front"


def calibrate(*words):
    done = subprocess.run([FATHOM, "calibrate", *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"fathom calibrate {' '.join(map(str, words))}:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(family, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{family}.onnx"
        algorithm = families.write(family, path)
        trials = -(-arguments.samples // families.KERNELS)
        calibrate(path, "--class", family, "--conv-algorithm", algorithm, "--trials", trials, "--samples", arguments.raw)


def read(raw):
    lines = [json.loads(line) for line in raw.read_text().splitlines()]
    return lines[0], lines[1:]


def without(samples, features):
    return [dict(sample, features={name: 0 if name in features else value for name, value in sample["features"].items()}) for sample in samples]


def fit(head, samples):
    """What fathom calibrate says of samples."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps(line) + "\n" for line in [head, *samples]))
        file.flush()
        return calibrate("--samples", file.name)


def scores(samples, coefficients):
    names = list(coefficients)
    return np.array([[sample["features"][name] for name in names] for sample in samples]) @ [coefficients[name] for name in names]


def held_out(head, samples):
    """Coefficients for each kernel, fitted to all others."""
    return {kernel["id"]: kernel["score"]["coefficients"] for kernel in fit(head, samples)["kernels"]}


def by_kernel(samples):
    kernels = {}
    for sample in samples:
        kernels.setdefault(sample["kernel"], []).append(sample)
    return kernels


def judges(head, samples):
    """By what it is called: a function from a kernel's samples to predictions."""
    fitted = {FITTED: (samples, held_out(head, samples))}
    for group, features in GROUPS.items():
        fewer = without(samples, features)
        fitted[f"precise without {group}"] = (fewer, held_out(head, fewer))
    classes = {sample["class"] for sample in samples}
    foreign = {one: fit(head, [sample for sample in samples if sample["class"] != one])["score"]["coefficients"] for one in classes if len(classes) > 1}
    kernels = by_kernel(samples)

    sets = {kernel: ([sample["working_sets"] for sample in those], [sample["nanoseconds"] for sample in those]) for kernel, those in kernels.items()}
    trained = {kernel: polydl.train([pair for other, pair in sets.items() if other != kernel]) for kernel in sets}
    found = {name: (lambda those, table=table: scores(those, table[those[0]["kernel"]])) for name, (_, table) in fitted.items()}
    if foreign:
        found[OTHERS] = lambda those: scores(those, foreign[those[0]["class"]])
    found["precise, pure latencies"] = lambda those: scores(those, LATENCIES)
    found["draft"] = lambda those: np.array([sample["draft"] for sample in those])
    found["PolyDL, working sets"] = lambda those: polydl.costs([sample["working_sets"] for sample in those])
    found["PolyDL, tournament"] = lambda those: polydl.tournament(trained[those[0]["kernel"]], [sample["working_sets"] for sample in those])
    return found


def top(times, predicted, count):
    chosen = np.argsort(predicted, kind="stable")[:count]
    return np.sort(times)[:count].sum() / times[chosen].sum()


def order(times, predicted):
    return spearmanr(times, predicted).statistic if len(set(predicted)) > 1 else 0.0


def figures(samples, judge):
    times, predicted = np.array([sample["nanoseconds"] for sample in samples]), np.asarray(judge(samples))
    front = times <= np.quantile(times, 0.25)
    return [top(times, predicted, 10), top(times, predicted, 50), order(times, predicted), order(times[front], predicted[front])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(families.FAMILIES), metavar="FAMILY", help=", ".join(families.FAMILIES))
    parser.add_argument("--samples", type=positive, default=512, help="of each family, its kernels together (512)")
    parser.add_argument("--raw", type=pathlib.Path, default=BUILD / "results" / "ranking.jsonl", help="where samples are kept")
    parser.add_argument("--no-measuring", action="store_true", help="take what is there")
    arguments = parser.parse_args()
    if unknown := set(arguments.families) - set(families.FAMILIES):
        parser.error(f"there is no family {', '.join(sorted(unknown))}; there are {', '.join(families.FAMILIES)}")
    arguments.raw.parent.mkdir(parents=True, exist_ok=True)
    for family in [] if arguments.no_measuring else arguments.families:
        print(f"measuring {family}", file=sys.stderr, flush=True)
        measure(family, arguments)
    head, samples = read(arguments.raw)
    samples = [sample for sample in samples if sample["class"] in arguments.families]
    kernels = by_kernel(samples)
    found = judges(head, samples)
    print(f"{head['target']}, {head['threads']} thread(s)")
    overall = {}
    for family in arguments.families:
        own = [those for those in kernels.values() if those[0]["class"] == family]
        print(f"\n{family}: {sum(map(len, own))} samples of {len(own)} kernels\n{'':36}" + "".join(f"{column:>16}" for column in COLUMNS))
        for name, judge in found.items():
            means = np.mean([figures(those, judge) for those in own], axis=0)
            overall.setdefault(name, []).append(means)
            print(f"{name:36}" + "".join(f"{value:16.3f}" for value in means), flush=True)
    print("\nmean of all families")
    for name, rows in overall.items():
        print(f"{name:36}" + "".join(f"{value:16.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
