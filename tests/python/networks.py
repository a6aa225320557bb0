"""Small models, and what ONNX Runtime makes of them."""

from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def make_model(nodes, inputs, outputs, initializers=(), opset=21):
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def reference(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def perceptron(batch="batch", width=24, seed=0):
    """Two layers with an activation between them, for any batch."""
    random = np.random.default_rng(seed)
    weights = [
        numpy_helper.from_array(random.standard_normal((16, width)).astype(np.float32), "w1"),
        numpy_helper.from_array(random.standard_normal(width).astype(np.float32), "b1"),
        numpy_helper.from_array(random.standard_normal((width, 8)).astype(np.float32), "w2"),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="hidden"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w2"], ["y"], name="last"),
    ]
    return make_model(nodes, [value("x", [batch, 16])], [value("y", [batch, 8]), value("r", [batch, width])], weights)


def many_products(count):
    """Products of different sizes: as many kernels, each of which takes a while to compile."""
    nodes, weights, last = [], [], "x"
    for i in range(count):
        weights.append(numpy_helper.from_array(np.ones((64 + i, 65 + i), np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]), helper.make_node("Tanh", [f"p{i}"], [f"t{i}"])]
        last = f"t{i}"
    return make_model(nodes, [value("x", [32, 64])], [value(last, [32, 64 + count])], weights)
