#!/usr/bin/env python3
"""The share of the machine's peak that grouped 3x3 convolutions reach with one thread.

    grouped.py [CHANNELSxSIZE ...] [--conv-algorithm NAME] [--rounds N]

Every convolution has as many filters as channels. Of each kernel the least time over all rounds counts, against the peak that `fathom
explain --run` measures beside it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
FATHOM = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build")) / "bin" / "fathom"


def model(channels, size, groups):
    data = np.random.default_rng(0)
    weight = data.standard_normal((channels, channels // groups, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], group=groups, pads=[1] * 4), helper.make_node("Relu", ["c"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, channels, size, size))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "grouped", inputs, outputs, [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def explain(artifact):
    """The convolution's kernel, and the peak in GFLOP/s."""
    words = [FATHOM, "explain", artifact, "--run", "--threads", "1", "--json"]
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    kernel = next(k for k in report["kernels"] if any(op["op"] in ("Conv", "WinogradConv") for op in k["ops"]))
    return kernel, report["peak"]["gflop_per_second"]


def measure(channels, size, groups, arguments, folder):
    source, artifact = folder / "model.onnx", folder / "model.fathom"
    onnx.save(model(channels, size, groups), source)
    words = [FATHOM, "compile", source, "-o", artifact, "--conv-algorithm", arguments.conv_algorithm]
    subprocess.run(words, check=True, capture_output=True)
    runs = [explain(artifact) for _ in range(arguments.rounds)]
    kernel, peak = min((kernel for kernel, _ in runs), key=lambda k: k["ms"]), max(peak for _, peak in runs)
    flop = 2 * channels * (channels // groups) * 9 * size * size
    share = flop / (kernel["ms"] * 1e6) / peak
    print(f"{channels:5} @{size:3} {groups:6} {channels // groups:8} {kernel['class']:>13} {kernel['ms']:9.4f} {100 * share:6.0f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=[f"{channels}x{size}" for size in (28, 14) for channels in (64, 128, 256)])
    parser.add_argument("--conv-algorithm", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("channels    groups of each         class        ms    of peak")
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            channels, size = map(int, shape.split("x"))
            for groups in (2**i for i in range(channels.bit_length()) if channels % 2**i == 0):
                measure(channels, size, groups, arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
