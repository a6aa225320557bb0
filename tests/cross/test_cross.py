"""Code made here for another architecture gives the same results there: a small network is compiled for several CPUs, run under qemu's
user-mode emulation and compared with ONNX Runtime.

Needs qemu-user and the other architecture's C++ compiler, which `./dev test` installs.
"""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support import emulation
from support.compare import assert_close

BATCH = 3

# Baselines with and without fused multiply-add, rounding instructions and wide vectors take different ways through code generation.
CPUS = [("x86_64", "x86-64"), ("x86_64", "x86-64-v2"), ("x86_64", "x86-64-v3"), ("aarch64", "cortex-a53"), ("aarch64", "neoverse-n1")]


def network(path):
    """Convolutions (plain, strided, grouped, depthwise, pointwise, transposed), pooling, products, attention, normalisation and math functions, batch
    symbolic."""
    rng = np.random.default_rng(1)
    weights, nodes = [], []

    def weight(name, *shape):
        values = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(x, name, inputs, outputs, kernel, group=1, **attributes):
        w, b = weight(name + "_w", outputs, inputs // group, kernel, kernel), weight(name + "_b", outputs)
        return node("Conv", [x, w, b], name, kernel_shape=[kernel, kernel], group=group, **attributes)

    x = node("Relu", [conv("x", "stem", 3, 20, 3, pads=[1, 1, 1, 1], strides=[2, 2])], "stem_relu")
    skip = x
    x = node("HardSwish", [conv(x, "depth", 20, 20, 3, group=20, pads=[1, 1, 1, 1])], "depth_swish")
    x = node("Add", [conv(x, "point", 20, 20, 1), skip], "residual")
    weights.append(numpy_helper.from_array(np.array([0, 20, 240]), "pixels"))
    keys = node("Reshape", [x, "pixels"], "keys")
    tokens = node("Transpose", [keys], "tokens", perm=[0, 2, 1])
    scores = node("Softmax", [node("MatMul", [tokens, keys], "scores")], "attention", axis=-1)
    attended = node("MatMul", [node("MatMul", [scores, tokens], "attended"), weight("out", 20, 33)], "projected")
    node("ReduceMean", [attended], "pixel_mean", axes=[1], keepdims=0)
    up = node("ConvTranspose", [x, weight("up_w", 20, 10, 3, 4), weight("up_b", 10)], "up", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    up = node("ConvTranspose", [node("LeakyRelu", [up], "up_relu"), weight("bilinear", 10, 1, 4, 4)], "each", strides=[2, 2], group=10)
    up = node("Tanh", [node("ConvTranspose", [up, weight("last_up", 10, 1, 3, 3)], "last", strides=[2, 3])], "image")
    weights.append(numpy_helper.from_array(np.array([0, -1, 33]), "rows"))
    node("ReduceMean", [node("Reshape", [up, "rows"], "image_rows")], "image_mean", axes=[1], keepdims=0)
    x = node("Sigmoid", [conv(x, "group", 20, 24, 3, group=4, pads=[1, 1, 1, 1])], "gate")
    x = node("MaxPool", [x], "pooled", kernel_shape=[3, 3], strides=[2, 2])
    x = node("GlobalAveragePool", [x], "mean")
    x = node("Flatten", [x], "flat")
    x = node("MatMul", [x, weight("fc", 24, 33)], "logits")
    # As many keys as there are images: known at run time only.
    alike = node("MatMul", [x, node("Transpose", [x], "others", perm=[1, 0])], "alike")
    node("Add", [node("MatMul", [node("Softmax", [alike], "shares", axis=-1), x], "mean_logits"), x], "mixed")
    x = node("LayerNormalization", [x, weight("ln_scale", 33), weight("ln_bias", 33)], "normal")
    node("Softmax", [x], "probabilities", axis=-1)
    node("Erf", [node("Tanh", ["logits"], "tanh")], "erf")
    node("Exp", [node("Sin", ["normal"], "sin")], "exp")
    outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, ["batch", 33]) for o in ("probabilities", "erf", "exp", "pixel_mean", "image_mean", "mixed")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 29, 31])
    graph = helper.make_graph(nodes, "small", [x], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cross")
    path = str(folder / "small.onnx")
    network(path)
    x = np.random.default_rng(2).standard_normal((BATCH, 3, 29, 31)).astype(np.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return path, x, session.run(None, {"x": x})


# A batch of any size; one of a known size, whose pointwise convolution can be computed in quarters.
FORMS = {"any": {}, "quarters": {"dim": {"batch": BATCH}, "conv_algorithm": "strassen", "fp": "fastest"}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("architecture,cpu", CPUS)
def test_small_network(model, architecture, cpu, form):
    path, x, expected = model
    options = {"target": f"{architecture}-unknown-linux-gnu:{cpu}", **FORMS[form]}
    artifact = fathom.compile(path, **options)
    assert ("strassen" in fathom.compile(path, emit="plan", **options)) == (form == "quarters")
    # Emulated where this machine could run it, too, so that both ways are alike.
    one, two = (emulation.session(artifact, threads, architecture).run(None, {"x": x}) for threads in (1, 2))
    for result, other, reference in zip(one, two, expected, strict=True):
        assert_close(result, reference, "network")
        assert result.tobytes() == other.tobytes(), "results depend on the number of threads"


def test_check_can_fail(model):
    """The outputs differ between inputs by more than the tolerance, or the comparison above would show nothing."""
    *_, expected = model
    for reference in expected:
        assert np.abs(reference[0] - reference[1]).max() > 5e-4 * np.abs(reference).max()
