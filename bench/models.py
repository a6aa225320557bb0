#!/usr/bin/env python3
"""Times compiled models beside ONNX Runtime and other peers, in turns, so that all meet the same machine.

    models.py [MODEL ...] [--all] [--peers torch,iree,...] [--threads 1,2] [--rounds N] [--json FILE] [--html FILE]

A MODEL is a name in models/ (it gets seeded weights under build/models) or a path to an .onnx file. Every side runs in a process of its
own for every number of threads; in every round each rests, warms up once and then runs for a while. The table shows medians over all
rounds and in brackets the ratio to Fathom's, where more than 1 means that Fathom is faster. Results are compared with ONNX Runtime's before
anything is timed.

Peers other than ONNX Runtime are installed from PyPI into build/peers when --peers names them; one that cannot be installed, or cannot
run a model, is left out, with the reason. --json writes the times in Google Benchmark's format, --html a page with plots.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

from page.page import render
from peers.process import PeerProcess
from peers.registry import REFERENCE, Unavailable, install, parse_peers
from report import header_text, latencies, memory_of, row_text, summary_lines
from timing import positive, thread_counts
from turns import take_turns
from zoo import ALL, BUILD, FEW, is_model, model_file, results_agree, weight_bytes

import fathom  # isort: skip
from fathom.inputs import random_inputs  # isort: skip

WORK = BUILD / "measured"


class Benchmark:
    """One run of this program: what was asked for, and the results so far."""

    def __init__(self, arguments):
        self.arguments = arguments
        lists = ("benchmarks", "models", "loads", "registers", "skipped", "rooflines")
        self.data = {"context": describe_machine(arguments)} | {name: [] for name in lists}
        self.pythons = {}
        for peer in arguments.peers:
            try:
                self.pythons[peer.name] = install(peer, BUILD / "peers")
            except Unavailable as reason:
                self.skip(peer.name, reason)

    def skip(self, peer, reason, **where):
        self.data["skipped"].append({"peer": peer, "reason": str(reason), **where})
        print(f"  {peer}: {reason}", file=sys.stderr)

    def measure_model(self, name):
        path = model_file(name)
        artifact = WORK / f"{path.stem}.fathom"
        start = time.perf_counter()
        fathom.compile(path, artifact)
        entry = {"model": path.stem, "compile_seconds": time.perf_counter() - start, "artifact_bytes": artifact.stat().st_size}
        self.data["models"].append(entry)
        entry["memory"] = self.measure(path, artifact)
        for threads in self.arguments.threads:
            row = latencies(self.data)[path.stem, threads]
            print(row_text(path.stem, threads, row, self.pythons), flush=True)
        if self.arguments.json or self.arguments.html:
            self.data["rooflines"].append(roofline(path.stem, artifact, self.arguments.threads[0]))
        artifact.unlink()  # those of the whole zoo take gigabytes

    def measure(self, path, artifact):
        """Times all sides with every number of threads; returns what memory the model took with the first of them."""
        few = self.arguments.threads[0]
        session = fathom.Session(artifact, few)
        self.data["context"]["cpu"] = session.manifest["target"]["cpu"]
        inputs = random_inputs(session, self.arguments.seed)
        with contextlib.ExitStack() as stack:
            sides = {}
            for threads in self.arguments.threads:
                started = self.start(path, artifact, threads, inputs, stack)
                sides |= {(threads, name): side for name, side in started.items()}

            def leave_out(threads, name, reason):
                if name in ("fathom", REFERENCE):
                    sys.exit(f"{path.stem}: {name}: {reason}")
                self.skip(name, reason, model=path.stem, threads=threads)

            take_turns(path.stem, sides, self.arguments.rounds, self.data, leave_out)
            ours, theirs = ({**sides[few, name].ask("memory"), "before": sides[few, name].before} for name in ("fathom", REFERENCE))
            return memory_of(session.manifest, few, ours, theirs, weight_bytes(path))

    def start(self, path, artifact, threads, inputs, stack):
        """The processes of all sides that load the model and compute what ONNX Runtime computes."""
        sides, expected = {}, None
        for name, python in {**self.pythons, "fathom": sys.executable}.items():
            ours = name == "fathom"
            side = PeerProcess(
                name, python, artifact if ours else path, threads, WORK, self.arguments.limit, BUILD / "python" if ours else ""
            )
            stack.callback(side.close)
            try:
                answer = side.ask("load")
                results = side.outputs(inputs)
                if expected is not None and not results_agree(results, expected):
                    raise Unavailable("the results differ from ONNX Runtime's")
            except Unavailable as reason:
                if ours or name == REFERENCE:
                    sys.exit(f"{path.stem}: {name}: {reason}; see fathom verify")
                self.skip(name, reason, model=path.stem, threads=threads)
                continue
            side.before = answer["before"]
            self.data["context"]["versions"][name] = answer["version"]
            expected = expected if name != REFERENCE else results
            sides[name] = side
        return {"fathom": sides.pop("fathom"), **sides}


def describe_machine(arguments):
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "num_cpus": os.cpu_count(),
        "machine": platform.machine(),
        "clock": arguments.clock,
        "versions": {},
    }


def roofline(model, artifact, threads):
    """What every kernel does and how long it takes, beside what the machine could do."""
    command = [BUILD / "bin/fathom", "explain", artifact, "--run", "--threads", str(threads), "--json"]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    keys = ("symbol", "class", "flop", "bytes", "ms", "launches")
    return {"model": model, "peak": told["peak"], "kernels": [{key: kernel.get(key) for key in keys} for kernel in told["kernels"]]}


def peers_argument(text):
    try:
        return parse_peers(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {' '.join(FEW)}")
    parser.add_argument("--all", action="store_true", help="all networks that the tests verify")
    parser.add_argument("--peers", type=peers_argument, default="", metavar="NAMES", help="others to measure besides ONNX Runtime: torch, torch-compile, openvino, iree, tvm, or all")
    parser.add_argument("--threads", type=thread_counts, default="1,2", metavar="N,N", help="numbers of threads, separated by commas (default: 1,2)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="compare wall times, or CPU times with one thread, for a machine that does other things too (default: wall)")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="a peer that takes longer to load a model is left out (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there")
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE", help="write a page with plots there")
    parser.add_argument("--kernels", type=pathlib.Path, metavar="FILE", help="show these results of `bench kernels --json FILE` on the page, too")
    arguments = parser.parse_args()
    if arguments.clock == "cpu" and arguments.threads != [1]:
        parser.error("--clock cpu says something with --threads 1 only")
    for file in (arguments.json, arguments.html):
        if file and (file.is_dir() or not file.parent.is_dir()):
            parser.error(f"'{file}' cannot be a file")
    for name in arguments.models:
        if not is_model(name):
            parser.error(f"there is no model '{name}'; a name in models/ or a path to an .onnx file is wanted")
    return arguments


def write_results(data, arguments, render=render):
    if arguments.json:
        arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    if arguments.html:
        arguments.html.write_text(render(data))


def main():
    arguments = parse_arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    benchmark = Benchmark(arguments)
    print(header_text(benchmark.pythons))
    if arguments.kernels:
        benchmark.data["kernels"] = json.loads(arguments.kernels.read_text())["benchmarks"]
    for name in arguments.models or (ALL if arguments.all else FEW):
        benchmark.measure_model(name)
        # After every model, so that who interrupts a long run has something.
        write_results(benchmark.data, arguments)
    print("\n".join(summary_lines(benchmark.data)))


if __name__ == "__main__":
    try:
        main()
    except fathom.Error as error:
        sys.exit(f"error: {error}")
