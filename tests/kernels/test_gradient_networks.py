"""Gradients of whole networks, in float64: their slopes along random directions against central differences, and steps of training."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import assert_close

# So small that hardly ever a ReLU or a pool has a kink between the ends; double precision leaves 1e-8 of a slope.
STEP = 1e-7


class Network:
    """Builds a model node by node, with random weights."""

    def __init__(self, rng, **inputs):
        self.rng, self.nodes, self.weights, self.fixed = rng, [], {}, {}
        self.inputs = {name: np.asarray(value) for name, value in inputs.items()}

    def __getattr__(self, op):
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *operands, **attributes: self.add(op, *operands, **attributes)

    def add(self, op, *operands, outputs=1, **attributes):
        names = [f"{op}.{len(self.nodes)}" + (f".{i}" if i else "") for i in range(outputs)]
        operands = [self.number(x) if not isinstance(x, str) else x for x in operands]
        self.nodes.append(helper.make_node(op, operands, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def number(self, value):
        """What is no weight: a scalar, or whole numbers."""
        array = np.asarray(value)
        name = f"number.{len(self.fixed)}"
        self.fixed[name] = array.astype(np.float64) if array.dtype.kind == "f" else array
        return name

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        self.weights[name] = self.rng.standard_normal(shape) * (scale or 1 / np.sqrt(max(1, np.prod(shape[1:]))))
        return name

    def dense(self, x, inner, outer):
        return self.Add(self.MatMul(x, self.weight(inner, outer, scale=1 / np.sqrt(inner))), self.weight(outer, scale=0.1))

    def conv(self, x, inner, outer, size=3, group=1, **attributes):
        pads = attributes.pop("pads", [size // 2] * 4)
        return self.Conv(x, self.weight(outer, inner // group, size, size), self.weight(outer, scale=0.1), group=group, pads=pads, **attributes)

    def batch_norm(self, x, channels):
        values = [self.weight(channels), self.weight(channels)]
        for name, value in (("mean", np.zeros(channels)), ("var", np.ones(channels))):
            values.append(f"{x}.{name}")
            self.fixed[values[-1]] = value
        return self.add("BatchNormalization", x, *values, outputs=3, training_mode=1)[0]

    def layer_norm(self, x, size):
        return self.LayerNormalization(x, self.weight(size), self.weight(size))

    def model(self, result, name="y"):
        types = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64}
        nodes = [*self.nodes, helper.make_node("Identity", [result], [name])]
        infos = [helper.make_tensor_value_info(key, types[value.dtype.kind], value.shape) for key, value in self.inputs.items()]
        weights = [numpy_helper.from_array(value, key) for key, value in {**self.weights, **self.fixed}.items()]
        graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None)], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def images(rng, *shape):
    return rng.standard_normal(shape)


def perceptron(rng):
    net = Network(rng, x=images(rng, 5, 7))
    x = net.Relu(net.dense("x", 7, 13))
    return net, net.dense(net.Tanh(net.dense(x, 13, 11)), 11, 3)


def residual(rng):
    net = Network(rng, x=images(rng, 3, 3, 8, 8))
    x = net.Relu(net.batch_norm(net.conv("x", 3, 4), 4))
    for inner, outer, stride in ((4, 4, 1), (4, 6, 2)):
        y = net.Relu(net.batch_norm(net.conv(x, inner, outer, strides=[stride, stride]), outer))
        y = net.batch_norm(net.conv(y, outer, outer), outer)
        if stride > 1:
            x = net.batch_norm(net.conv(x, inner, outer, size=1, strides=[stride, stride]), outer)
        x = net.Relu(net.Add(y, x))
    return net, net.dense(net.Flatten(net.GlobalAveragePool(x)), 6, 3)


def pooled(rng):
    net = Network(rng, x=images(rng, 2, 2, 9, 9))
    x = net.MaxPool(net.Relu(net.conv("x", 2, 3)), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = net.AveragePool(net.LRN(net.Relu(net.conv(x, 3, 4)), size=3, alpha=0.3), kernel_shape=[2, 2])
    return net, net.Gemm(net.Flatten(x), net.weight(5, 64), net.weight(5), transB=1)


def separable(rng):
    net = Network(rng, x=images(rng, 2, 3, 6, 6))
    x = net.Clip(net.conv("x", 3, 8, size=1, pads=[0] * 4), 0.0, 6.0)
    x = net.HardSwish(net.conv(x, 8, 8, group=8, strides=[2, 2]))
    gate = net.HardSigmoid(net.conv(net.Relu(net.conv(net.GlobalAveragePool(x), 8, 4, size=1)), 4, 8, size=1))
    return net, net.ReduceMean(net.conv(net.Mul(x, gate), 8, 3, size=1), net.number(np.array([2, 3])), keepdims=0)


def dense(rng):
    net = Network(rng, x=images(rng, 2, 3, 6, 6))
    x, channels = "x", 3
    for _ in range(3):
        x = net.Concat(x, net.conv(net.Relu(net.batch_norm(x, channels)), channels, 2), axis=1)
        channels += 2
    return net, net.ReduceMax(net.conv(x, channels, 4, size=1), net.number(np.array([2, 3])), keepdims=0)


def encoder_decoder(rng):
    net = Network(rng, x=images(rng, 1, 2, 8, 8))
    top = net.LeakyRelu(net.conv("x", 2, 4))
    deep = net.Elu(net.conv(net.MaxPool(top, kernel_shape=[2, 2], strides=[2, 2]), 4, 6))
    up = net.Resize(deep, "", net.number(np.array([1, 1, 2, 2], np.float32)), mode="linear")
    other = net.ConvTranspose(deep, net.weight(6, 3, 2, 2), strides=[2, 2])
    return net, net.Flatten(net.conv(net.Pad(net.Concat(top, up, other, axis=1), net.number(np.array([0, 0, 1, 1, 0, 0, 1, 1])), mode="reflect"), 13, 2, pads=[0] * 4))


def attention(net, x, batch, length, width, heads, mask=None):
    parts = [net.Transpose(net.Reshape(net.dense(x, width, width), net.number(np.array([batch, length, heads, width // heads]))), perm=[0, 2, 1, 3]) for _ in range(3)]
    scores = net.Div(net.MatMul(parts[0], net.Transpose(parts[1], perm=[0, 1, 3, 2])), np.sqrt(width / heads))
    if mask is not None:
        scores = net.Where(mask, scores, -1e4)
    mixed = net.Transpose(net.MatMul(net.Softmax(scores), parts[2]), perm=[0, 2, 1, 3])
    return net.dense(net.Reshape(mixed, net.number(np.array([batch, length, width]))), width, width)


def transformer(rng):
    net = Network(rng, tokens=rng.integers(0, 11, (2, 5)))
    x = net.Add(net.Gather(net.weight(11, 8), "tokens"), net.weight(5, 8))
    mask = net.number(np.tril(np.ones((5, 5), bool)))
    for _ in range(2):
        x = net.Add(x, attention(net, net.layer_norm(x, 8), 2, 5, 8, 2, mask))
        x = net.Add(x, net.dense(net.Gelu(net.dense(net.layer_norm(x, 8), 8, 16)), 16, 8))
    return net, net.Reshape(net.dense(net.layer_norm(x, 8), 8, 11), net.number(np.array([10, 11])))


def vision_transformer(rng):
    net = Network(rng, x=images(rng, 2, 3, 8, 8))
    patches = net.Transpose(net.Reshape(net.Conv("x", net.weight(6, 3, 4, 4), strides=[4, 4]), net.number(np.array([2, 6, 4]))), perm=[0, 2, 1])
    token = net.Expand(net.weight(1, 1, 6), net.number(np.array([2, 1, 6])))
    x = net.Add(net.Concat(token, patches, axis=1), net.weight(5, 6))
    x = net.Add(x, attention(net, net.layer_norm(x, 6), 2, 5, 6, 3))
    return net, net.dense(net.Gather(net.layer_norm(x, 6), net.number(np.array(0)), axis=1), 6, 3)


def mixer(rng):
    net = Network(rng, x=images(rng, 2, 5, 6))
    turned = net.Transpose(net.layer_norm("x", 6), perm=[0, 2, 1])
    x = net.Add("x", net.Transpose(net.dense(net.Mish(net.dense(turned, 5, 9)), 9, 5), perm=[0, 2, 1]))
    parts = net.add("Split", net.dense(x, 6, 8), outputs=2, axis=2, num_outputs=2)
    return net, net.ReduceMean(net.Mul(parts[0], net.Sigmoid(parts[1])), net.number(np.array([1])), keepdims=0)


NETWORKS = [perceptron, residual, pooled, separable, dense, encoder_decoder, transformer, vision_transformer, mixer]


def cross_entropy(logits, labels):
    logs = logits - logits.max(1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
    return -logs[np.arange(len(labels)), labels].mean()


@pytest.mark.parametrize("build", NETWORKS, ids=lambda build: build.__name__)
def test_networks(build, random):
    net, result = build(random)
    forward = fathom.Session(fathom.compile(with_inputs(net.model(result), net.weights)))
    logits = forward.run(None, {**net.inputs, **net.weights})[0]
    labels = random.integers(0, logits.shape[1], len(logits))
    session = fathom.Session(fathom.compile(net.model(result), loss="cross-entropy:y:labels", wrt=",".join(net.weights)))
    loss, *gradients = session.run(None, {**net.inputs, **net.weights, "labels": labels})
    assert_close(loss, cross_entropy(logits, labels), "network")

    def loss_at(weights):
        return cross_entropy(forward.run(None, {**net.inputs, **weights})[0], labels)

    # A direction for each weight: its share of the slope is seen by itself.
    for name, gradient in zip(net.weights, gradients, strict=True):
        direction = random.standard_normal(gradient.shape)
        ends = [loss_at({**net.weights, name: net.weights[name] + sign * STEP * direction}) for sign in (1, -1)]
        want = (ends[0] - ends[1]) / (2 * STEP)
        assert_close((gradient * direction).sum(), want, "slope", name, data=1 + np.abs(gradient * direction).sum())


def with_inputs(model, names):
    """The model with these weights as inputs."""
    weights = [tensor for tensor in model.graph.initializer if tensor.name in names]
    for tensor in weights:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        model.graph.initializer.remove(tensor)
    return model


def test_running_statistics_are_carried(random):
    """The mean and variance of what a normalisation sees move with each step, as its operator says."""
    net = Network(random, x=random.standard_normal((4, 3)) * 2 + 1)
    y = net.batch_norm("x", 3)
    trainer = fathom.Trainer(net.model(y), loss="mse:y:target", train="sgd:lr=0.1")
    x, target = net.inputs["x"], random.standard_normal((4, 3))
    mean, var, kept = np.zeros(3), np.ones(3), float(np.float32(0.9))
    for _ in range(3):
        trainer.step({"x": x, "target": target})
        mean, var = kept * mean + (1 - kept) * x.mean(0), kept * var + (1 - kept) * x.var(0)
    assert_close(trainer.state["x.mean"], mean, "network")
    assert_close(trainer.state["x.var"], var, "network")
    assert set(trainer.weights) == {"w0", "w1", "x.mean", "x.var"}


@pytest.mark.parametrize("build, train", [(residual, "sgd:lr=0.05,momentum=0.9"), (transformer, "adam:lr=0.01")], ids=["residual", "transformer"])
def test_networks_learn(build, train, random):
    """They learn their batch by heart."""
    net, result = build(random)
    model = net.model(result)
    logits = ReferenceEvaluator(model).run(None, net.inputs)[0]
    labels = random.integers(0, logits.shape[1], len(logits))
    if "tokens" in net.inputs:  # the same context has the same label
        labels = (np.cumsum(net.inputs["tokens"], 1) % 11).reshape(-1)
    trainer = fathom.Trainer(model, loss="cross-entropy:y:labels", train=train)
    losses = [trainer.step({**net.inputs, "labels": labels}) for _ in range(60)]
    assert losses[-1] < 0.25 * losses[0]
