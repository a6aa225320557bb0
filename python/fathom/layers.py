"""The error of every node's outputs, for `fathom verify --layers`."""

from __future__ import annotations

import math

from .bisect import BATCH, Bisection
from .bounds import Bounds
from .compare import compare, tensors_of
from .subgraphs import name_of


def errors_by_layer(search: Bisection, bounds: Bounds) -> list[dict]:
    """Every value of the model's own graph beside the reference's, the furthest from its bound first.

    The values become outputs, some at a time, so that what the compiler keeps in registers or computes in another form is looked
    at too.
    """
    layers = []
    for start in range(0, len(search.candidates), BATCH):
        batch = search.candidates[start : start + BATCH]
        search.note(f"looking at {start + len(batch)} of {len(search.candidates)} values")
        for (node, name), pair in zip(batch, search.values([name for _, name in batch])):
            layers.append(_describe(node, name, pair, bounds))
    return sorted(layers, key=_distance, reverse=True)


def _distance(layer: dict) -> float:
    """What differs though nothing is tolerated comes first, and what could not be compared last."""
    return layer["units"] if layer["units"] is not None else -1.0 if layer["ok"] is None else math.inf


def _describe(node, name: str, pair, bounds: Bounds) -> dict:
    layer = {"node": name_of(node), "op": node.op_type, "output": name, "bound": bounds.of(name)}
    if pair is None:
        return layer | {"dtype": "", "shape": [], "max_abs": None, "units": None, "ok": None}
    compared = [
        compare(*tensors, bounds.of(name), bounds.of(name), bounds.levels(name)) for tensors in tensors_of(name, *pair)
    ]
    worst = max(compared, key=lambda comparison: math.inf if comparison.units is None else comparison.units)
    known = ("dtype", "shape", "max_abs", "units")
    return layer | {key: getattr(worst, key) for key in known} | {"ok": all(comparison.ok for comparison in compared)}
