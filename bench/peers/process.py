"""The near end of a peer's process: starts it, asks it, and ends it."""

import json
import os
import pathlib
import select
import subprocess

import numpy as np
from peers.registry import Unavailable

WORKER = pathlib.Path(__file__).with_name("worker.py")


class PeerProcess:
    def __init__(self, name, python, model, threads, folder, limit, package_path=""):
        """`limit` seconds are what loading the model, or any one request, may take."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.folder, self.limit = name, folder, limit
        # Libraries that count threads by themselves shall count as many as the others.
        environment = os.environ | {
            name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS")
        }
        if package_path:
            environment["PYTHONPATH"] = str(package_path)
        # A file and not a pipe: nobody reads it while the peer runs.
        self.log = (folder / f"{name}-{threads}.log").open("w")
        self.process = subprocess.Popen(
            [python, WORKER, name, model, str(threads), folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
        )  # fmt: skip

    def ask(self, do, **arguments):
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Unavailable(self.epitaph()) from None
        if not select.select([self.process.stdout], [], [], self.limit)[0]:
            raise Unavailable(f"took more than {self.limit:.0f} s to {do}")
        line = self.process.stdout.readline()
        if not line:
            raise Unavailable(self.epitaph())
        answer = json.loads(line)
        if "error" in answer:
            raise Unavailable(first_line(answer["error"]))
        return answer

    def epitaph(self):
        code = self.process.wait()
        return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def outputs(self, inputs):
        given, results = self.folder / "inputs.npz", self.folder / f"{self.name}.npz"
        np.savez(given, *inputs.values())
        self.ask("outputs", names=list(inputs), inputs=str(given), outputs=str(results))
        with np.load(results) as arrays:
            return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def first_line(text, longest=160):
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= longest else line[: longest - 3] + "..."
