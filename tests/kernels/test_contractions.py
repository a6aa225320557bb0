"""Matrix products and convolutions of awkward sizes with fused producers and consumers, on fresh random data."""
import random

import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import agree, compare
from support.models import FLOAT, INT32, floats, model, model_of, node

UINT8 = TensorProto.UINT8

SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 13, 31, 48, 64, 100, 131, 200, 272, 768]


def around(anchor, rng):
    """The anchor's node with an activation before and after it, sometimes; two ReLUs in a row could leave nothing of any input."""
    before, after = rng.choice([None, "Relu", "Tanh"]), rng.choice([None, "Sigmoid", "LeakyRelu"])
    nodes = []
    source, target = "x", "y"
    if before:
        nodes.append(helper.make_node(before, ["x"], ["before"]))
        source = "before"
    if after:
        target = "product"
    nodes.append(anchor(source, target))
    if after:
        nodes.append(helper.make_node(after, ["product"], ["gate"]))
        nodes.append(helper.make_node("Mul", ["product", "gate"], ["y"]))
    return nodes


@pytest.mark.parametrize("case", range(12))
def test_matmul(case, seed):
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    rows, columns, depth = (rng.choice(SIZES) for _ in range(3))
    batch = rng.choice([(), (), (3,), (2, 5)])
    nodes = around(lambda a, b: helper.make_node("MatMul", [a, "w"], [b]), rng)
    x = data.standard_normal((*batch, rows, depth)).astype(np.float32)
    w = (data.standard_normal((depth, columns)) / np.sqrt(depth)).astype(np.float32)
    compare(nodes, {"x": x}, {"w": w})


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 11, 17])
def test_thin_matmul(rows, seed):
    """Few rows: several panels of the weights are read side by side, and those that are left over singly."""
    rng, data = random.Random(seed + rows), np.random.default_rng(seed + rows)
    for columns in (1, 16, 61, 127, 509, 1024):
        depth = rng.choice([1, 2, 31, 67, 256, 521])
        nodes = around(lambda a, b: helper.make_node("MatMul", [a, "w"], [b]), rng)
        x = data.standard_normal((rows, depth)).astype(np.float32)
        w = (data.standard_normal((depth, columns)) / np.sqrt(depth)).astype(np.float32)
        compare(nodes, {"x": x}, {"w": w})


@pytest.mark.parametrize("options", [{}, {"matmul_algorithm": "strassen", "fp": "fastest"}, {"conv_algorithm": "gemm"}, {"conv_algorithm": "winograd2"}], ids=str)
@pytest.mark.parametrize("target", [None, "neoverse-n1", "x86-64-v3"])
def test_no_rows(target, options):
    """A batch of none: other sizes would give large tasks, which fetch weights ahead."""
    kinds = [("MatMul", (128, 256), (256, 768), {}), ("Conv", (256, 7, 7), (256, 256, 1, 1), {}), ("Conv", (64, 28, 28), (64, 64, 3, 3), {"pads": [1] * 4})]
    for kind, sample, weight, attributes in kinds:
        x, w = np.zeros((0, *sample), np.float32), np.ones(weight, np.float32)
        nodes = [helper.make_node(kind, ["x", "w"], ["y"], **attributes)]
        if target:
            assert fathom.compile(model_of(nodes, {"x": x}, {"w": w}), target=target, **options)
        else:
            [y] = fathom.Session(fathom.compile(model_of(nodes, {"x": x}, {"w": w}), **options)).run(None, {"x": x})
            assert y.shape == ((0, 128, 768) if kind == "MatMul" else x.shape)


@pytest.mark.parametrize("batch", [(), (3,), (2, 1, 5)], ids=str)
@pytest.mark.parametrize("form", ["MatMul", "Gemm", "vector"])
@pytest.mark.parametrize("depth", [1, 3, 16, 67, 1031])
def test_one_column(depth, form, batch, seed):
    """A sum for every row, of weights that are stored once."""
    data = np.random.default_rng(seed + depth)
    x = data.standard_normal(((*batch, 13) if form != "Gemm" else (13,)) + (depth,)).astype(np.float32)
    w = data.standard_normal({"MatMul": (depth, 1), "Gemm": (1, depth), "vector": (depth,)}[form]).astype(np.float32)
    attributes = dict(transB=1) if form == "Gemm" else {}
    nodes = [helper.make_node("Gemm" if form == "Gemm" else "MatMul", ["x", "w"], ["p"], **attributes), helper.make_node("Tanh", ["p"], ["y"])]
    # A single column may cancel all over.
    compare(nodes, {"x": x}, {"w": w}, family="convolution")
    plan = fathom.compile(model_of(nodes, {"x": x}, {"w": w}), emit="plan")
    assert "contract" not in plan


@pytest.mark.parametrize("shape", [(1, 1), (1, 37), (3, 1, 64), (2, 5, 1, 1031)], ids=str)
def test_products_of_two_vectors(shape, seed):
    data = np.random.default_rng(seed)
    a, b = data.standard_normal(shape).astype(np.float32), data.standard_normal((*shape[:-2], shape[-1], 1)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"])]
    compare(nodes, {"a": a, "b": b}, {})
    assert "contract" not in fathom.compile(model_of(nodes, {"a": a, "b": b}, {}), emit="plan")


@pytest.mark.parametrize("case", range(6))
def test_matmul_of_two_inputs(case, seed):
    """Both operands arrive at run time: the right one is packed by a kernel."""
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    rows, columns, depth = (rng.choice(SIZES[:12]) for _ in range(3))
    left, right = rng.choice([((), ()), ((2, 3), (2, 3)), ((3,), ()), ((2, 1), (1, 3))])
    x = data.standard_normal((*left, rows, depth)).astype(np.float32)
    w = data.standard_normal((*right, depth, columns)).astype(np.float32)
    compare([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x, "w": w}, {})
    # Computed inside the product, nothing is packed; the result is zeros nevertheless.
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("MatMul", ["e", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    compare(nodes, {"x": x, "w": w}, {"b": np.ones(columns, np.float32)})


@pytest.mark.parametrize("rows, columns", [(1, 1), (37, 64), (200, 300)])
def test_products_over_nothing(rows, columns):
    """Sums of no terms are zeros, also where tiles of many rows would be packed."""
    b = np.arange(columns, dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    x, w = np.zeros((rows, 0), np.float32), np.zeros((0, columns), np.float32)
    [y] = fathom.Session(fathom.compile(model_of(nodes, {"x": x, "w": w}, {"b": b}))).run(None, {"x": x, "w": w})
    np.testing.assert_array_equal(y, np.broadcast_to(b, (rows, columns)))


@pytest.mark.parametrize("case", range(20))
def test_conv(case, seed):
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    channels, filters = rng.choice([1, 3, 8, 13, 16, 24, 56, 160]), rng.choice([1, 5, 8, 16, 24, 131, 160])
    group = 1
    if case % 4 == 1:  # grouped, with a prime number of channels in a group at times
        group = rng.choice([2, 3, 4])
        channels, filters = group * rng.choice([1, 2, 5, 8]), group * rng.choice([1, 3, 4, 8, 17])
    if case % 4 == 2:  # depthwise
        group = filters = channels
    kernel, stride, dilation = rng.choice([1, 1, 2, 3, 5]), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2])
    pads = [rng.choice([0, kernel // 2, 1]) for _ in range(4)]
    reach = dilation * (kernel - 1) + 1
    # At least a stride besides, so that not all windows lie in the padding.
    height, width = (rng.choice([stride, 5, 7, 12, 14, 24, 33]) + reach for _ in range(2))
    nodes = around(
        lambda a, b: helper.make_node(
            "Conv", [a, "w", "b"], [b], kernel_shape=[kernel] * 2, strides=[stride] * 2, dilations=[dilation] * 2, pads=pads, group=group
        ),
        rng,
    )
    x = data.standard_normal((rng.choice([1, 1, 2]), channels, height, width)).astype(np.float32)
    w = (data.standard_normal((filters, channels // group, kernel, kernel)) / (kernel * np.sqrt(channels / group))).astype(np.float32)
    compare(nodes, {"x": x}, {"w": w, "b": data.standard_normal(filters).astype(np.float32)})


@pytest.mark.parametrize("spatial", [1, 3])
def test_conv_of_other_ranks(spatial, seed):
    data = np.random.default_rng(seed)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * (2 * spatial))
    x = data.standard_normal((2, 5, *[6, 7, 5][:spatial])).astype(np.float32)
    compare([node], {"x": x}, {"w": data.standard_normal((11, 5, *[3] * spatial)).astype(np.float32)})


@pytest.mark.parametrize("number", [0.0, 0.5])
def test_left_operand_of_equal_elements(number, seed):
    """A constant that could stand in the code is read from memory where the columns are only known at run time."""
    data = np.random.default_rng(seed)
    inputs = [("x", FLOAT, ["k", "n"]), ("v", FLOAT, ["n", "m"]), ("i", UINT8, ["k", "n"])]
    nodes = [node("MatMul", "c x", "s"), node("Softmax", "s", "p"), node("MatMul", "p v", "y"), node("MatMulInteger", "j i", "z")]
    constants = {"c": np.full((5, 4), number, np.float32), "j": np.full((5, 4), 3, np.uint8)}
    proto = model(nodes, inputs, [("s", FLOAT), ("y", FLOAT), ("z", INT32)], constants)
    agree(proto, [{"x": floats(data, 4, n), "v": floats(data, n, 3), "i": data.integers(0, 9, (4, n), np.uint8)} for n in (1, 6, 17)])


@pytest.mark.parametrize("shape", [(0, 4, 3), (5, 0, 3), (5, 4, 0)])
def test_empty_products(shape):
    rows, columns, depth = shape
    x, w = np.zeros((rows, depth), np.float32), np.zeros((depth, columns), np.float32)
    compare([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x, "w": w}, {})
