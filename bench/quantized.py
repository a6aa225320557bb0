#!/usr/bin/env python3
"""Quantised forms of models beside their floating-point ones and ONNX Runtime.

    quantized.py [MODEL ...] [--dynamic] [--threads 1,2] [--rounds N] [--reduce-range]

A MODEL is a name in models/. onnxruntime.quantization quantises it, per channel and with a few random inputs to calibrate by: to pairs of
QuantizeLinear and DequantizeLinear, or with --dynamic to MatMulInteger. With --reduce-range weights have 7 bits, as x86-64 without VNNI likes it.
All sides run in this process and take turns; the medians of all runs count. Results are compared before anything is timed.
"""
import argparse
import pathlib
import statistics
import tempfile

import numpy as np
import onnx
import onnxruntime
from timing import positive, thread_counts, times_in_turns
from zoo import BUILD, model_file

import fathom  # isort: skip
from fathom.inputs import random_inputs  # isort: skip

FEW = "resnet18 mobilenet_v2 bert_base_128".split()


class Samples:
    """Random inputs, as the quantiser asks for them."""

    def __init__(self, path, count):
        session = fathom.Session(fathom.compile(path))
        self.left = [random_inputs(session, seed) for seed in range(count)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantised(name, dynamic, reduce_range):
    """The file of the model's quantised form, which is made once."""
    from onnxruntime import quantization

    path = BUILD / "models" / f"{name}.{'dynamic' if dynamic else 'qdq'}{'7' if reduce_range else '8'}.onnx"
    if path.exists():
        return path
    with tempfile.TemporaryDirectory() as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        quantization.quant_pre_process(onnx.load(model_file(name)), prepared, skip_symbolic_shape=True)
        common = {"per_channel": True, "reduce_range": reduce_range, "weight_type": quantization.QuantType.QInt8}
        if dynamic:
            quantization.quantize_dynamic(prepared, path, **common)
        else:
            quantization.quantize_static(prepared, path, Samples(model_file(name), 2), quant_format=quantization.QuantFormat.QDQ,
                                         activation_type=quantization.QuantType.QUInt8, **common)
    return path


def reference(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def distance(results, expected):
    """Of the first result, in parts of its own deviation."""
    got, want = (np.asarray(side[0], np.float64) for side in (results, expected))
    return float(np.sqrt(np.mean((got - want) ** 2)) / (want.std() + 1e-30))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=FEW)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--reduce-range", action="store_true")
    parser.add_argument("--threads", type=thread_counts, default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=5)
    arguments = parser.parse_args()
    print(f"{'model':24} threads   int8 ms   fp32 ms   ONNX Runtime int8   fp32/int8   theirs/int8   distance to theirs, to fp32")
    for name in arguments.models:
        path, plain = quantised(name, arguments.dynamic, arguments.reduce_range), model_file(name)
        artifacts = {"int8": fathom.compile(path), "fp32": fathom.compile(plain)}
        for threads in arguments.threads:
            sides = {kind: fathom.Session(artifact, threads=threads) for kind, artifact in artifacts.items()}
            sides["theirs"] = reference(path, threads)
            inputs = random_inputs(sides["fp32"], seed=1)
            results = {kind: side.run(None, inputs) for kind, side in sides.items()}
            apart = [distance(results["int8"], results[other]) for other in ("theirs", "fp32")]
            times = {kind: statistics.median(all_times) for kind, all_times in times_in_turns(sides, inputs, arguments.rounds).items()}
            print(f"{name:24} {threads:7} {times['int8']:9.2f} {times['fp32']:9.2f} {times['theirs']:19.2f} "
                  f"{times['fp32'] / times['int8']:11.2f} {times['theirs'] / times['int8']:13.2f} {apart[0]:20.4f} {apart[1]:9.4f}", flush=True)


if __name__ == "__main__":
    main()
