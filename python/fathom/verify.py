"""Compares a compiled model with a reference. `fathom verify` calls run_command() with its options as JSON."""

from __future__ import annotations

import os
import sys

import numpy as np

from .bisect import Bisection, declared_types
from .bounds import Bounds
from .command import fail, parse_dims, print_result, run
from .compare import compare, tensors_of
from .compile import compile as compile_model
from .compile import options as compile_options
from .compile import read_model
from .errors import Error, printable
from .inputs import random_inputs, read_inputs
from .layers import errors_by_layer
from .reference import REFERENCES, import_onnx
from .session import Session

# Of every output at least: of itself, and of the magnitudes beside it.
RTOL, ATOL = 1e-3, 1e-4


def verify(
    model,
    against="onnxruntime",
    seed=0,
    dims=None,
    inputs=None,
    *,
    threads=0,
    device=None,
    rtol=None,
    atol=None,
    bisect=True,
    layers=False,
    note=lambda text: None,
    base_folder=None,
    **options,
) -> dict:
    """Compiles `model`, runs it and compares every output; `ok` in the result says whether all agree.

    `inputs` has values by name; those that it does not give are random, with the sizes `dims` of symbolic dimensions.
    `atol` is relative to the magnitudes beside each value (compare.tolerance). Without them an output is allowed what follows from its
    type and how often it was rounded on its way (bounds.py), 1e-3 and 1e-4 at least; quantised numbers may be levels apart, but not with
    fp="strict". With `layers` the result has the error of every node's outputs, too. The model and other options are those of
    fathom.compile.
    """
    if against not in REFERENCES:
        raise Error(f"against is one of {', '.join(REFERENCES)}, not {against!r}", "F2001", 2)
    path, data, folder = read_model(model, base_folder)
    run_on = {"threads": threads, "device": device}
    note("compiling")
    session = Session(compile_model(model, base_folder=base_folder, **options), **run_on)
    # The command line's are files, whose tensors only the compiled model can put together.
    given = inputs(session) if callable(inputs) else inputs
    note("running the compiled model")
    inputs = random_inputs(session, seed, dims, given)
    results = session.run(None, inputs)
    onnx = import_onnx()
    if path:
        folder = os.path.dirname(path) or "."
        with open(path, "rb") as file:
            data = file.read()
    reference = REFERENCES[against]
    names = [info.name for info in session.outputs]
    note(f"running {against}")
    wanted = reference(data, folder, threads).run(names, inputs)
    proto = onnx.load_from_string(data)
    tolerated = Tolerances(proto, options.get("fp"), rtol, atol)
    outputs, failed = [], []
    for output, result, reference_result in zip(names, results, wanted):
        compared = [compare(*pair, *tolerated.of(output)) for pair in tensors_of(output, result, reference_result)]
        outputs += compared
        if not all(comparison.ok for comparison in compared):
            failed.append(output)
    report = {
        "model": os.path.basename(path) or "model",
        "against": against,
        "seed": seed,
        "inputs": {name: _shape_of(value) for name, value in inputs.items()},
        "threads": session.threads,
        "rtol": tolerated.rtol,
        "atol": tolerated.atol,
        "ok": not failed,
        "outputs": [output.as_dict() for output in outputs],
    }
    if layers or (failed and bisect):
        search = Bisection(proto, folder, reference, inputs, options, run_on, tolerated.of, note)
    if layers:
        report["layers"] = errors_by_layer(search, tolerated.bounds)
    if failed and bisect:
        report["first_divergence"] = search.run(failed)
    return report


class Tolerances:
    """`of(name)`: what compare() takes for a value, as it was asked for or else as its type and its way there have it."""

    def __init__(self, proto, fp: str | None, rtol: float | None, atol: float | None):
        self.bounds = Bounds(proto, declared_types(proto), fp == "strict")
        self.rtol, self.atol = (RTOL if rtol is None else rtol), (ATOL if atol is None else atol)
        self._given = rtol is not None or atol is not None

    def of(self, name: str) -> tuple[float, float, int]:
        if self._given:
            return self.rtol, self.atol, 0
        bound = self.bounds.of(name)
        return max(self.rtol, bound), max(self.atol, bound), self.bounds.levels(name)


def _shape_of(value) -> list | None:
    if isinstance(value, (list, tuple)):
        return [_shape_of(element) for element in value]
    return list(np.shape(value)) if value is not None else None


def _print_report(report: dict):
    rows = [("output", "type", "shape", "max abs", "max rel", "max ulp", "")]
    for output in report["outputs"]:
        verdict = "ok" if output["ok"] else output["reason"] or f"{output['mismatches']} values differ"
        shape = "[" + ",".join(map(str, output["shape"])) + "]"
        numbers = [f"{output[key]:.3g}" for key in ("max_abs", "max_rel", "max_ulp")]
        rows.append((printable(output["name"]), output["dtype"], shape, *numbers, verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if "layers" in report:
        _print_layers(report["layers"])
    if "first_divergence" not in report:
        return
    found = report["first_divergence"]
    if not found:
        print("no node diverges on its own")
        return
    places = reversed(found.get("within", []))
    within = "".join(f" in {place['where']} of '{printable(place['node'])}' ({place['op']})" for place in places)
    print(
        f"first node that diverges: '{printable(found['node'])}' ({found['op']}){within}, "
        f"its output '{printable(found['output'])}' {found['how']}:"
    )
    errors = ", ".join(f"max {kind} {found[f'max_{kind}']:.3g}" for kind in ("abs", "rel", "ulp"))
    print(f"  {errors}, {found['mismatches']} values differ")


def _print_layers(layers: list[dict]):
    """A line for each, the furthest from its bound first."""
    rows = [("node", "op", "output", "type", "max abs", "bound", "of bound")]
    for layer in layers:
        numbers = [f"{layer[key]:.3g}" if layer[key] is not None else "" for key in ("max_abs", "bound", "units")]
        if layer["units"] is None:
            numbers[2] = "not compared" if layer["ok"] is None else "differs"
        names = [printable(layer["node"]), layer["op"], printable(layer["output"]), layer["dtype"]]
        rows.append((*names, *numbers))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(f"{len(layers)} values, each against the reference; the bound is relative to the magnitudes beside it:")
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main(request: dict) -> int:
    quiet = request["quiet"] or not sys.stderr.isatty()

    def note(text):
        if not quiet:
            print(text, file=sys.stderr)

    dims = parse_dims(request["dim"])
    given = {name.replace("-", "_"): value for name, value in request.items() if name != "dim"}
    options = {option["name"]: given[option["name"]] for option in compile_options() if option["name"] in given}
    report = verify(
        request["model"],
        against=request["against"],
        seed=request["seed"],
        dims={name: size for name, size in dims.items() if isinstance(size, int)},
        inputs=lambda session: read_inputs(session, request["input"]),
        threads=request["threads"],
        device=request["device"],
        rtol=request["rtol"],
        atol=request["atol"],
        bisect=not request["no-bisect"],
        layers=request["layers"],
        note=note,
        dim={name: ends for name, ends in dims.items() if not isinstance(ends, int)} or None,
        **options,
    )
    print_result(report, request["json"], _print_report)
    if report["ok"]:
        return 0
    return fail(f"[F4001] the results differ from those of {report['against']} (seed {report['seed']})", 4)


def run_command(request: str) -> int:
    """What the tool calls."""
    return run("verify", main, request)
