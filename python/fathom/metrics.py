"""Counters and a histogram in the text format of Prometheus."""

from __future__ import annotations

import bisect
from collections import Counter

_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]


class Metrics:
    """What is told of the requests to a few models. For one thread."""

    def __init__(self, models: list[str]):
        self._requests: Counter = Counter()
        self._seconds = {model: [0] * (len(_BOUNDS) + 1) for model in models}
        self._sums = dict.fromkeys(models, 0.0)

    def note(self, model: str, outcome: str, seconds: float) -> None:
        """A request that has ended: with "ok", an error's code, or "cancelled"."""
        self._requests[model, outcome] += 1
        self._seconds[model][bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._sums[model] += seconds

    def text(self, stats: dict[str, dict[str, int]]) -> str:
        """With what the queues of the models tell."""
        lines = _family("fathom_requests_total", "counter", "Requests that have ended, by how")
        for (model, outcome), count in sorted(self._requests.items()):
            lines.append(f'fathom_requests_total{{model="{_escape(model)}",outcome="{outcome}"}} {count}')
        lines += _family("fathom_request_seconds", "histogram", "From the head of a request to its response")
        for model, counts in self._seconds.items():
            label, total = f'model="{_escape(model)}"', 0
            for bound, count in zip([*_BOUNDS, "+Inf"], counts):
                total += count
                lines.append(f'fathom_request_seconds_bucket{{{label},le="{bound}"}} {total}')
            lines.append(f"fathom_request_seconds_sum{{{label}}} {self._sums[model]:.6f}")
            lines.append(f"fathom_request_seconds_count{{{label}}} {total}")
        for name, key, kind, what in (
            ("fathom_queue_length", "pending", "gauge", "Requests that wait"),
            ("fathom_running", "running", "gauge", "Requests that run"),
            ("fathom_runs_total", "runs", "counter", "Runs, each of one or several requests"),
        ):
            lines += _family(name, kind, what)
            lines += [f'{name}{{model="{_escape(model)}"}} {found[key]}' for model, found in stats.items()]
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}.", f"# TYPE {name} {kind}"]


def _escape(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
