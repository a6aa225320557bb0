#!/usr/bin/env python3
"""Times single kernels on one thread beside libraries, in turns, and shows their rates beside the peak of the machine.

    single_kernels.py [--peers NAMES] [--json FILE] [--filter REGEX] [--rounds N]

The ratio is Fathom's rate over another's: more than 1 means that Fathom is faster. `constant` is the best of some libraries measured once on
another machine, scaled by the peak, for where they are not installed. --json writes Google Benchmark's results.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from kernel_report import KernelResults
from timing import positive

BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", pathlib.Path(__file__).resolve().parents[1] / "build"))


def measure(names, rounds):
    """Google Benchmark's results of the kernels with such names."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernels.json"
        command = [
            BUILD / "bin/kernel_bench", f"--benchmark_filter={names}", f"--benchmark_repetitions={rounds}", "--benchmark_min_time=0.05",
            # Repetitions of all in random order, so that a slow moment of the machine meets every side.
            "--benchmark_enable_random_interleaving=true", f"--benchmark_out={path}", "--benchmark_out_format=json",
        ]  # fmt: skip
        # Some libraries take their number of threads from there only.
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        # An expression that it does not take is told there alone.
        if done.returncode or not path.stat().st_size:
            sys.exit(f"kernel_bench fails: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}")
        return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    parser.add_argument("--peers", metavar="NAMES", help="of xnnpack, acl (Arm Compute Library) and onednn, what ./dev is to install first")
    parser.add_argument("--filter", default=".*", metavar="REGEX", help="only kernels whose name matches, such as gemm")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each side (default: 5)")
    arguments = parser.parse_args()
    if arguments.json and (arguments.json.is_dir() or not arguments.json.parent.is_dir()):
        parser.error(f"'{arguments.json}' cannot be a file")
    # The peak is always among them: shares are shares of it.
    data = measure(f"^peak/|{arguments.filter}", arguments.rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    print("\n".join(KernelResults(data["benchmarks"]).lines()))


if __name__ == "__main__":
    main()
