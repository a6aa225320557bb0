"""Models of single layers, one for each family of kernels, as networks have them: what a study draws schedules for."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Layers:
    """A model of layers that have nothing to do with each other."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = (self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, *inputs, name=None, **attributes):
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def output(self, name):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def conv(self, channels, filters, size, kernel, stride=1, groups=1):
        name = f"conv{kernel}x{kernel}_{channels}_{filters}_at_{size}" + (f"_by_{stride}" if stride > 1 else "") + (f"_in_{groups}" if 1 < groups < channels else "")
        weight = self.weight(filters, channels // groups, kernel, kernel)
        options = {"pads": [kernel // 2] * 4, "strides": [stride] * 2, "group": groups}
        self.output(self.node("Conv", self.input(1, channels, size, size), weight, name=name, **options))

    def product(self, rows, inner, columns):
        self.output(self.node("MatMul", self.input(rows, inner), self.weight(inner, columns), name=f"product_{rows}_{inner}_{columns}"))

    def attention(self, heads, length, width):
        query, keys, values = self.input(1, heads, length, width), self.input(1, heads, width, length), self.input(1, heads, length, width)
        scores = self.node("Softmax", self.node("MatMul", query, keys), axis=-1)
        self.output(self.node("MatMul", scores, values, name=f"attention_{heads}_{length}_{width}"))

    def model(self):
        graph = helper.make_graph(self.nodes, "layers", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def contract():
    layers = Layers()
    layers.conv(64, 256, 28, 1)
    layers.conv(64, 64, 28, 3)
    layers.product(128, 768, 768)
    layers.conv(96, 61, 17, 1)
    return layers.model()


def winograd():
    layers = Layers()
    for channels, size in (64, 28), (128, 14), (48, 35), (32, 56):
        layers.conv(channels, channels, size, 3)
    return layers.model()


def depthwise():
    layers = Layers()
    for channels, size, kernel, stride in (96, 56, 3, 1), (144, 56, 3, 2), (240, 28, 5, 1), (576, 14, 3, 1):
        layers.conv(channels, channels, size, kernel, stride, groups=channels)
    return layers.model()


def spatial_pack():
    layers = Layers()
    for channels, size, groups in (64, 32, 4), (128, 16, 8), (32, 56, 2), (128, 28, 16):
        layers.conv(channels, channels, size, 3, groups=groups)
    return layers.model()


def attention():
    layers = Layers()
    for heads, length, width in (12, 128, 64), (4, 128, 32), (8, 197, 64), (2, 256, 48):
        layers.attention(heads, length, width)
    return layers.model()


KERNELS = 4  # of each family

# By the class of the kernels: the model, and the algorithm that convolutions are compiled by.
FAMILIES = {
    "contract": (contract, "contract"),
    "winograd": (winograd, "winograd4"),
    "depthwise": (depthwise, "auto"),
    "spatial_pack": (spatial_pack, "grouped_spatial_pack"),
    "attention": (attention, "auto"),
}


def write(family, path):
    onnx.save(FAMILIES[family][0](), path)
    return FAMILIES[family][1]
