#!/usr/bin/env python3
"""Ensembles of decision trees beside ONNX Runtime.

    trees.py [--trees N] [--depth N] [--features N] [--classes N] [--batch 1,1000,10000] [--threads 1,2] [--rounds N]

Random full trees in single precision, on rows of normal numbers: a regressor, or with --classes a classifier whose leaves have a weight for every
class. Both sides run in this process and take turns; the median of all turns counts. Their results are compared first.
"""
import argparse
import statistics
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from timing import positive

import fathom


def make_model(random, trees, depth, features, classes):
    """Nodes are numbered level by level, so that the children of i are 2 i + 1 and 2 i + 2."""
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    each = {
        "nodeids": np.arange(count),
        "truenodeids": np.where(np.arange(count) < inner, 2 * np.arange(count) + 1, 0),
        "falsenodeids": np.where(np.arange(count) < inner, 2 * np.arange(count) + 2, 0),
    }
    nodes = {f"nodes_{name}": np.tile(ids, trees).tolist() for name, ids in each.items()}
    nodes["nodes_treeids"] = np.repeat(np.arange(trees), count).tolist()
    nodes["nodes_featureids"] = random.integers(0, features, trees * count).tolist()
    nodes["nodes_modes"] = (["BRANCH_LEQ"] * inner + ["LEAF"] * (count - inner)) * trees
    nodes["nodes_values"] = random.standard_normal(trees * count).astype(np.float32).tolist()
    targets = max(classes, 1)
    leaves = np.arange(inner, count)
    what = "class" if classes else "target"
    nodes[f"{what}_treeids"] = np.repeat(np.arange(trees), len(leaves) * targets).tolist()
    nodes[f"{what}_nodeids"] = np.tile(np.repeat(leaves, targets), trees).tolist()
    nodes[f"{what}_ids"] = np.tile(np.arange(targets), trees * len(leaves)).tolist()
    nodes[f"{what}_weights"] = (random.standard_normal(trees * len(leaves) * targets) / trees).astype(np.float32).tolist()
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", targets])]
    if classes:
        nodes["classlabels_int64s"] = list(range(classes))
        outputs.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]))
        made = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml", **nodes)
    else:
        made = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **nodes)
    graph = helper.make_graph([made], "trees", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", features])], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)], ir_version=8)


def measure(sides, seconds, rounds):
    """The median time of a call of each side, which take turns of many calls."""
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, call in sides.items():
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                call()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(all_times) for name, all_times in times.items()}


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=positive, default=100)
    parser.add_argument("--depth", type=positive, default=8)
    parser.add_argument("--features", type=positive, default=32)
    parser.add_argument("--classes", type=int, default=0, help="0: a regressor (default)")
    parser.add_argument("--batch", type=numbers, default=[1, 1000, 10000])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    model = make_model(random, arguments.trees, arguments.depth, arguments.features, arguments.classes)
    artifact = fathom.compile(model)
    print(f"{arguments.trees} trees of depth {arguments.depth}, {arguments.features} features")
    print(f"{'batch':>8} {'threads':>8} {'fathom us':>12} {'onnxruntime us':>15} {'ratio':>7}")
    for batch in arguments.batch:
        values = {"x": random.standard_normal((batch, arguments.features)).astype(np.float32)}
        for threads in arguments.threads:
            session = fathom.Session(artifact, threads=threads)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            other = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            for got, want in zip(session.run(None, values), other.run(None, values), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
            calls = {"fathom": lambda: session.run(None, values), "onnxruntime": lambda: other.run(None, values)}
            found = measure(calls, 0.2, arguments.rounds)
            ratio = found["onnxruntime"] / found["fathom"]
            print(f"{batch:>8} {threads:>8} {found['fathom'] * 1e6:>12.1f} {found['onnxruntime'] * 1e6:>15.1f} {ratio:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
