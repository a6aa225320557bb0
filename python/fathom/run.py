"""`fathom-run`: runs, measures and describes a compiled model where there is no compiler."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import numpy as np

from .command import parse_dims, tell_errors
from .errors import Error
from .inputs import random_inputs, read_inputs
from .session import Session


def _arguments(words):
    parser = argparse.ArgumentParser(
        prog="fathom-run", description="Runs a compiled model; inputs that are not given are random, the same for the same seed."
    )
    parser.add_argument("model", metavar="MODEL.fathom")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--bench", action="store_true", help="measure how long a run takes")
    what.add_argument("--inspect", action="store_true", help="print what the model takes and gives, as JSON")
    parser.add_argument("-i", "--input", metavar="NAME=@FILE.npy", action="append", default=[], help="an input's values")
    parser.add_argument("--output-dir", metavar="DIR", help="write DIR/NAME.npy for every output, with _ for / in names")
    parser.add_argument("--dim", metavar="NAME=SIZE", action="append", default=[], help="a symbolic dimension's size")
    parser.add_argument("--threads", type=int, default=0, help="0: FATHOM_NUM_THREADS, or else all CPUs")
    parser.add_argument("--device", type=int, help="of a model for devices: which, from 0")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs")
    parser.add_argument("--min-time", type=float, default=1, metavar="SECONDS", help="how long to measure (default: 1)")
    return parser.parse_args(words)


def _run(session: Session, inputs: dict, folder: str | None) -> None:
    results = zip(session.outputs, session.run(None, inputs))
    for info, value in results:
        if folder and isinstance(value, np.ndarray):
            path = os.path.join(folder, info.name.replace("/", "_") + ".npy")
            try:
                os.makedirs(folder, exist_ok=True)
                np.save(path, value)
            except OSError as error:
                raise Error(f"cannot write '{path}': {error.strerror}", "F1014", 1) from error
            print(f"{info.name} {value.dtype}{list(value.shape)} -> {path}")
        elif isinstance(value, np.ndarray) and value.size and value.dtype.kind in "biuf":
            print(f"{info.name} {value.dtype}{list(value.shape)} min {value.min()} max {value.max()} mean {value.mean(dtype=np.float64)}")
        else:
            print(f"{info.name} {value!r}")


def _measure(session: Session, inputs: dict, seconds: float) -> None:
    times: list[float] = []
    for _ in range(2):
        session.run(None, inputs)
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, inputs)
        times.append(time.perf_counter() - start)
    low, median, high = np.percentile(times, [10, 50, 90]) * 1e3
    print(f"{median:.3g} ms median, {1e3 / median:.3g}/s, {session.threads} threads; p10 {low:.3g}, p90 {high:.3g} ms, {len(times)} runs")


def main(words=None) -> int:
    given = _arguments(words)

    def work():
        session = Session(given.model, threads=given.threads, device=given.device)
        if given.inspect:
            return print(json.dumps(session.manifest, indent=2))
        inputs = random_inputs(session, given.seed, parse_dims(given.dim), read_inputs(session, given.input))
        if given.bench:
            _measure(session, inputs, given.min_time)
        else:
            _run(session, inputs, given.output_dir)

    return tell_errors(work)


if __name__ == "__main__":
    sys.exit(main())
