#!/usr/bin/env python3
"""Compares and times a folder of exported models beside ONNX Runtime, and prints a table.

    exports.py FOLDER [PATTERN ...] [--threads 1,2] [--rounds N] [--artifacts FOLDER]

FOLDER has models, and beside NAME.onnx inputs for several shapes: NAME.onnx.0.npz, NAME.onnx.1.npz, with arrays by name, as
tests/exports/export_networks.py --keep FOLDER writes them. A model without inputs gets random ones, as `fathom verify` does. PATTERN is a regular
expression that selects names. Every output is compared element by element, for every shape that ONNX Runtime runs, as `fathom verify` does; the last shape is
timed. What ONNX Runtime does not load or run is said and does not count.

The ratio is ONNX Runtime's time over Fathom's, taken in turns in one process: above 1 Fathom is faster. A time is the tenth percentile of the runs, with
one thread of their CPU time, so that others on the machine matter little. With --rounds 0 nothing is timed. --artifacts keeps the compiled models and
takes those that are there. Exits with 1 when a model that ONNX Runtime runs does not compile or differs.
"""
import argparse
import os
import pathlib
import re
import statistics
import sys

import numpy as np
import onnx
import onnxruntime
from timing import quantiles, thread_counts, turn

import fathom
from fathom.compare import compare, tensors_of
from fathom.inputs import random_inputs
from fathom.verify import ATOL, RTOL


class Skipped(Exception):
    """ONNX Runtime does not run the model."""


class Failed(Exception):
    """Fathom does not compile or run the model, or differs."""


def one_line(error, length=160):
    return " ".join(str(error).split())[:length]


def reference_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compiled(path, folder):
    if not folder:
        return fathom.compile(str(path))
    artifact = folder / (path.name.removesuffix(".onnx") + ".fathom")
    if not artifact.exists():
        partial = artifact.with_suffix(".partial")
        fathom.compile(str(path), str(partial))
        os.replace(partial, artifact)
    return artifact


def given_inputs(path):
    shapes = []
    while (file := pathlib.Path(f"{path}.{len(shapes)}.npz")).exists():
        shapes.append(dict(np.load(file)))
    return shapes


def difference(results, expected, names):
    """The largest difference of an output relative to its largest magnitude."""
    worst = 0.0
    for name, got, want in zip(names, results, expected, strict=True):
        for label, a, b in tensors_of(name, got, want):
            b = np.asarray(b)
            found = compare(label, a, b, RTOL, ATOL)
            if not found.ok:
                raise Failed(f"differs: {found.reason or f'{label}: {found.mismatches} of {b.size} elements, by up to {found.max_abs:.2g}'}")
            if b.size and b.dtype.kind == "f":
                worst = max(worst, found.max_abs / max(np.abs(b[np.isfinite(b)]).max(initial=0), 1e-30))
    return worst


class Pair:
    """A model in both."""

    def __init__(self, path, artifacts):
        self.path = path
        try:
            self.reference = reference_session(path, 1)
        except Exception as error:  # whatever it throws
            raise Skipped(f"ONNX Runtime does not load it: {one_line(error)}") from error
        self.names = [info.name for info in self.reference.get_outputs()]
        wanted = {info.name for info in self.reference.get_inputs()}
        self.shapes = [{name: array for name, array in shape.items() if name in wanted} for shape in given_inputs(path)]
        if self.shapes:  # before compiling: what cannot be compared need not be compiled
            self.run_reference()
        try:
            self.artifact = compiled(path, artifacts)
            self.session = fathom.Session(self.artifact, threads=1)
            if not self.shapes:
                self.shapes = [random_inputs(self.session)]
                self.run_reference()
        except fathom.Error as error:
            raise Failed(one_line(error)) from error

    def run_reference(self):
        """Keeps the shapes that ONNX Runtime runs: an exporter may have made a size a constant."""
        self.expected, shapes, reason = [], [], ""
        for shape in self.shapes:
            try:
                self.expected.append(self.reference.run(None, shape))
                shapes.append(shape)
            except Exception as error:
                reason = one_line(error)
        self.shapes = shapes
        if not shapes:
            raise Skipped(f"ONNX Runtime does not run it: {reason}")

    def difference(self):
        try:
            return max(difference(self.session.run(None, shape), expected, self.names) for shape, expected in zip(self.shapes, self.expected))
        except fathom.Error as error:
            raise Failed(one_line(error)) from error

    def times(self, threads, rounds):
        """Milliseconds of ONNX Runtime and of Fathom, for the last shape."""
        sessions = [self.reference, self.session] if threads == 1 else [reference_session(self.path, threads), fathom.Session(self.artifact, threads=threads)]
        found = [[], []]
        for _ in range(rounds):
            for session, times in zip(sessions, found):
                times += [cpu if threads == 1 else wall for wall, cpu in turn(lambda: session.run(None, self.shapes[-1]))]
        return [quantiles(times)["p10"] for times in found]


def measure(path, options):
    """A row of the table, and the ratio for each number of threads."""
    pair = Pair(path, options.artifacts)
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    cells, ratios = [f"{nodes}", f"{len(pair.shapes)}", f"{pair.difference():.1e}"], []
    for threads in options.threads if options.rounds else []:
        theirs, own = pair.times(threads, options.rounds)
        ratios.append(theirs / own)
        cells += [f"{theirs:.2f}", f"{own:.2f}", f"{ratios[-1]:.2f}"]
    return cells, ratios


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--threads", type=thread_counts, default="1", metavar="N,N", help="numbers of threads, separated by commas (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--artifacts", type=pathlib.Path, metavar="FOLDER", help="where compiled models are kept")
    options = parser.parse_args()
    chosen = re.compile("|".join(options.patterns))
    paths = [path for path in sorted(options.folder.glob("*.onnx")) if chosen.search(path.stem)]
    if not paths:
        parser.error(f"there is no such model in {options.folder}")
    if options.artifacts:
        options.artifacts.mkdir(exist_ok=True)
    header = ["network", "nodes", "shapes", "difference"]
    for threads in options.threads if options.rounds else []:
        header += ["ONNX Runtime, ms", "Fathom, ms", f"ratio, {threads} thread{'s' * (threads > 1)}"]
    row(header)
    row(["---"] * len(header))
    found, skipped, failed = [], [], []
    for path in paths:
        try:
            cells, ratios = measure(path, options)
            row([path.stem, *cells])
            found.append(ratios)
        except (Skipped, Failed) as reason:
            (skipped if isinstance(reason, Skipped) else failed).append(f"{path.stem}: {reason}")
    print(f"\n{len(found)} agree, {len(failed)} do not compile or differ, {len(skipped)} are not run by ONNX Runtime")
    for threads, ratios in zip(options.threads, zip(*found)):
        print(f"threads {threads}: geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}, median {statistics.median(ratios):.2f}")
    for line in skipped + failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
