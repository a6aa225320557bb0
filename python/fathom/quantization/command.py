"""`fathom quantize`: the tool calls run_command() with its options as JSON."""

from __future__ import annotations

import os
import sys

from ..command import print_result, run
from ..errors import Error, printable
from .static import quantize

# Of products that stay in floating point, so many have a line.
MOST_LINES = 20


class _Progress:
    """One line of a terminal that is written again and again."""

    def __init__(self, is_shown: bool):
        self.is_shown = is_shown

    def __call__(self, text: str):
        if self.is_shown:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            print(f"\r\033[K{printable(text)[: columns - 1]}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _print_report(report: dict):
    before, after = (f"{size / 1e6:.4g} MB" for size in report["bytes"])
    print(f"{report['output']}: {report['quantized']} of {report['products']} products in 8 bits, weights {before} -> {after}")
    print(f"ranges by {report['method']} of {report['samples']} samples, {report['values']} values of 8 bits")
    stays = [f"'{entry['node']}' stays in floating point: {entry['why']}" for entry in report["left"]]
    for decision in report["decisions"]:
        without = f"; without it the error is {decision['error']:.3g}" if decision["error"] is not None else ""
        stays.append(f"'{decision['node']}' stays in floating point: alone it brings {decision['sensitivity']:.3g}{without}")
    for line in stays[:MOST_LINES]:
        print(printable(line))
    if len(stays) > MOST_LINES:
        print(f"... and {len(stays) - MOST_LINES} more, which --json has")
    for name, error in report["errors"].items():
        print(f"output '{printable(name)}': relative error {error:.3g}")


def main(request: dict) -> int:
    if not request["calibrate"]:
        raise Error("--calibrate is missing", "F2001", 2, hint="it names samples: an .npz file, or a folder of .npy or .npz files")
    model = request["model"]
    output = request["output"] or os.path.basename(model).removesuffix(".onnx") + ".int8.onnx"
    progress = _Progress(not request["quiet"] and sys.stderr.isatty())
    try:
        quantized = quantize(
            model,
            request["calibrate"],
            output,
            method=request["method"],
            percentile=request["percentile"],
            per_channel=not request["per-tensor"],
            bias_correction=not request["no-bias-correction"],
            max_error=request["max-error"],
            keep_float=request["keep-float"],
            memory=int(request["memory"]),
            threads=request["threads"],
            note=progress,
        )
    finally:
        progress.end()
    report = {"output": output} | quantized.report
    if request["json"]:
        # Infinity is no number of JSON.
        report["errors"] = {name: error if error < float("inf") else None for name, error in report["errors"].items()}
    if request["json"] or not request["quiet"]:
        print_result(report, request["json"], _print_report)
    return 0


def run_command(request: str) -> int:
    """What the tool calls."""
    return run("quantize", main, request)
