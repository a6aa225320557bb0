#!/usr/bin/env python3
"""What searches find with equal trials, beside each other: a study.

    searches.py [--judge static|draft|measure] [--trials N] [--seeds N] [--machine TARGET] [--search NAME ...] [--kernel NAME ...]

Every search runs over the whole space of every kernel of bench/tune/Problems.h, from a start by chance, once for each seed. What it found costs
the median over seeds; the table has random's cost over it, so that more is better. Ahead of random is who is more than 0.5 % cheaper. The last
line is by how much evolution is faster with all CPUs than with one.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
BASES = ["random", "genetic"]
# Those that make code of whatever they look at take minutes for a kernel: --search autotvm chameleon.
QUICK = ["descent", "evolution", "construct", "autotvm:knobs", "chameleon:knobs"]
CLEARLY = 1.005


def runs(arguments, searches, **options):
    """What the program prints, line by line."""
    words = {"judge": arguments.judge, "machine": arguments.machine, "trials": arguments.trials, "seeds": arguments.seeds, **options}
    command = [BUILD / "bin/search_bench", *(f"--{name}={value}" for name, value in words.items())]
    command += [f"--search={name}" for name in searches] + [f"--kernel={name}" for name in arguments.kernel]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        sys.exit(process.returncode)


def medians(found):
    """The median over seeds of what each search found for each kernel: its cost, the trials and the seconds that it took."""
    grouped = collections.defaultdict(list)
    for run in found:
        grouped[run["search"], run["kernel"]].append(run)
    return {
        key: {
            "best": statistics.median(run["best"] for run in group),
            "trials": statistics.median(len(run["costs"]) for run in group),
            "seconds": statistics.median(run["seconds"] for run in group),
        }
        for key, group in grouped.items()
    }


def report(found, out=sys.stdout):
    """The table; a search's geometric mean, the kernels on which it is ahead of random, and its share of genetic's."""
    table = medians(found)
    searches = list(dict.fromkeys(search for search, _ in table))
    kernels = list(dict.fromkeys(kernel for _, kernel in table))
    print(f"{'random over it':24}" + "".join(f"{kernel[:12]:>13}" for kernel in kernels) + f"{'mean':>8}{'ahead':>8}{'genetic':>9}{'trials':>8}{'s':>8}", file=out)
    for search in searches:
        cells = [table[search, kernel] for kernel in kernels]
        gains = [table["random", kernel]["best"] / cell["best"] for kernel, cell in zip(kernels, cells)]
        genetic = [table["genetic", kernel]["best"] / cell["best"] for kernel, cell in zip(kernels, cells)]
        ahead = sum(gain > CLEARLY for gain in gains)
        print(
            f"{search:24}"
            + "".join(f"{gain:13.3f}" for gain in gains)
            + f"{statistics.geometric_mean(gains):8.3f}{ahead:5}/{len(kernels)}{statistics.geometric_mean(genetic):9.3f}"
            + f"{statistics.median(cell['trials'] for cell in cells):8.0f}{statistics.median(cell['seconds'] for cell in cells):8.2f}",
            file=out,
        )


def scaling(arguments):
    """Seconds of an evolution with one thread, over those with all CPUs."""
    times = []
    for threads in (1, 0):
        one = argparse.Namespace(**{**vars(arguments), "seeds": 1, "judge": "static"})
        times.append(sum(run["seconds"] for run in runs(one, ["evolution"], **{"judge-threads": threads})))
    cpus = len(os.sched_getaffinity(0))
    print(f"evolution by the model of the code: {times[0]:.1f} s with one thread, {times[1]:.1f} s with {cpus}: {times[0] / times[1]:.2f} times as fast")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", choices=["static", "draft", "measure"], default="static", help="who says what a schedule costs (static)")
    parser.add_argument("--trials", type=int, default=128, help="of each search (128); those that learn go by chance for the first 64")
    parser.add_argument("--seeds", type=int, default=3, help="1 to N (3)")
    parser.add_argument("--machine", default="host", metavar="TARGET")
    parser.add_argument("--search", nargs="+", default=QUICK, metavar="NAME", help=f"these, beside random and genetic ({', '.join(QUICK)})")
    parser.add_argument("--kernel", nargs="+", default=[], metavar="NAME", help="these (all)")
    parser.add_argument("--no-scaling", action="store_true", help="leave out how judging scales with threads")
    arguments = parser.parse_args()
    if arguments.trials < 1 or arguments.seeds < 1:
        parser.error("--trials and --seeds are at least 1")
    found = []
    for run in runs(arguments, [*BASES, *arguments.search]):
        found.append(run)
        print(f"{run['kernel']} {run['search']} {run['seed']}: {run['best']:.0f} after {len(run['costs'])} in {run['seconds']:.1f} s", file=sys.stderr)
    report(found)
    if not arguments.no_scaling:
        scaling(arguments)


if __name__ == "__main__":
    main()
