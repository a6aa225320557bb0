"""Small networks that several folders break, change and compare."""
import numpy as np

from support.models import constant, make_model, node, value


def relu_model():
    return make_model([node("Relu", "x", "y", name="relu")], [value("x", [2, 3])], [value("y", [2, 3])])


def add_model():
    """A model with a weight, for what concerns weights."""
    weight = constant("w", np.arange(1024, dtype=np.float32))
    return make_model([node("Add", "x w", "y", name="add")], [value("x", [2, 1024])], [value("y", [2, 1024])], [weight])


def perceptron(batch="batch", width=24, seed=0):
    """Two layers with an activation between them, for any batch."""
    random = np.random.default_rng(seed)
    shapes = {"w1": (16, width), "b1": (width,), "w2": (width, 8)}
    weights = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [node("Gemm", "x w1 b1", "h", name="hidden"), node("Relu", "h", "r", name="relu"), node("MatMul", "r w2", "y", name="last")]
    return make_model(nodes, [value("x", [batch, 16])], [value("y", [batch, 8]), value("r", [batch, width])], weights)


def many_products(count):
    """Products of different sizes: as many kernels, each of which takes a while to compile."""
    nodes, weights, last = [], {}, "x"
    for i in range(count):
        weights[f"w{i}"] = np.ones((64 + i, 65 + i), np.float32)
        nodes += [node("MatMul", [last, f"w{i}"], [f"p{i}"]), node("Tanh", [f"p{i}"], [f"t{i}"])]
        last = f"t{i}"
    return make_model(nodes, [value("x", [32, 64])], [value(last, [32, 64 + count])], weights)
