#!/usr/bin/env python3
"""Times the models that carry.py packed beside ONNX Runtime, on a machine without Fathom.

    carried.py [MODEL ...] [--threads 1,2,16] [--rounds N] [--seconds N] [--json FILE]

The sides take turns as in models.py. Before anything is timed, the artifact's results are compared with those that it gave where it was packed,
with every number of threads; ONNX Runtime computes with other weights.
"""
import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

import numpy as np
from peers.process import PeerProcess
from peers.registry import REFERENCE, Unavailable
from report import header_text, latencies, row_text, summary_lines
from timing import positive, thread_counts
from turns import take_turns
from zoo import BUILD, ROOT, digest, model_file

WORK = BUILD / "measured"


def read_packed():
    """The models that are there; none outside of a packed folder."""
    file = ROOT / "packed.json"
    try:
        return json.loads(file.read_text())["models"] if file.exists() else {}
    except (ValueError, KeyError) as error:
        sys.exit(f"error: '{file}' is not as carry.py wrote it: {error}")


def start(name, entry, threads, stack):
    """Both sides' processes, which have run the model once."""
    with np.load(ROOT / f"artifacts/{name}.npz") as arrays:
        inputs = {key: arrays[f"arr_{i}"] for i, key in enumerate(entry["inputs"])}
    models = {"fathom": ROOT / f"artifacts/{name}.fathom", REFERENCE: model_file(name)}
    sides = {}
    for side, model in models.items():
        process = PeerProcess("fathom-rt" if side == "fathom" else side, sys.executable, model, threads, WORK, limit=300)
        stack.callback(process.close)
        process.ask("load")
        results = process.outputs(inputs)
        if side == "fathom" and entry["digest"] not in (None, digest(results)):
            sys.exit(f"{name}: with {threads} threads the results differ from those where it was packed")
        sides[threads, side] = process
    return sides


def parse_arguments(known):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all that were packed")
    parser.add_argument("--threads", type=thread_counts, default=f"1,{os.cpu_count()}", metavar="N,N", help="default: 1 and all CPUs")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--seconds", type=positive, metavar="N", help="begin no further model after so many")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    arguments = parser.parse_intermixed_args()
    if not known:
        parser.error(f"there is nothing packed in '{ROOT}': carry.py makes a folder with this script in it")
    if arguments.json and (arguments.json.is_dir() or not arguments.json.parent.is_dir()):
        parser.error(f"'{arguments.json}' cannot be a file")
    for name in arguments.models:
        if name not in known:
            parser.error(f"'{name}' was not packed; there are {', '.join(known)}")
    return arguments


def main():
    packed = read_packed()
    arguments = parse_arguments(packed)
    os.environ["FATHOM_RT_LIBRARY"] = str(BUILD / "lib/libfathom_rt.so.1")
    WORK.mkdir(parents=True, exist_ok=True)
    data = {name: [] for name in ("benchmarks", "loads", "registers")}
    end = time.monotonic() + (arguments.seconds or float("inf"))
    print(header_text([REFERENCE]))

    def stop(threads, side, reason):
        sys.exit(f"{side} with {threads} threads: {reason}")

    for name in arguments.models or packed:
        if time.monotonic() > end:
            print(f"left out, as the time is over: {name}")
            continue
        with contextlib.ExitStack() as stack:
            sides = {}
            for threads in arguments.threads:
                sides |= start(name, packed[name], threads, stack)
            take_turns(name, sides, arguments.rounds, data, stop)
        for threads in arguments.threads:
            print(row_text(name, threads, latencies(data)[name, threads], [REFERENCE]), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    print("\n".join(summary_lines(data)))


if __name__ == "__main__":
    try:
        main()
    except Unavailable as reason:
        sys.exit(f"error: {reason}")
