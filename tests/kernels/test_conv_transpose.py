"""Transposed convolutions: every attribute on awkward geometries and fresh random data, against ONNX Runtime and double precision."""
import itertools
import random

import numpy as np
import pytest
from onnx import helper, numpy_helper

import fathom
from support.compare import agree, assert_close, compare, reference, run, unreached
from support.models import FLOAT, floats, model, model_of, node
from support.plans import Plan, round_trip

SIZES = [1, 2, 3, 5, 7, 8]


def geometry(rng, rank):
    """A window with everything that can be said of it, and the sizes of an input that it fits."""
    kernel = [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(rank)]
    strides = [rng.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
    dilations = [rng.choice([1, 1, 1, 2, 3]) for _ in range(rank)]
    sizes = [rng.choice(SIZES) for _ in range(rank)]
    attributes = {"strides": strides, "dilations": dilations, "kernel_shape": kernel}
    full = [s * (n - 1) + (k - 1) * d + 1 for s, n, k, d in zip(strides, sizes, kernel, dilations, strict=True)]
    how = rng.choice(["pads", "pads", "auto_pad", "output_shape"])
    if how == "pads":
        # ONNX Runtime wants less of it than the stride.
        extra = [rng.randrange(s) for s in strides]
        pads = [[rng.randrange(max(1, min(3, (f + e - 1) // 2 + 1))) for f, e in zip(full, extra, strict=True)] for _ in range(2)]
        attributes |= {"output_padding": extra, "pads": pads[0] + pads[1]}
    elif how == "auto_pad" and all(k >= s for k, s in zip(kernel, strides, strict=True)):
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif how == "output_shape":
        attributes["output_shape"] = [max(1, f - rng.randrange(min(s, f))) for f, s in zip(full, strides, strict=True)]
    return kernel, sizes, attributes


def transposed(data, group, channels, filters, kernel, sizes, batch=1, bias=True, **attributes):
    """A node from x to c, with its input and weights; channels and filters are those of a group."""
    node = helper.make_node("ConvTranspose", ["x", "w", "b"][: 2 + bias], ["c"], name="up", group=group, **attributes)
    x = data.standard_normal((batch, group * channels, *sizes)).astype(np.float32)
    w = (data.standard_normal((group * channels, filters, *kernel)) / np.sqrt(channels * np.prod(kernel))).astype(np.float32)
    weights = {"w": w} | ({"b": data.standard_normal(group * filters).astype(np.float32)} if bias else {})
    return node, {"x": x}, weights


def with_relu(node):
    return [node, helper.make_node("Relu", ["c"], ["y"])]


def classes(proto, **options):
    return Plan.of(proto, **options).classes


def taps_in_double(x, w, bias, attributes):
    """What ONNX's text says, tap by tap; without auto_pad and output_shape."""
    group, spatial = attributes["group"], x.ndim - 2
    channels, filters = x.shape[1] // group, w.shape[1]
    strides, dilations = attributes["strides"], attributes["dilations"]
    kernel, sizes = w.shape[2:], x.shape[2:]
    pads, extra = attributes.get("pads", [0] * 2 * spatial), attributes.get("output_padding", [0] * spatial)
    full = [s * (n - 1) + (k - 1) * d + 1 + e for s, n, k, d, e in zip(strides, sizes, kernel, dilations, extra, strict=True)]
    result = np.zeros((x.shape[0], group * filters, *full))
    for g, tap in itertools.product(range(group), itertools.product(*map(range, kernel))):
        ins, outs = slice(g * channels, (g + 1) * channels), slice(g * filters, (g + 1) * filters)
        part = np.einsum("nc...,cf->nf...", x[:, ins].astype(np.float64), w[(ins, slice(None), *tap)].astype(np.float64))
        where = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilations, strides, sizes, strict=True))
        result[(slice(None), outs, *where)] += part
    result = result[(..., *(slice(b, f - e) for b, e, f in zip(pads[:spatial], pads[spatial:], full, strict=True)))]
    return result if bias is None else result + bias.reshape(-1, *[1] * spatial)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("case", range(10))
def test_any_window(case, rank, seed):
    """Against ONNX Runtime, with a consumer; weights are constant or not."""
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    kernel, sizes, attributes = geometry(rng, rank)
    group = rng.choice([1, 1, 2, 3])
    channels, filters = rng.choice([1, 2, 3, 8, 17]), rng.choice([1, 2, 3, 4, 5, 8, 17, 33])
    node, inputs, weights = transposed(data, group, channels, filters, kernel, sizes, rng.choice([1, 2, 3]), rng.random() < 0.6, **attributes)
    if rng.random() < 0.3:
        inputs["w"] = weights.pop("w")
    compare(with_relu(node), inputs, weights, data=1.0, same_for_all_inputs=unreached(node, inputs, weights))


@pytest.mark.parametrize("case", range(8))
def test_against_double_precision(case, seed):
    """The reference is independent of ONNX Runtime; every element within a few roundings of its own products."""
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    rank, group = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 2, 4])
    kernel, sizes, attributes = geometry(rng, rank)
    attributes.pop("auto_pad", None), attributes.pop("output_shape", None)
    channels, filters = rng.choice([1, 3, 16, 64]), rng.choice([1, 3, 8, 20])
    node, inputs, weights = transposed(data, group, channels, filters, kernel, sizes, 2, **attributes)
    node.output[0] = "y"
    got = fathom.Session(fathom.compile(model_of([node], inputs, weights))).run(None, inputs)[0]
    attributes["group"] = group
    want = taps_in_double(inputs["x"], weights["w"], weights["b"], attributes)
    bound = taps_in_double(np.abs(inputs["x"]), np.abs(weights["w"]), np.abs(weights["b"]), attributes)
    assert got.shape == want.shape
    assert (np.abs(got - want) <= 16 * np.finfo(np.float32).eps * bound + 1e-30).all()


@pytest.mark.parametrize("channels", [1, 3, 8, 13, 64])
@pytest.mark.parametrize("filters", [1, 2])
def test_single_channels(channels, filters, seed):
    """As many groups as channels: lanes run along them."""
    rng, data = random.Random(seed), np.random.default_rng(seed)
    kernel, sizes, attributes = geometry(rng, 2)
    node, inputs, weights = transposed(data, channels, 1, filters, kernel, sizes, **attributes)
    compare(with_relu(node), inputs, weights, data=1.0, same_for_all_inputs=unreached(node, inputs, weights))


@pytest.mark.parametrize("filters", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_few_output_channels(rank, filters, seed):
    """All phases become output channels of one convolution, or do not: by what fills vectors."""
    rng, data = random.Random(seed), np.random.default_rng(seed)
    kernel, stride = rng.choice([(4, 2), (3, 2), (9, 4), (2, 2), (5, 3)])
    pad, extra = rng.randrange(kernel // 2), rng.randrange(stride)
    attributes = {"strides": [stride] * rank, "pads": [pad] * 2 * rank, "output_padding": [extra] * rank}
    node, inputs, weights = transposed(data, 1, 16, filters, [kernel] * rank, [rng.choice([2, 3, 5, 9]) for _ in range(rank)], **attributes)
    compare(with_relu(node), inputs, weights, data=1.0)


def test_joined_phases_in_tiles(seed):
    """Windows of nine that move by four are nine taps of sixteen channels: Winograd's method may have them, and keeps its bound."""
    data = np.random.default_rng(seed)
    node, inputs, weights = transposed(data, 1, 56, 1, (9, 9), (33, 31), strides=[4, 4], pads=[4] * 4, output_padding=[3, 3])
    weights["b"] = np.abs(weights["b"])  # a ReLU that leaves little of a column leaves little tolerance for its tiles
    assert "winograd" in classes(model_of(with_relu(node), inputs, weights), target="neoverse-n1")
    for algorithm in ("auto", "winograd2", "winograd4"):
        compare(with_relu(node), inputs, weights, data=1.0, conv_algorithm=algorithm)


def test_one_pixel_is_a_product(seed):
    """What generators begin with. Windows that are cut, or that leave results without a tap, are right too."""
    data = np.random.default_rng(seed)
    for attributes in ({}, {"pads": [1, 0, 1, 2]}, {"strides": [2, 2]}, {"strides": [3, 3], "output_padding": [2, 1]}, {"dilations": [2, 1]}):
        node, inputs, weights = transposed(data, 1, 20, 24, (4, 4), (1, 1), 3, **attributes)
        compare(with_relu(node), inputs, weights, data=1.0)
    node, inputs, weights = transposed(data, 1, 20, 24, (4, 4), (1, 1))
    assert classes(model_of(with_relu(node), inputs, weights), target="neoverse-n1")[0] == "contract"


@pytest.mark.parametrize("channels, filters, group", [(24, 20, 1), (1, 1, 16), (8, 12, 2), (24, 1, 1)])
def test_dynamic_sizes(channels, filters, group, random):
    """One artifact for every batch and size, also prime and one."""
    inputs = [("x", FLOAT, ["n", channels * group, "height", "width"]), ("r", FLOAT, ["n", filters * group, "h2", "w2"])]
    weights = {"w": floats(random, channels * group, filters, 4, 3), "b": floats(random, filters * group)}
    nodes = [node("ConvTranspose", "x w b", "c", strides=[2, 2], pads=[1, 0, 1, 1], group=group), node("Add", "c r", "d"), node("Relu", "d", "y")]
    proto = model(nodes, inputs, [("y", FLOAT)], weights)

    def sized(n, h, w):
        return {"x": floats(random, n, channels * group, h, w), "r": floats(random, n, filters * group, 2 * h, 2 * w)}

    agree(proto, [sized(*shape) for shape in [(1, 1, 1), (2, 3, 5), (1, 13, 7), (3, 2, 17), (1, 8, 8)]])


def test_consumers_are_fused(seed):
    """Normalisation goes into the weights; bias, activation and residual are computed on the tile, math functions behind scratch."""
    data = np.random.default_rng(seed)
    node, inputs, weights = transposed(data, 1, 16, 24, (4, 4), (6, 5), 2, strides=[2, 2], pads=[1, 1, 1, 1])
    weights |= {name: data.uniform(0.5, 1.5, 24).astype(np.float32) for name in "smav"}
    inputs["r"] = data.standard_normal((2, 24, 12, 10)).astype(np.float32)
    norm = helper.make_node("BatchNormalization", ["c", "s", "a", "m", "v"], ["d"])
    added = [helper.make_node("Add", ["d", "r"], ["e"]), helper.make_node("Sigmoid", ["e"], ["f"]), helper.make_node("Mul", ["e", "f"], ["y"])]
    compare([node, norm, *added], inputs, weights)
    # The others bring the input, the residual and the result into their layouts.
    found = classes(model_of([node, norm, *added], inputs, weights), target="neoverse-v1")
    assert found.count("transposed") == 1 and set(found) == {"reorder", "transposed"} and len(found) <= 4, found


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("group", [1, 6])
def test_other_floats(group, dtype, seed):
    data = np.random.default_rng(seed)
    node, inputs, weights = transposed(data, group, 12 // group, 3, (3, 4), (5, 7), strides=[2, 3], dilations=[1, 1])
    node.output[0] = "y"
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, inputs["x"].shape)],
                              [helper.make_tensor_value_info("y", kind, None)],
                              [numpy_helper.from_array(w.astype(dtype), n) for n, w in weights.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = inputs["x"].astype(dtype)
    artifact = fathom.compile(proto)
    one, two = (fathom.Session(artifact, threads=threads).run(None, {"x": x})[0] for threads in (1, 2))
    assert one.dtype == dtype and one.tobytes() == two.tobytes()
    attributes = {"group": group, "strides": [2, 3], "dilations": [1, 1]}
    want = taps_in_double(x, weights["w"].astype(dtype), weights["b"].astype(dtype), attributes)
    assert_close(one, want, "convolution")


def test_no_images(random):
    proto = model([node("ConvTranspose", "x w", "c", strides=[2, 2]), node("Relu", "c", "y")], [("x", FLOAT, ["n", 8, 3, 5])],
                  [("y", FLOAT)], {"w": floats(random, 8, 16, 3, 3)})
    agree(proto, [{"x": floats(random, n, 8, 3, 5)} for n in (0, 1, 0, 3)], dim={"n": (0, 4)})


def chain(data):
    """Two of them behind each other, the second of few output channels, with a convolution between."""
    first, inputs, weights = transposed(data, 1, 20, 24, (4, 4), (5, 6), strides=[2, 2], pads=[1] * 4)
    nodes = [first, helper.make_node("Conv", ["c", "v"], ["d"], name="conv", pads=[1] * 4), helper.make_node("Relu", ["d"], ["e"]),
             helper.make_node("ConvTranspose", ["e", "u"], ["y"], name="last", strides=[2, 2], pads=[1] * 4)]
    weights |= {"v": data.standard_normal((12, 24, 3, 3)).astype(np.float32), "u": data.standard_normal((12, 1, 4, 4)).astype(np.float32)}
    return nodes, inputs, weights


@pytest.mark.parametrize("target", ["neoverse-n1", "neoverse-v1", "x86-64-v3", "sapphirerapids"])
def test_plan_round_trip(target, tmp_path, seed):
    nodes, inputs, weights = chain(np.random.default_rng(seed))
    proto = model_of(nodes, inputs, weights)
    assert "transposed" in classes(proto, target=target)
    round_trip(proto, tmp_path, target=target)


@pytest.mark.parametrize("filters", [1, 20])
def test_plan_of_dynamic_sizes(filters, tmp_path, random):
    """With versions for fewer pixels."""
    inputs = [("x", FLOAT, ["n", 24, "height", "width"])]
    proto = model([node("ConvTranspose", "x w", "c", strides=[2, 2]), node("Relu", "c", "y")], inputs, [("y", FLOAT)], {"w": floats(random, 24, filters, 4, 3)})
    plan, _ = round_trip(proto, tmp_path, target="neoverse-n1")
    assert ("transposed" in plan.read_text() and "versions" in plan.read_text()) == (filters == 20)


def test_a_chain(seed):
    compare(*chain(np.random.default_rng(seed)))


@pytest.mark.parametrize("target", ["neoverse-v1", "x86-64-v3"])
def test_impossible_schedules_are_refused(target, tmp_path):
    node, inputs, weights = transposed(np.random.default_rng(0), 1, 20, 24, (4, 4), (5, 6), strides=[2, 2])
    proto = model_of(with_relu(node), inputs, weights)
    plan = Plan.of(proto, target=target)
    assert plan.with_knobs({"task_p": 3}, of="transposed").compile(proto, tmp_path, target=target)
    for knob, value, words in [("tile_m", 32, "vector registers"), ("task_p", 5000, "outside"), ("task_m", 1, "multiple of tile_m")]:
        with pytest.raises(fathom.Error, match=words):
            plan.with_knobs({knob: value}, of="transposed").compile(proto, tmp_path, target=target)


@pytest.mark.parametrize("knob, values", [("task_p", [1, 2, 3, 6]), ("task_n", [1, 2]), ("through_scratch", [0, 1]), ("unroll_k", [1, 4]), ("store_vectors", [1, 8])])
def test_other_schedules(knob, values, tmp_path, seed, pinned):
    """Results that another schedule of the same order of sums has are the same bits, with any number of threads."""
    node, inputs, weights = transposed(np.random.default_rng(seed), 1, 9, 37, (5, 4), (5, 6), 2, strides=[2, 3], pads=[1, 1, 0, 0])
    proto = model_of(with_relu(node), inputs, weights)
    [want] = reference(proto)(inputs)
    plan = Plan.of(proto)
    for value in values:
        [got] = run(plan.with_knobs({knob: value}, of="transposed").compile(proto, tmp_path), inputs)
        assert_close(got, want, "convolution")

