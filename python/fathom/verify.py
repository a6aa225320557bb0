"""Compares a compiled model with a reference. `fathom verify` calls run_command() with its options as JSON."""

from __future__ import annotations

import os
import sys

import numpy as np

from .bisect import Bisection
from .command import fail, parse_dims, print_result, run
from .compare import compare, tensors_of
from .compile import compile as compile_model
from .compile import options as compile_options
from .compile import read_model
from .errors import Error, printable
from .inputs import random_inputs, read_inputs
from .reference import REFERENCES, import_onnx
from .session import Session


def verify(
    model,
    against="onnxruntime",
    seed=0,
    dims=None,
    inputs=None,
    *,
    threads=0,
    device=None,
    rtol=1e-3,
    atol=1e-4,
    bisect=True,
    note=lambda text: None,
    base_folder=None,
    **options,
) -> dict:
    """Compiles `model`, runs it and compares every output; `ok` in the result says whether all agree.

    `inputs` has values by name; those that it does not give are random, with the sizes `dims` of symbolic dimensions.
    `atol` is relative to the magnitudes beside each value (compare.tolerance). The model and other options are those of fathom.compile.
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
    outputs, failed = [], []
    for output, result, reference_result in zip(names, results, wanted):
        compared = [compare(*pair, rtol, atol) for pair in tensors_of(output, result, reference_result)]
        outputs += compared
        if not all(comparison.ok for comparison in compared):
            failed.append(output)
    report = {
        "model": os.path.basename(path) or "model",
        "against": against,
        "seed": seed,
        "inputs": {name: _shape_of(value) for name, value in inputs.items()},
        "threads": session.threads,
        "rtol": rtol,
        "atol": atol,
        "ok": not failed,
        "outputs": [output.as_dict() for output in outputs],
    }
    if failed and bisect:
        proto = onnx.load_from_string(data)
        search = Bisection(proto, folder, reference, inputs, options, run_on, rtol, atol, note)
        report["first_divergence"] = search.run(failed)
    return report


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
