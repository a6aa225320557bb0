#!/usr/bin/env python3
"""Time of a training step beside PyTorch's, eager and compiled by inductor, in turns: the networks of tests/torch/training.py in float32.

    training.py [transformer|resnet18 ...] [--threads 1,2] [--rounds N] [--inductor]

A ratio is PyTorch's time over Fathom's: above 1 Fathom is faster. Needs PyTorch: `./dev bench training` runs it in .venv-torch.
"""
import argparse
import copy
import pathlib
import statistics
import sys
import tempfile
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "torch"))

from timing import positive, thread_counts  # noqa: E402
from training import NETWORKS, batches, export, optimizer, step_of  # noqa: E402

import fathom  # isort: skip  # noqa: E402


def sides_of(name, threads, with_inductor, folder):
    """What each side does for one step on one batch: {side: function}."""
    make, text = NETWORKS[name]
    torch.manual_seed(0)
    network, draw, classes = make()
    [(x, y)] = batches(draw, classes, 1, torch.float32)
    path = folder / f"{name}.onnx"
    export(copy.deepcopy(network), x, path)
    trainer = fathom.Trainer(path, loss="cross-entropy:logits:labels", train=text, threads=threads)
    feed = {"x": x.numpy(), "labels": y.numpy()}

    def torch_side(compiled):
        own = copy.deepcopy(network).train()
        optimizing, called = optimizer(own, text), torch.compile(own) if compiled else own
        return lambda: step_of(called, optimizing, x, y)

    sides = {"fathom": lambda: trainer.step(feed), "torch": torch_side(False)}
    return sides | ({"inductor": torch_side(True)} if with_inductor else {})


def measured(sides, rounds):
    """The median of the steps of each side in milliseconds; all take turns."""
    times = {side: [] for side in sides}
    for step in sides.values():
        step()
    for _ in range(rounds):
        for side, step in sides.items():
            step()  # the caches are the other's
            for _ in range(3):
                start = time.perf_counter()
                step()
                times[side].append((time.perf_counter() - start) * 1e3)
    return {side: statistics.median(values) for side, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(NETWORKS)}; all without one")
    parser.add_argument("--threads", type=thread_counts, default="1,2", help="numbers of threads (default: 1,2)")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--inductor", action="store_true", help="also torch.compile, which takes minutes to compile")
    arguments = parser.parse_args()
    if unknown := set(arguments.networks) - set(NETWORKS):
        parser.error(f"there is no network {', '.join(sorted(unknown))}; known are {', '.join(NETWORKS)}")
    print("times of a step in ms; in brackets the ratio to Fathom's")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks or NETWORKS:
            for threads in arguments.threads:
                torch.set_num_threads(threads)
                times = measured(sides_of(name, threads, arguments.inductor, pathlib.Path(folder)), int(arguments.rounds))
                others = "  ".join(f"{side} {ms:9.3f} ({ms / times['fathom']:.2f})" for side, ms in times.items() if side != "fathom")
                print(f"{name:14} {threads} threads  fathom {times['fathom']:9.3f}  {others}", flush=True)


if __name__ == "__main__":
    main()
