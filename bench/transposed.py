#!/usr/bin/env python3
"""Times networks of transposed convolutions, and single layers of their shapes, beside ONNX Runtime.

    transposed.py [NAME ...] [--threads 1,2] [--rounds N] [--list]

The networks are made on the spot, with random weights: the generators of DCGAN and HiFi-GAN, FSRCNN, a decoder as EnCodec's, the decoder of a
U-Net, Mask R-CNN's mask head. The ratio is ONNX Runtime's time over Fathom's, taken in turns in one process: above 1 Fathom is faster. A time is the tenth
percentile of the runs, with one thread of their CPU time, so that others on the machine matter little.
"""
import argparse
import math
import statistics

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from timing import quantiles, thread_counts, turn
from zoo import results_agree

import fathom


class Network:
    """A chain of layers from x to y, with random weights."""

    def __init__(self, *shape):
        self.data = np.random.default_rng(0)
        self.shape, self.at, self.channels = shape, "x", shape[1]
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=1.0):
        name = f"w{len(self.weights)}"
        array = (self.data.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op, *more, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.at, *more], [name], **attributes))
        self.at = name
        return self

    def conv(self, filters, kernel, transposed=False, group=1, bias=True, **attributes):
        rank = len(self.shape) - 2
        taps = [kernel] * rank
        scale = 1 / math.sqrt(self.channels // group * kernel**rank)
        shape = (self.channels, filters // group) if transposed else (filters, self.channels // group)
        more = [self.weight(*shape, *taps, scale=scale)] + ([self.weight(filters)] if bias else [])
        self.channels = filters
        attributes = {key: [value] * rank * (2 if key == "pads" else 1) for key, value in attributes.items()}
        return self.add("ConvTranspose" if transposed else "Conv", *more, group=group, **attributes)

    def up(self, filters, kernel, stride, pads=0, **more):
        return self.conv(filters, kernel, True, strides=stride, pads=pads, **more)

    def norm(self):
        scale, shift, mean = (self.weight(self.channels) for _ in range(3))
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(self.data.uniform(0.5, 2, self.channels).astype(np.float32), name))
        return self.add("BatchNormalization", scale, shift, mean, name)

    def relu(self):
        return self.add("Relu")

    def leaky(self):
        return self.add("LeakyRelu", alpha=0.1)

    def residual(self, kernel, dilation):
        before = self.at
        self.leaky().conv(self.channels, kernel, dilations=dilation, pads=dilation * (kernel - 1) // 2)
        self.leaky().conv(self.channels, kernel, pads=(kernel - 1) // 2)
        return self.add("Add", before)

    def model(self):
        infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        self.nodes[-1].output[0] = "y"
        results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "network", infos, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dcgan():
    net = Network(1, 100, 1, 1).up(512, 4, 1, bias=False).norm().relu()
    for filters in (256, 128, 64):
        net.up(filters, 4, 2, 1, bias=False).norm().relu()
    return net.up(3, 4, 2, 1, bias=False).add("Tanh")


def fsrcnn():
    net = Network(1, 1, 64, 64).conv(56, 5, pads=2).relu().conv(12, 1).relu()
    for _ in range(4):
        net.conv(12, 3, pads=1).relu()
    return net.conv(56, 1).relu().up(1, 9, 4, 4, output_padding=3)


def hifigan():
    net = Network(1, 80, 32).conv(256, 7, pads=3)
    for filters, kernel, stride in ((128, 16, 8), (64, 16, 8), (32, 4, 2), (16, 4, 2)):
        net.leaky().up(filters, kernel, stride, (kernel - stride) // 2)
        for dilation in (1, 3):
            net.residual(3, dilation)
    return net.leaky().conv(1, 7, pads=3).add("Tanh")


def encodec():
    net = Network(1, 128, 50).conv(512, 7, pads=3)
    for filters, stride in ((256, 8), (128, 5), (64, 4), (32, 2)):
        net.add("Elu").up(filters, 2 * stride, stride).residual(3, 1)
    return net.add("Elu").conv(1, 7, pads=3)


def unet():
    net = Network(1, 256, 16, 16)
    for filters in (128, 64, 32):
        net.up(filters, 2, 2).conv(filters, 3, pads=1).relu().conv(filters, 3, pads=1).relu()
    return net.conv(2, 1)


def maskhead():
    net = Network(8, 256, 14, 14)
    for _ in range(2):
        net.conv(256, 3, pads=1).relu()
    return net.up(256, 2, 2).relu().conv(91, 1)


NETWORKS = {
    "dcgan": dcgan,
    "fsrcnn": fsrcnn,
    "hifigan": hifigan,
    "encodec": encodec,
    "unet": unet,
    "maskhead": maskhead,
    "k4s2p1 256-128 @16": lambda: Network(1, 256, 16, 16).up(128, 4, 2, 1).relu(),
    "k3s2p1 64-64 @32": lambda: Network(1, 64, 32, 32).up(64, 3, 2, 1, output_padding=1).relu(),
    "k2s2 64-32 @64": lambda: Network(1, 64, 64, 64).up(32, 2, 2).relu(),
    "k4s2p1 64-3 @32": lambda: Network(1, 64, 32, 32).up(3, 4, 2, 1).add("Tanh"),
    "k9s4p4 56-1 @64": lambda: Network(1, 56, 64, 64).up(1, 9, 4, 4, output_padding=3),
    "1-D k16s8 256-128 @200": lambda: Network(1, 256, 200).up(128, 16, 8, 4).leaky(),
    "1-D k4s2p1 32-1 @4000": lambda: Network(1, 32, 4000).up(1, 4, 2, 1),
    "1-D k4s2p1 32-16 @4000": lambda: Network(1, 32, 4000).up(16, 4, 2, 1).leaky(),
    "3-D k2s2 32-16 @12": lambda: Network(1, 32, 12, 12, 12).up(16, 2, 2).relu(),
    "depthwise k4s2p1 64 @32": lambda: Network(1, 64, 32, 32).up(64, 4, 2, 1, group=64),
    "groups 4 k4s2p1 64-64 @32": lambda: Network(1, 64, 32, 32).up(64, 4, 2, 1, group=4),
}


def onnx_runtime(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def measure(name, threads, rounds):
    network = NETWORKS[name]()
    model = network.model()
    sessions = {"fathom": fathom.Session(fathom.compile(model), threads=threads), "onnxruntime": onnx_runtime(model, threads)}
    inputs = {"x": np.random.default_rng(1).standard_normal(network.shape).astype(np.float32)}
    if not results_agree(*(session.run(None, inputs) for session in sessions.values())):
        raise SystemExit(f"{name}: the results differ from ONNX Runtime's")
    times = {who: [] for who in sessions}
    for _ in range(rounds):
        for who, session in sessions.items():
            times[who] += [cpu if threads == 1 else wall for wall, cpu in turn(lambda: session.run(None, inputs))]
    usual = {who: quantiles(found)["p10"] for who, found in times.items()}
    ratio = usual["onnxruntime"] / usual["fathom"]
    print(f"{name:28} {threads:7} {usual['fathom']:10.3f} {usual['onnxruntime']:12.3f} {ratio:6.2f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks and layers (default: all)")
    parser.add_argument("--threads", type=thread_counts, default="1,2", metavar="N,N", help="numbers of threads, separated by commas (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    arguments = parser.parse_args()
    if arguments.list:
        return print("\n".join(NETWORKS))
    for name in set(arguments.names) - set(NETWORKS):
        parser.error(f"there is no '{name}': --list prints the names")
    print(f"{'':28} {'threads':>7} {'Fathom ms':>10} {'ONNX Runtime':>12} {'ratio':>6}")
    for threads in arguments.threads:
        ratios = [measure(name, threads, arguments.rounds) for name in arguments.names or NETWORKS]
        print(f"{'geometric mean':28} {threads:7} {'':10} {'':12} {statistics.geometric_mean(ratios):6.2f}")


if __name__ == "__main__":
    main()
