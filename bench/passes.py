#!/usr/bin/env python3
"""What sequences of passes make of models: the policies of `fathom passes --list` beside each other, in turns.

    passes.py [MODEL ...] [--quick] [--all] [--policies A,B,...] [--threads N] [--clock CLOCK] [--rounds N] [--repeats N] [--json FILE] [--html FILE]
    passes.py pairs [MODEL ...] [--markdown]

A MODEL is a name in models/ or a path to an .onnx file. Of each policy the table has the median time of a run (times further from the mean
than three standard deviations do not count), in brackets the ratio to the best policy's, the time of all passes, that of the whole
compilation, the memory of a run besides the weights, and the number of kernels. Results are compared with the default's first.

`pairs` tells which passes change a graph again where they run twice, and which pairs of passes give other graphs in the other order; with
--markdown it prints the page docs/reference/pass-orders.md.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import pass_pairs
from models import describe_machine, write_results
from page.passes import render
from report import clock_key, describe, geometric_mean
from timing import positive, turn, without_outliers
from zoo import ALL, BUILD, FEW, is_model, model_file, results_agree

import fathom  # isort: skip
from fathom.inputs import random_inputs  # isort: skip

POLICIES = "default auto O3 paper-bl paper:AS-0 paper:AS-1 paper:PO-0 paper:PO-1 paper:PO-2 paper:PO-3 none".split()
QUICK = "mobilenet_v2 wrn_40_2_g8".split()


def graph_seconds(path, policy, repeats):
    """Seconds of each pass of a policy, over all that run: the least sum of some tries, as nothing else makes it shorter."""
    command = [BUILD / "bin/fathom", "passes", path, "--passes", policy, "--json"]
    sums = []
    for _ in range(repeats):
        told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        sums.append(sum(step["seconds"] for step in told["passes"]))
    return min(sums)


def compile_models(path, policies, arguments):
    """Of each policy the session, and what its compilation took."""
    sessions, found = {}, {}
    for policy in policies:
        start = time.perf_counter()
        artifact = fathom.compile(path, passes=policy)
        seconds = time.perf_counter() - start
        session = fathom.Session(artifact, arguments.threads)
        arena = session.manifest["arena_bytes"]
        found[policy] = {
            "graph_seconds": graph_seconds(path, policy, arguments.repeats),
            "compile_seconds": seconds,
            "memory_bytes": None if arena is None else arena + session.manifest["scratch_bytes"] * arguments.threads,
            "kernels": artifact.report["kernels"],
        }
        sessions[policy] = session
    return sessions, found


def measure(path, arguments, data):
    sessions, found = compile_models(path, arguments.policies, arguments)
    first = next(iter(sessions.values()))
    inputs = random_inputs(first, arguments.seed)
    expected = first.run(None, inputs)
    for policy, session in sessions.items():
        if not results_agree(session.run(None, inputs), expected):
            sys.exit(f"{path.stem}: the results of {policy} differ from those of {arguments.policies[0]}")
    times = {policy: [] for policy in sessions}
    sides = list(sessions)
    for begin in range(arguments.rounds):
        # Another one begins in every round: a load that comes and goes must not meet the same ones.
        for policy in sides[begin % len(sides) :] + sides[: begin % len(sides)]:
            times[policy] += turn(lambda: sessions[policy].run(None, inputs))
    for policy, all_times in times.items():
        kept = without_outliers(all_times, clock=("wall", "cpu").index(arguments.clock))
        data["benchmarks"].append(describe(path.stem, arguments.threads, policy, kept))
        found[policy] |= {"ms": data["benchmarks"][-1][clock_key(data)], "left_out": len(all_times) - len(kept)}
    data["models"].append({"model": path.stem, "policies": found})
    return found


HEAD = f"{'model':22} {'policy':12} {'ms':>18} {'graph ms':>10} {'compile s':>10} {'memory MB':>10} {'kernels':>8}"


def lines_of(model, found):
    best = min(row["ms"] for row in found.values())
    for policy, row in found.items():
        latency = f"{row['ms']:.3f} ({row['ms'] / best:.2f})"
        memory = "-" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 1e6:.1f}"
        yield f"{model:22} {policy:12} {latency:>18} {1e3 * row['graph_seconds']:10.1f} {row['compile_seconds']:10.2f} {memory:>10} {row['kernels']:8}"


def summary(data):
    """Geometric means over the models, each relative to the default's."""
    models = [entry["policies"] for entry in data["models"] if "default" in entry["policies"]]
    for policy in models[0] if models else []:
        means = {
            key: geometric_mean(found[policy][key] / found["default"][key] for found in models)
            for key in ("ms", "graph_seconds", "compile_seconds", "kernels")
        }
        yield f"{policy:12} to the default, {len(models)} models: " + ", ".join(f"{key} {mean:.2f}" for key, mean in means.items())
    behind = [
        (entry["model"], entry["policies"]["auto"]["ms"] / min(row["ms"] for row in entry["policies"].values()))
        for entry in data["models"]
        if "auto" in entry["policies"]
    ]
    if behind:
        yield f"auto is behind the best policy by a factor of {statistics.median(ratio for _, ratio in behind):.3f} (median)"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {' '.join(FEW)}")
    parser.add_argument("--all", action="store_true", help="all networks that the tests verify")
    parser.add_argument("--quick", action="store_true", help=f"only {' and '.join(QUICK)}, and few rounds")
    parser.add_argument("--policies", type=lambda text: text.split(","), default=POLICIES, metavar="NAMES", help=f"default: {','.join(POLICIES)}")
    parser.add_argument("--threads", type=positive, default=1, metavar="N", help="number of threads (default: 1)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="count wall times, or CPU times with one thread, for a machine that does other things too (default: wall)")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each policy (default: 5)")
    parser.add_argument("--repeats", type=positive, default=3, help="how often the passes are timed, of which the least counts (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE", help="write a page with plots there")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.repeats = min(arguments.rounds, 2), 1
    if arguments.clock == "cpu" and arguments.threads != 1:
        parser.error("--clock cpu says something with --threads 1 only")
    for name in arguments.models:
        if not is_model(name):
            parser.error(f"there is no model '{name}'; a name in models/ or a path to an .onnx file is wanted")
    return arguments


def main():
    if sys.argv[1:2] == ["pairs"]:
        return pass_pairs.main(sys.argv[2:])
    arguments = parse_arguments()
    data = {"context": describe_machine(arguments), "benchmarks": [], "models": []}
    print(HEAD)
    for name in arguments.models or (QUICK if arguments.quick else ALL if arguments.all else FEW):
        path = model_file(name)
        for line in lines_of(path.stem, measure(path, arguments, data)):
            print(line, flush=True)
        write_results(data, arguments, render)
    print("\n".join(summary(data)))


if __name__ == "__main__":
    try:
        main()
    except fathom.Error as error:
        sys.exit(f"error: {error}")
