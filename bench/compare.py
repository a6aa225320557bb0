#!/usr/bin/env python3
"""Times compiled models beside ONNX Runtime, in one process and in turns, so that both meet the same machine.

    compare.py [MODEL ...] [--threads 1,2] [--rounds N] [--json FILE]

A MODEL is a name in models/ (it gets seeded weights under build/models) or a path to an .onnx file. In every round each side rests, warms
up once and then runs for a while; the table shows the median over all rounds and the ratio of the medians, where more than 1 means that
Fathom is faster. --json writes the times in Google Benchmark's format.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
sys.path.insert(0, str(BUILD / "python"))

import fathom  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from fathom.inputs import random_inputs  # noqa: E402

DEFAULT = """resnet18 resnet34 resnet50 vgg16 alexnet googlenet densenet161 mobilenet_v2 mnasnet1_0 efficientnet_b0 wrn_40_2_s wrn_40_2_g2
wrn_40_2_g4 wrn_40_2_g8 wrn_40_2_g16 wrn_40_2_gn bert_base_128 vit_b_16""".split()

# ONNX Runtime's workers spin for a few milliseconds after a run; who comes next must not pay for that.
REST_SECONDS = 0.05
TURN_SECONDS = 0.25
RTOL, ATOL = 1e-3, 1e-4


def model_file(name):
    """The model's file; models of the zoo have no weights of their own and get seeded ones."""
    if name.endswith(".onnx"):
        return pathlib.Path(name)
    path = BUILD / "models" / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "models/fill_weights.py", BUILD / "models", name], check=True, stdout=subprocess.DEVNULL)
    return path


def thread_counts(text):
    counts = [int(word) for word in text.split(",")]
    if min(counts) < 1:
        raise ValueError
    return counts


def reference_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_results(name, ours, theirs):
    """A time means nothing if the results are wrong."""
    for a, b in zip(ours, theirs):
        if a.dtype.kind == "f" and not np.allclose(a, b, rtol=RTOL, atol=ATOL * np.abs(b).max(initial=0)):
            sys.exit(f"{name}: the results differ from ONNX Runtime's; see fathom verify")


def turn(run):
    """Times of the runs that fit one turn, in milliseconds."""
    time.sleep(REST_SECONDS)
    run()
    times, end = [], time.perf_counter() + TURN_SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def measure(name, artifact, path, threads, rounds, seed):
    session = fathom.Session(artifact, threads)
    inputs = random_inputs(session, seed)
    reference = reference_session(path, threads)
    check_results(name, session.run(None, inputs), reference.run(None, inputs))
    times = {"fathom": [], "onnxruntime": []}
    for _ in range(rounds):
        times["fathom"] += turn(lambda: session.run(None, inputs))
        times["onnxruntime"] += turn(lambda: reference.run(None, inputs))
    return times


def describe(name, threads, who, times):
    ordered = sorted(times)
    median = statistics.median(ordered)
    return {
        "name": f"{name}/threads:{threads}/{who}",
        "run_type": "iteration",
        "iterations": len(times),
        "real_time": median,
        "cpu_time": median,
        "time_unit": "ms",
        "p10": ordered[len(ordered) // 10],
        "p90": ordered[len(ordered) * 9 // 10],
        "min": ordered[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: the networks that the tests verify")
    parser.add_argument("--threads", type=thread_counts, default="1,2", metavar="N,N", help="numbers of threads, separated by commas (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the times there")
    arguments = parser.parse_args()

    for name in arguments.models:
        if not (pathlib.Path(name) if name.endswith(".onnx") else ROOT / "models" / f"{name}.onnx").exists():
            sys.exit(f"there is no model '{name}'; a name in models/ or a path to an .onnx file is wanted")

    results = []
    print(f"{'model':24} {'threads':>7} {'fathom ms':>10} {'onnxruntime ms':>15} {'ratio':>6} {'compile s':>10} {'artifact MB':>12}")
    for name in arguments.models or DEFAULT:
        path = model_file(name)
        artifact = BUILD / "models" / f"{path.stem}.fathom"
        artifact.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        fathom.compile(path, artifact)
        seconds = time.perf_counter() - start
        for threads in arguments.threads:
            times = measure(name, artifact, path, threads, arguments.rounds, arguments.seed)
            results += [describe(path.stem, threads, who, values) for who, values in times.items()]
            ours, theirs = statistics.median(times["fathom"]), statistics.median(times["onnxruntime"])
            print(f"{path.stem:24} {threads:7} {ours:10.3f} {theirs:15.3f} {theirs / ours:6.2f} {seconds:10.2f} {artifact.stat().st_size / 1e6:12.1f}", flush=True)
    if arguments.json:
        context = {
            "date": datetime.datetime.now().astimezone().isoformat(),
            "num_cpus": os.cpu_count(),
            "machine": platform.machine(),
            "fathom": fathom.__version__,
            "onnxruntime": onnxruntime.__version__,
        }
        arguments.json.write_text(json.dumps({"context": context, "benchmarks": results}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except fathom.Error as error:
        sys.exit(f"error: {error}")
