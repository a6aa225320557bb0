"""A peer in a process of its own: loads one model and answers requests, one line of JSON each, until its input ends.

    worker.py PEER MODEL THREADS FOLDER

It runs in the peer's own Python environment, which has NumPy and what the peer needs, and nothing of Fathom.
"""

import importlib
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from timing import turn  # noqa: E402


def memory_bytes():
    """This process's resident memory, now and at its most."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    kibibytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Vm")}
    return {"now": kibibytes["VmRSS"] * 1024, "peak": kibibytes["VmHWM"] * 1024}


class Worker:
    def __init__(self, peer, model, threads, folder):
        self.backend = importlib.import_module(f"with_{peer.replace('-', '_')}")
        self.arguments = pathlib.Path(model), int(threads), pathlib.Path(folder)

    def load(self):
        before = memory_bytes()["now"]
        self.run, version = self.backend.load(*self.arguments)
        return {"version": version, "before": before}

    def outputs(self, names, inputs, outputs):
        """Runs once on arrays from a file and writes the results to another."""
        with np.load(inputs) as arrays:
            self.inputs = {name: arrays[f"arr_{i}"] for i, name in enumerate(names)}
        np.savez(outputs, *self.run(self.inputs))
        return {}

    def turn(self, seconds, cpus):
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), cpus)
        return {"times": turn(lambda: self.run(self.inputs), seconds)}

    def memory(self):
        return memory_bytes()


def main():
    # Libraries print as they like; only answers may go where the answers are read.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            worker = worker or Worker(*sys.argv[1:])
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # whatever a peer cannot do is its answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
