#!/usr/bin/env python3
"""Times one artifact for many sizes beside artifacts that were each compiled for one size, and what a call costs besides its kernels.

    dynamic.py [MODEL ...] [--threads 1,2] [--rounds N]

The ratio is that of the medians, taken in turns in one process: 1 means that not knowing the size costs nothing. A star marks the sizes that
the artifact was asked to be good at.
"""
import argparse
import statistics
import subprocess
import sys
import time

from timing import thread_counts, turn, wall_times
from zoo import BUILD, model_file, results_agree

import fathom
import onnx
from fathom.inputs import random_inputs

# The ranges to compile for, and the sizes to measure.
MODELS = {
    "bert_base_dynamic": (
        ["batch=1..64,opt=1", "seq=1..512,opt=128"],
        [dict(batch=b, seq=s) for b, s in [(1, 1), (1, 8), (1, 32), (1, 100), (1, 128), (1, 512), (4, 128), (8, 8), (8, 512)]],
    ),
    "mobilenet_v2.dynamic_batch": (["batch=1..64,opt=1"], [dict(batch=b) for b in (1, 2, 3, 8, 16)]),
}
# Of this model with any batch: it has many kernels and little to compute in each.
OVERHEAD_MODEL = "resnet50"


def likely_sizes(ranges):
    return {text.partition("=")[0]: int(text.partition("opt=")[2]) for text in ranges}


def measure(sessions, inputs, rounds):
    """The median time of each session, in milliseconds."""
    times = {who: [] for who in sessions}
    for _ in range(rounds):
        for who, session in sessions.items():
            times[who] += wall_times(turn(lambda: session.run(None, inputs)))
    return {who: statistics.median(values) for who, values in times.items()}


def compare_model(name, arguments):
    ranges, shapes = MODELS[name]
    path = model_file(name)
    start = time.perf_counter()
    dynamic = fathom.compile(path, dim=ranges)
    print(f"{name}, compiled for {' '.join(ranges)} in {time.perf_counter() - start:.1f} s")
    print(f"  {'sizes':24} {'threads':>7} {'dynamic ms':>11} {'static ms':>10} {'ratio':>6}")
    for sizes in shapes:
        static = fathom.compile(path, dim=sizes)
        for threads in arguments.threads:
            sessions = {"dynamic": fathom.Session(dynamic, threads), "static": fathom.Session(static, threads)}
            inputs = random_inputs(sessions["dynamic"], arguments.seed, sizes)
            if not results_agree(*(session.run(None, inputs) for session in sessions.values())):
                sys.exit(f"{name}: the results of the two artifacts differ")
            medians = measure(sessions, inputs, arguments.rounds)
            star = "*" if sizes == likely_sizes(ranges) else " "
            text = " ".join(f"{key}={size}" for key, size in sizes.items()) + star
            ratio = medians["dynamic"] / medians["static"]
            print(f"  {text:24} {threads:7} {medians['dynamic']:11.3f} {medians['static']:10.3f} {ratio:6.2f}", flush=True)


def with_any_batch(path):
    model = onnx.load(path, load_external_data=False)
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    return model


def print_overhead():
    path = model_file(OVERHEAD_MODEL)
    artifact = BUILD / "models" / f"{OVERHEAD_MODEL}.any_batch.fathom"
    fathom.compile(with_any_batch(path), artifact, base_folder=path.parent, dim=["batch=1..64,opt=1"])
    print(f"{OVERHEAD_MODEL} with any batch: a call less the time of its kernels", flush=True)
    subprocess.run([BUILD / "bin/dispatch_bench", artifact, "batch=1"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)} (default: both)")
    parser.add_argument("--threads", type=thread_counts, default="1,2", metavar="N,N", help="numbers of threads, separated by commas (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    arguments = parser.parse_args()
    for name in arguments.models:
        if name not in MODELS:
            sys.exit(f"there is no model '{name}'; known are {', '.join(MODELS)}")
    for name in arguments.models or MODELS:
        compare_model(name, arguments)
    if not arguments.models:
        print_overhead()


if __name__ == "__main__":
    try:
        main()
    except fathom.Error as error:
        sys.exit(f"error: {error}")
