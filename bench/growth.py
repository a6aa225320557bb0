#!/usr/bin/env python3
"""How a compile's time and memory grow with the number of nodes, for graphs of several shapes.

    growth.py [SHAPE ...] [--nodes 1000,4000,10000,50000] [--limit SECONDS] [--target CPU] [--json FILE]

Every compile is a process of its own. Beside the time that passed stands that of all its threads, its largest resident size, and the exponent by
which the threads' time grew since the row before: 1 is linear, 2 quadratic.
"""
import argparse
import json
import math
import os
import pathlib
import signal
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
FATHOM = ROOT / "build/bin/fathom"
SIZES = [16, 16]


class Graph:
    """Nodes that are added one by one, with names of their own."""

    def __init__(self):
        self.nodes, self.weights, self.given, self.sizes = [], [], ["x"], SIZES

    def add(self, operator, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def input(self):
        self.given.append(f"x{len(self.given)}")
        return self.given[-1]

    def weight(self, values, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def integers(self, *values):
        return self.weight(values, np.int64)

    def model(self, *outputs):
        def declared(names, sizes):
            return [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in names]

        graph = helper.make_graph(self.nodes, "g", declared(self.given, self.sizes), declared(outputs, None), self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain(g, nodes):
    x = "x"
    for i in range(nodes):
        x = g.add(("Tanh", "Relu")[i % 2], x)
    return [x]


def wide(g, nodes):
    """All nodes but one read the input and are joined by the last."""
    parts = [g.add("Mul", "x", g.weight(1 + i / nodes)) for i in range(nodes - 1)]
    return [g.add("Concat", *parts, axis=0)]


def tree(g, nodes):
    """Half of the nodes read the input, the others join two each."""
    level = [g.add("Mul", "x", g.weight(1 + i / nodes)) for i in range(nodes // 2)]
    while len(level) > 1:
        joined = [g.add("Add", a, b) for a, b in zip(level[::2], level[1::2])]
        level = joined + level[2 * len(joined) :]
    return level


def ladder(g, nodes):
    """Two values, each made of both of the step before."""
    a, b = "x", g.input()
    for _ in range(nodes // 2):
        a, b = g.add("Max", a, b), g.add("Sub", a, b)
    return [a, b]


def swish(g, nodes):
    x = "x"
    for _ in range(nodes // 2):
        x = g.add("Mul", x, g.add("Sigmoid", x))
    return [x]


def doubling(g, nodes):
    x = "x"
    for _ in range(nodes):
        x = g.add("Add", x, x)
    return [x]


def layers(g, nodes):
    """Products, each with an elementwise node behind it, over the same weights."""
    x, weight = "x", g.weight(np.eye(SIZES[-1]))
    for _ in range(nodes // 2):
        x = g.add("Relu", g.add("MatMul", x, weight))
    return [x]


def residual(g, nodes):
    """Blocks of a product and an addition of what the block began with."""
    x, weight = "x", g.weight(np.eye(SIZES[-1]))
    for _ in range(nodes // 3):
        x = g.add("Add", x, g.add("MatMul", g.add("Softmax", x), weight))
    return [x]


def movement(g, nodes):
    """Elementwise nodes between transposes."""
    x = "x"
    for i in range(nodes // 2):
        x = g.add("Transpose", g.add(("Sin", "Abs")[i % 2], x), perm=[1, 0])
    return [x]


def rolling(g, nodes):
    """A buffer that loses its first row and gets others behind: two nodes with a size that only the run knows, each."""
    g.sizes = ["rows", 4]
    x, one, end, axis = "x", g.integers(1), g.integers(2**31 - 1), g.integers(0)
    more = g.input()
    for _ in range(nodes // 2):
        x = g.add("Concat", g.add("Slice", x, one, end, axis), more, axis=0)
    return [x]


def sized(g, nodes):
    """Sizes computed from the sizes of what was made before, five nodes for each."""
    g.sizes = ["rows"]
    x, three, two, seven, one = "x", g.integers(3), g.integers(2), g.integers(7), g.integers(1)
    row = g.weight([1.5])
    for _ in range(nodes // 6):
        size = g.add("Mod", g.add("Max", g.add("Div", g.add("Shape", x), three), two), seven)
        x = g.add("Expand", row, g.add("Add", size, one))
    return [x]


def branch(g, nodes):
    """A chain within a branch that a condition of the run takes."""
    inner = Graph()
    (last,) = chain(inner, nodes - 3)
    body = [helper.make_graph(inner.nodes, "body", [], [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)])]
    body.append(helper.make_graph([helper.make_node("Neg", ["x"], ["other"])], "else", [], [helper.make_tensor_value_info("other", TensorProto.FLOAT, None)]))
    condition = g.add("Greater", g.add("ReduceMax", "x", keepdims=0), g.weight(0))
    g.nodes.append(helper.make_node("If", [condition], ["joined"], "if", then_branch=body[0], else_branch=body[1]))
    return ["joined"]


SHAPES = {f.__name__: f for f in (chain, wide, tree, ladder, swish, doubling, layers, residual, movement, rolling, sized, branch)}


def write_model(shape, nodes, path):
    g = Graph()
    onnx.save(g.model(*SHAPES[shape](g, nodes)), path)


def measure(command, limit):
    """Seconds that passed, those of all threads, and the largest resident size in MiB; None where it failed or took longer than the limit."""
    start = time.perf_counter()
    process = os.spawnvp(os.P_NOWAIT, command[0], command)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(process, signal.SIGKILL))
    signal.alarm(limit)
    _, status, usage = os.wait4(process, 0)
    signal.alarm(0)
    seconds = time.perf_counter() - start
    return (seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024) if status == 0 else None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"default: all of {' '.join(SHAPES)}")
    parser.add_argument("--nodes", default="1000,4000,10000,50000", help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which a compile is ended (default: %(default)s)")
    parser.add_argument("--target", default="host", help="as `fathom compile --target` takes it")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="writes the table's figures, too")
    parser.add_argument("--compiler", default=str(FATHOM), help="another build's (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.shapes = arguments.shapes or list(SHAPES)
    for shape in arguments.shapes:
        if shape not in SHAPES:
            parser.error(f"there is no shape '{shape}'")
    arguments.nodes = sorted(int(count) for count in arguments.nodes.split(","))
    return arguments


def main():
    arguments = parse_arguments()
    rows = []
    print(f"{'shape':10} {'nodes':>7} {'seconds':>9} {'threads':>9} {'MiB':>7} {'exponent':>9}")
    with tempfile.TemporaryDirectory() as folder:
        model, artifact = f"{folder}/model.onnx", f"{folder}/model.fathom"
        for shape in arguments.shapes:
            before = None
            for nodes in arguments.nodes:
                write_model(shape, nodes, model)
                command = [arguments.compiler, "compile", model, "-o", artifact, "-q", "--target", arguments.target]
                result = measure(command, arguments.limit)
                if not result:
                    print(f"{shape:10} {nodes:7} failed or took more than {arguments.limit} s", flush=True)
                    rows.append({"shape": shape, "nodes": nodes})
                    break
                seconds, threads, mebibytes = result
                grown = math.log(threads / before[1]) / math.log(nodes / before[0]) if before else None
                print(f"{shape:10} {nodes:7} {seconds:9.2f} {threads:9.2f} {mebibytes:7.0f} {'' if grown is None else f'{grown:.2f}':>9}", flush=True)
                rows.append({"shape": shape, "nodes": nodes, "seconds": seconds, "threads": threads, "mebibytes": mebibytes, "exponent": grown})
                before = nodes, threads
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0 if all("seconds" in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
