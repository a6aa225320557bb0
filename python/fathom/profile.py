"""What runs took, as a trace for chrome://tracing and ui.perfetto.dev: a row for each thread of each thread that called."""

from __future__ import annotations

import json
import os

from .errors import Error


def trace(kernels: list[tuple[str, str]], runs: list) -> dict:
    """Of runs as the runtime notes them; times are microseconds since the first of them began."""
    first = min((start for start, _, _ in runs), default=0)
    events: list[dict] = []
    rows: dict[tuple[int, int], int] = {}
    for number, (start, caller, parts) in enumerate(runs):
        for kernel, launch, begin, end, tasks, worker in parts:
            row = rows.setdefault((caller, worker), len(rows))
            name, nodes = kernels[kernel]
            events.append(
                {
                    "name": name,
                    "cat": "kernel",
                    "ph": "X",
                    "ts": (start - first + begin) / 1e3,
                    "dur": (end - begin) / 1e3,
                    "pid": os.getpid(),
                    "tid": row,
                    "args": {"nodes": nodes, "run": number, "launch": launch, "tasks": tasks},
                }
            )
    for (caller, worker), row in rows.items():
        name = f"caller {caller}" + (f", worker {worker}" if worker else "")
        events.append({"name": "thread_name", "ph": "M", "pid": os.getpid(), "tid": row, "args": {"name": name}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def write_trace(kernels: list[tuple[str, str]], runs: list, path) -> str:
    path = os.fspath(path)
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(trace(kernels, runs), file)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror}", "F1014", 1) from error
    return path
