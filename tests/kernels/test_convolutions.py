"""Convolutions by each of their algorithms, on awkward geometries and fresh random data, against ONNX Runtime."""
import random

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close, compare, unreached
from support.models import model_of
from support.plans import Plan, round_trip

ALGORITHMS = ["auto", "contract", "direct", "gemm", "spatial_pack", "grouped_spatial_pack", "winograd2", "winograd4"]
GROUPS = [1, 2, 3, 4, 8, 16, 32]
CHANNELS = [1, 2, 3, 4, 5, 8, 16]  # of a group


def convolution(data, group, channels, filters, kernel, sizes, batch=1, **attributes):
    """A node from x to y, with its input and weights; channels and filters are those of a group."""
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", group=group, **attributes)
    x = data.standard_normal((batch, group * channels, *sizes)).astype(np.float32)
    w = (data.standard_normal((group * filters, channels, *kernel)) / np.sqrt(channels * np.prod(kernel))).astype(np.float32)
    return node, {"x": x}, {"w": w, "b": data.standard_normal(group * filters).astype(np.float32)}


def random_geometry(rng):
    kernel, stride, dilation = rng.choice([1, 3, 3, 5]), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2])
    pads = [rng.choice([0, kernel // 2, 1]) for _ in range(4)]
    sizes = [rng.choice([1, 3, 6, 13, 17, 28]) + dilation * (kernel - 1) for _ in range(2)]
    return (kernel, kernel), sizes, {"strides": [stride] * 2, "dilations": [dilation] * 2, "pads": pads}


def classes(model, **options):
    return Plan.of(model, **options).classes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", range(6))
def test_every_algorithm_everywhere(case, algorithm, seed):
    """Where an algorithm is not possible another one takes its place."""
    rng, data = random.Random(seed + case), np.random.default_rng(seed + case)
    group = [1, 1, 1, 2, 4, 16][case]
    kernel, sizes, attributes = random_geometry(rng)
    channels, filters = rng.choice(CHANNELS), rng.choice(CHANNELS)
    node, inputs, weights = convolution(data, group, channels, filters, kernel, sizes, rng.choice([1, 2]), **attributes)
    compare([node], inputs, weights, same_for_all_inputs=unreached(node, inputs, weights), conv_algorithm=algorithm)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("channels", CHANNELS)
def test_groups(channels, group, seed):
    """As many filters as channels, and multiples of them, with a consumer."""
    rng, data = random.Random(seed), np.random.default_rng(seed)
    filters = channels * rng.choice([1, 1, 2, 3])
    kernel, sizes, attributes = random_geometry(rng)
    node, inputs, weights = convolution(data, group, channels, filters, kernel, sizes, **attributes)
    node.output[0] = "c"
    nodes = [node, helper.make_node("Relu", ["c"], ["y"])]
    algorithm = "grouped_spatial_pack" if group > 1 else "spatial_pack"
    compare(nodes, inputs, weights, data=1.0, same_for_all_inputs=unreached(node, inputs, weights), conv_algorithm=algorithm)


@pytest.mark.parametrize("spatial", [1, 3])
@pytest.mark.parametrize("channels, filters", [(2, 2), (3, 5), (8, 8), (1, 3)])
def test_other_ranks(channels, filters, spatial, seed):
    data = np.random.default_rng(seed)
    kernel, sizes = [3] * spatial, [7, 5, 11][-spatial:]
    node, inputs, weights = convolution(data, 5, channels, filters, kernel, sizes, pads=[1] * (2 * spatial))
    compare([node], inputs, weights, conv_algorithm="grouped_spatial_pack")


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("channels", [1, 2, 4, 8])
def test_every_tile_of_a_group(channels, seed, tmp_path):
    """Schedules of a plan other than the default: panels of part of a group, of one, and of several."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 6, channels, 8, (3, 3), [9, 11], pads=[1] * 4)
    model = model_of([node], inputs, weights)
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    plan = Plan.of(model, conv_algorithm="grouped_spatial_pack")
    for tile_o, groups, unroll, outer in [(1, 1, 0, 0), (4, 1, 0, 1), (8, 1, 1, 0), (8, 2, 0, 1), (8, 4, 0, 0)]:
        knobs = {"tile_w": 1 if groups > 2 else 2, "tile_o": tile_o, "groups": groups, "tile_i": channels, "unroll_w": unroll, "rows_outer": outer}
        knobs |= {"task_h": 4, "task_n": 2}
        changed = plan.with_knobs(knobs)
        got = fathom.Session(changed.compile(model, tmp_path)).run(None, inputs)[0]
        assert_close(got, want, "convolution")


def test_a_width_known_at_run_time(seed):
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 8, 4, 4, (3, 3), [5, 9], pads=[1] * 4)
    model = model_of([node], inputs, weights)
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "width"
    artifact = fathom.compile(model, conv_algorithm="grouped_spatial_pack")
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for width in (1, 2, 7, 16, 29):
        x = data.standard_normal((1, 32, 5, width)).astype(np.float32)
        got, want = fathom.Session(artifact).run(None, {"x": x})[0], reference.run(None, {"x": x})[0]
        assert_close(got, want, "convolution")


@pytest.mark.parametrize("width", [1, 3, 4, 17, 67])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_images_of_few_channels(channels, width, seed):
    """They come channels outermost, and are normalised on the way to where a pixel's channels lie side by side."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 1, channels, 16, (3, 3), [5, width], pads=[1] * 4)
    node.input[0] = "n"
    weights |= {"mean": data.standard_normal((1, channels, 1, 1)).astype(np.float32), "scale": data.standard_normal((1, channels, 1, 1)).astype(np.float32)}
    compare([helper.make_node("Sub", ["x", "mean"], ["s"]), helper.make_node("Mul", ["s", "scale"], ["n"]), node], inputs, weights)
    compare([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])], inputs, {})


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("grain", [1, 24, 100])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_images_of_few_channels_in_tasks(channels, grain, seed, tmp_path):
    """Stretches of neighbouring pixels that are whole vectors, and the rest of them."""
    x = np.random.default_rng(seed).standard_normal((2, channels, 9, 67)).astype(np.float32)
    model = model_of([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])], {"x": x}, {})
    plan = Plan.of(model)
    changed = plan.with_knobs({"grain": grain})
    got = fathom.Session(changed.compile(model, tmp_path), threads=2).run(None, {"x": x})[0]
    np.testing.assert_array_equal(got, x.transpose(0, 2, 3, 1))


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("kernel, image, attributes", [
    ((3, 3), [6, 13], {"pads": [1] * 4}),
    ((3, 3), [9, 11], {"strides": [2, 2]}),
    ((2, 3), [7, 14], {"pads": [2] * 4, "dilations": [1, 2]}),
    ((3, 5), [5, 23], {"pads": [4] * 4, "dilations": [2, 2], "strides": [1, 3]}),
    ((5,), [19], {"pads": [2, 2]}),
    ((1, 2), [4, 9], {}),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("tile_w", [1, 2, 3])
@pytest.mark.parametrize("channels, filters, together", [(4, 4, 2), (8, 8, 2), (3, 5, 3), (6, 2, 5), (2, 3, 2), (1, 2, 2), (1, 16, 2), (3, 1, 6)], ids=str)
def test_groups_side_by_side(channels, filters, together, tile_w, kernel, image, attributes, seed, tmp_path):
    """Taps along a row that share pixels, or share some of them, or none: every group's channels are multiplied with its own weights only."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 7, channels, filters, kernel, image, **attributes)
    model = model_of([node], inputs, weights)
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    plan = Plan.of(model, conv_algorithm="grouped_spatial_pack")
    for unroll in (0, 1):
        knobs = {"tile_w": tile_w, "tile_o": filters, "tile_i": channels, "groups": together, "unroll_w": unroll, "load_ahead": 0, "task_n": 1}
        changed = plan.with_knobs(knobs)
        try:
            artifact = changed.compile(model, tmp_path)
        except fathom.Error as error:  # not all of it fits every machine
            assert "vector registers" in str(error)
            continue
        got = fathom.Session(artifact, threads=2).run(None, inputs)[0]
        assert_close(got, want, "convolution")


DEPTHWISE = [  # channels, kernel, image, attributes
    (37, (3, 3), [9, 11], {"pads": [1] * 4}),
    (48, (5, 5), [8, 14], {"pads": [2] * 4, "strides": [2, 2]}),
    (32, (3, 3), [11, 13], {"pads": [2] * 4, "dilations": [2, 2]}),
    (20, (2, 2), [13, 17], {"strides": [3, 4]}),
    (17, (3,), [29], {"pads": [1, 1]}),
    (12, (3, 3, 3), [5, 4, 7], {"pads": [1] * 6, "strides": [1, 2, 1]}),
    # Taps outside of the image: all but one, of windows larger than it, of whole windows, on some sides only, with gaps.
    (9, (3, 3), [1, 1], {"pads": [1] * 4}),
    (16, (5, 5), [3, 4], {"pads": [2] * 4}),
    (24, (3, 3), [4, 6], {"pads": [3, 4, 3, 4]}),
    (16, (4, 3), [9, 10], {"pads": [2, 0, 1, 2]}),
    (8, (3, 5), [12, 10], {"pads": [4, 6, 2, 6], "dilations": [3, 2], "strides": [2, 3]}),
    (10, (5,), [13], {"pads": [6, 5], "dilations": [3], "strides": [2]}),
    (6, (45,), [71], {"pads": [22, 21]}),
]


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("channels, kernel, image, attributes", DEPTHWISE)
def test_blocks_of_single_channels(channels, kernel, image, attributes, seed, tmp_path):
    """Tasks of some channels and rows, with and without fetching ahead: blocks that divide the channels or do not."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, channels, 1, 1, kernel, image, **attributes)
    model = model_of([node], inputs, weights)
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    plan = Plan.of(model)
    assert "depthwise" in plan.classes
    schedules = [(1, 4, 1, 0, 3, 1), (2, 8, 16, 1, 3, 2), (3, 4, 7, 1, 1000, 1000), (4, 16, 1000, 0, 3, 3), (2, 4, 12, 1, 3, 1), (2, 4, 12, 1, 0, 1)]
    for tile_w, lanes, block_c, ahead, block, grain in schedules:
        knobs = {"tile_w": tile_w, "lanes": lanes, "block_c": block_c, "fetch_ahead": ahead, "fetch_block": block, "grain": grain}
        changed = plan.with_knobs(knobs)
        session = fathom.Session(changed.compile(model, tmp_path), threads=2)
        assert_close(session.run(None, inputs)[0], want, "convolution")


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("kernel, image", [((3, 3), [6, 11]), ((1, 1), [5, 3]), ((5,), [23]), ((3, 1, 2), [4, 5, 6])])
@pytest.mark.parametrize("group", [2, 3, 7, 16])
def test_pairs_of_channels(group, kernel, image, seed, tmp_path):
    """Constant weights of pairs are swapped ahead: panels of one pair, of several, and of a rest; others are not."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, group, 2, 2, kernel, image, pads=[taps // 2 for taps in kernel] * 2)
    compare([node], inputs, weights, conv_algorithm="grouped_spatial_pack")
    compare([node], inputs | weights, {}, conv_algorithm="grouped_spatial_pack")
    compare([node], inputs, weights, conv_algorithm="grouped_spatial_pack", fp="strict")
    model = model_of([node], inputs, weights)
    assert "GatherElements" not in fathom.compile(model, emit="plan", conv_algorithm="grouped_spatial_pack", fp="strict")
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    plan = Plan.of(model, conv_algorithm="grouped_spatial_pack")
    for groups, unroll in [(1, 0), (1, 1), (2, 1)]:
        knobs = {"tile_w": 2, "tile_o": 2, "groups": groups, "tile_i": 2, "unroll_w": unroll, "task_h": 3, "task_n": 1}
        changed = plan.with_knobs(knobs)
        got = fathom.Session(changed.compile(model, tmp_path)).run(None, inputs)[0]
        assert_close(got, want, "convolution")
    changed = plan.with_knobs({"tile_o": 1, "groups": 1})
    with pytest.raises(fathom.Error, match="pairs of channels are swapped"):
        changed.compile(model, tmp_path)


@pytest.mark.parametrize("algorithm", ["auto", "gemm"])
@pytest.mark.parametrize("target", [None, "neoverse-n1", "cortex-a53", "x86-64-v3"])
@pytest.mark.parametrize("kernel, dilation", [(3, 2), (5, 3), (3, 1)])
def test_rows_whose_partial_sums_have_no_room(kernel, dilation, target, algorithm, random):
    """Each pixel of such a window is a block of its own, and the result of another type cannot hold its sums."""
    x = random.standard_normal((1, 64, 301)).astype(np.float32)
    w = (random.standard_normal((96, 64, kernel)) / np.sqrt(64 * kernel)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["p"], dilations=[dilation]), helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT16)]
    model = model_of(nodes, {"x": x}, {"w": w})
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    artifact = fathom.compile(model, target=target or "host", conv_algorithm=algorithm)
    if not target:
        [got], [want] = (session.run(None, {"x": x}) for session in (fathom.Session(artifact), onnxruntime.InferenceSession(model.SerializeToString())))
        assert_close(got, want, "convolution")


@pytest.mark.parametrize("attributes", [{"pads": [2, 1, 0, 3]}, {"pads": [1, 2, 2, 1], "strides": [2, 2]}, {"pads": [3] * 4, "dilations": [2, 3]}, {}])
@pytest.mark.parametrize("unknown", [[2], [3], [0, 2, 3]])
def test_single_channels_of_images_known_at_run_time(unknown, attributes, seed):
    """Where a row's width is not known, zeros around it stand for what lies outside; rows above and below are left out."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 20, 1, 1, (3, 3), [7, 9], **attributes)
    model = model_of([node], inputs, weights)
    for dim in unknown:
        model.graph.input[0].type.tensor_type.shape.dim[dim].dim_param = f"size{dim}"
    session = fathom.Session(fathom.compile(model))
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for size in (7, 8, 13, 29):
        shape = [size if dim in unknown and dim else fixed for dim, fixed in enumerate(inputs["x"].shape)]
        x = data.standard_normal(shape).astype(np.float32)
        want = reference.run(None, {"x": x})[0]
        assert_close(session.run(None, {"x": x})[0], want, "convolution")


@pytest.mark.usefixtures("both")
def test_groups_of_few_channels_are_packed_by_themselves():
    data = np.random.default_rng(0)
    for channels, kind in [(1, "depthwise"), (2, "spatial_pack"), (4, "spatial_pack")]:
        node, inputs, weights = convolution(data, 64 // channels, channels, channels, (3, 3), [28, 28], pads=[1] * 4)
        assert kind in classes(model_of([node], inputs, weights))
        assert kind in classes(model_of([node], inputs, weights), fp="strict")


@pytest.mark.usefixtures("both")
def test_direct_and_gemm_differ(seed):
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 1, 24, 40, (3, 3), [12, 12], pads=[1] * 4)
    plans = [fathom.compile(model_of([node], inputs, weights), emit="plan", conv_algorithm=name) for name in ("direct", "gemm")]
    packed = [[line.split()[1] for line in plan.splitlines() if line.strip().startswith("pack_a:")] for plan in plans]
    assert packed == [["0"], ["1"]]


@pytest.mark.parametrize("algorithm", ["direct", "gemm", "spatial_pack"])
def test_a_producer_before_it(algorithm, seed):
    """What a product would compute while it packs is computed before, where nothing is packed."""
    data = np.random.default_rng(seed)
    node, inputs, weights = convolution(data, 1, 24, 16, (1, 1), [7, 9])
    node.input[0] = "t"
    compare([helper.make_node("Tanh", ["x"], ["t"]), node], inputs, weights, conv_algorithm=algorithm)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("algorithm", ["direct", "gemm", "spatial_pack", "grouped_spatial_pack"])
def test_a_plan_says_which_algorithm(algorithm, tmp_path):
    data = np.random.default_rng(0)
    node, inputs, weights = convolution(data, 4 if algorithm.startswith("grouped") else 1, 4, 6, (3, 3), [12, 12], pads=[1] * 4)
    round_trip(model_of([node], inputs, weights), tmp_path, conv_algorithm=algorithm)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "knob, number, reason",
    [
        ("tile_o", 8, "must divide the 4 output channels of a group"),
        ("tile_i", 3, "must divide the 4 input channels of a group"),
        ("groups", 9, "more than the 8 that there are"),
        ("tile_w", 32, "vector registers"),
        ("load_ahead", 8, "load_ahead must be 0"),
    ],
)
def test_impossible_plans_are_refused(knob, number, reason, tmp_path):
    node, inputs, weights = convolution(np.random.default_rng(0), 8, 4, 4, (3, 3), [12, 40], pads=[1] * 4)
    model = model_of([node], inputs, weights)
    plan = Plan.of(model, conv_algorithm="grouped_spatial_pack")
    changed = plan.with_knobs({knob: number})
    with pytest.raises(fathom.Error, match=reason):
        changed.compile(model, tmp_path)
