"""Quantising models: what is written computes what it should, for ONNX Runtime too, and bad input is told."""

import collections
import json
import os

import fathom
import numpy as np
import onnx
import onnxruntime
import pytest
from fathom.quantization import command, ranges, save
from fathom.quantization.samples import Samples
from fathom.quantization.ranges import BINS, Observed, entropy_range, levels_of, percentile_range
from fathom.reference import OnnxRuntime
from support.models import floats, model as model_with, model_of, node, value
from support.networks import perceptron, relu_model
from onnx import numpy_helper


@pytest.fixture(scope="module")
def steady():
    """Numbers that are the same in every run: what they are is asserted."""
    return np.random.default_rng(28)


def network(seed=0, batch=1):
    """Everything that integers flow through: a residual, a concatenation, pools, limits, and a normalisation to fold."""
    random = np.random.default_rng(seed)
    weights = {"w1": floats(random, 8, 3, 3, 3) / 4, "w2": floats(random, 8, 8, 3, 3) / 8, "b2": floats(random, 8) / 8,
               "w3": floats(random, 4, 8, 1, 1) / 3, "w4": floats(random, 16, 12, 1, 1) / 3, "w5": floats(random, 5, 16) / 4,
               "b5": floats(random, 5), "low": np.float32(0), "high": np.float32(6)}
    weights |= {"scale": 1 + floats(random, 8) / 10, "shift": floats(random, 8) / 10, "mean": floats(random, 8) / 10, "variance": 1 + random.random(8, np.float32)}
    nodes = [
        node("Conv", "x w1", "c1", name="first", pads=[1] * 4), node("BatchNormalization", "c1 scale shift mean variance", "n1", name="norm"),
        node("Relu", "n1", "r1"), node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p1 w2 b2", "c2", name="second", pads=[1] * 4), node("Add", "c2 p1", "a2"), node("Relu", "a2", "r2"),
        node("Conv", "r2 w3", "c3", name="third"), node("Clip", "c3 low high", "r3"), node("Concat", "r2 r3", "k", axis=1),
        node("Conv", "k w4", "c4", name="fourth"), node("Relu", "c4", "r4"), node("GlobalAveragePool", "r4", "g"), node("Flatten", "g", "f"),
        node("Gemm", "f w5 b5", "y", name="last", transB=1),
    ]  # fmt: skip
    return model_with(nodes, [value("x", [batch, 3, 16, 16])], [value("y", [batch, 5])], weights)


def images(count, seed=1, batch=1):
    random = np.random.default_rng(seed)
    return [{"x": floats(random, batch, 3, 16, 16)} for _ in range(count)]


def run(model, inputs, folder="."):
    """By ONNX Runtime, as the model says it: no instructions that saturate on the way."""
    model = onnx.load_from_string(model) if isinstance(model, bytes) else model
    names = [output.name for output in model.graph.output]
    return OnnxRuntime(model.SerializeToString(), folder, 1).run(names, inputs)


def tensors(model):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def makers(model):
    return {name: node for node in model.graph.node for name in node.output}


def quantize(model, samples, *given, **options):
    """With one thread: the networks are small."""
    return fathom.quantize(model, samples, *given, **{"threads": 1} | options)


def relative(got, want):
    return np.sqrt(np.sum((got.astype(float) - want) ** 2) / np.sum(want.astype(float) ** 2))


def rounded_factors(model, op):
    """Of the only node of this kind: its dequantised weights and their steps, and the step of its data."""
    [product] = [node for node in model.graph.node if node.op_type == op]
    made, known = makers(model), tensors(model)
    data, weight = (made[name] for name in product.input[:2])
    axis = next((attribute.i for attribute in weight.attribute if attribute.name == "axis"), None)
    numbers, scale = (known[name] for name in weight.input[:2])
    steps = scale.reshape([-1 if i == axis else 1 for i in range(numbers.ndim)]) if scale.ndim else scale
    return numbers * steps, np.broadcast_to(steps, numbers.shape), known[data.input[1]]


PRODUCTS = {
    "conv": ("Conv", (2, 4, 9, 9), (6, 4, 3, 3), (6,), {"strides": [2, 2], "pads": [1, 0, 1, 2]}),
    "groups": ("Conv", (1, 8, 7, 7), (8, 2, 3, 3), (8,), {"group": 4}),
    "depthwise": ("Conv", (1, 6, 7, 7), (6, 1, 3, 3), (6,), {"group": 6}),
    "line": ("Conv", (1, 4, 20), (3, 4, 5), None, {}),
    "gemm": ("Gemm", (5, 32), (32, 7), (7,), {}),
    "turned": ("Gemm", (5, 32), (7, 32), (1, 7), {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "one bias": ("Gemm", (5, 32), (32, 7), (1,), {}),
    "matmul": ("MatMul", (2, 5, 32), (32, 7), None, {}),
}


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("kind", PRODUCTS)
def test_every_element_is_within_its_bound(random, kind, per_channel):
    """Each factor is off by half a step at most, and so the result by no more than the products of that."""
    op, given, shape, bias_shape, attributes = PRODUCTS[kind]
    weights = {"w": floats(random, *shape)} | ({"b": floats(random, *bias_shape)} if bias_shape else {})
    x = floats(random, *given)
    model = model_of([node(op, ["x", *weights], "y", **attributes)], {"x": x}, weights)
    made = quantize(model, [x], per_channel=per_channel, bias_correction=False).model
    w, steps, step = rounded_factors(made, op)
    expected = weights["w"] * np.float32(attributes.get("alpha", 1))
    assert (np.abs(w - expected) <= steps / 2 * (1 + 1e-5)).all()
    # |x w - x' w'| <= |x - x'| |w| + |x'| |w - w'|, summed up by the operator itself; the bias is off by half of its step.
    plain = {key: attributes[key] for key in attributes if key not in ("alpha", "beta")}
    size = np.prod([n for i, n in enumerate(shape) if i != (0 if op == "Conv" or "transB" in attributes else 1)])

    def summed(left, right):
        return run(model_of([node(op, "x w", "y", **plain)], {"x": left}, {"w": right.astype(np.float32)}), {"x": left})[0]

    bound = summed(np.full_like(x, step / 2), np.abs(expected)) + summed(np.abs(x) + step / 2, steps / 2) + step * steps.max()
    got, want = run(made, {"x": x})[0], run(model, {"x": x})[0]
    assert (np.abs(got - want) <= bound * (1 + 1e-4) + size * 1e-6).all()
    assert np.abs(got - want).max() > 0 and (run(made, {"x": -x})[0] != got).any()


def test_two_layers_are_within_their_bound(random):
    """Through a ReLU, which makes no error larger, and which the range of the quantiser stands for."""
    model = perceptron()
    x = floats(random, 64, 16)
    made = quantize(model, [x], bias_correction=False)
    assert "Relu" in [node.op_type for node in made.model.graph.node]  # the model's own output is read from it
    known, scales = tensors(model), {name: array for name, array in tensors(made.model).items() if name.endswith(".scale")}
    w1, w2 = np.abs(known["w1"]), np.abs(known["w2"])
    step1, step2 = scales["x.scale"], scales["r.scale"]
    half1, half2 = (np.broadcast_to(scales[f"{name}.scale"] / 2, known[name].shape) for name in ("w1", "w2"))
    # Half a step of the bias besides; the ends of a range lie between levels.
    error1 = step1 / 2 * w1.sum(0) + (np.abs(x) + step1 / 2) @ half1 + step1 * half1[0] + 1e-5
    h = np.maximum(x @ known["w1"] + known["b1"], 0)
    error2 = (error1 + step2) @ w2 + (h + error1 + step2) @ half2 + 1e-5
    got, want = (run(each, {"x": x}) for each in (made.model, model))
    assert (np.abs(got[0] - want[0]) <= error2).all()
    assert (np.abs(got[1] - want[1]) <= error1).all()


def test_fathom_and_onnxruntime_agree(tmp_path):
    path = tmp_path / "small.onnx"
    report = quantize(network(), images(6), path).report
    assert (report["quantized"], report["products"], report["folded_normalisations"]) == (5, 5, 1)
    assert report["bytes"][1] < report["bytes"][0]
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = fathom.Session(fathom.compile(path))
    errors = []
    for sample in images(4, seed=2):
        got, also, want = session.run(None, sample)[0], run(model, sample)[0], run(network(), sample)[0]
        # Sums are exact in both, but a mean of a pool may be rounded to the level beside.
        assert relative(got, also) < 0.01
        errors.append(relative(also, want))
    # Seven roundings in a row of 1/255 of a range each, whose numbers are a fourth of it or more.
    assert 0 < max(errors) < 7 * 4 / 255
    # What is told was measured on the samples.
    told = relative(*(np.array([run(each, sample)[0] for sample in images(6)]) for each in (model, network())))
    assert abs(report["errors"]["y"] - told) < 0.1 * told


def test_integers_flow(tmp_path):
    """ONNX Runtime computes everything in integers, and Fathom every product."""
    made = quantize(network(), images(2)).model
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = collections.Counter(node.op_type for node in onnx.load(tmp_path / "fused.onnx").graph.node)
    assert kinds == {"QuantizeLinear": 1, "QLinearConv": 4, "MaxPool": 1, "QLinearAdd": 1, "QLinearConcat": 1, "QLinearGlobalAveragePool": 1,
                     "Flatten": 1, "QGemm": 1}  # fmt: skip
    text = fathom.compile(made, emit="graph", target="neoverse-v1")
    assert text.count("graph.quads") == 5 and "why_float" not in text


def test_what_only_moves_numbers_keeps_their_scale():
    made = quantize(network(), images(2)).model
    known = tensors(made)
    assert known["r1.scale"] == known["p1.scale"] != known["r2.scale"]
    assert known["r2.scale"] == known["r3.scale"] == known["k.scale"] and known["r2.zero"] == 0
    assert not {"Relu", "Clip", "BatchNormalization"} & {node.op_type for node in made.graph.node}


def test_a_limit_within_the_range_stays(random):
    """A Clip that ends before the levels do, as its result shares a scale with what is larger."""
    weights = {"w": floats(random, 4, 3, 1, 1), "v": floats(random, 4, 3, 1, 1), "u": floats(random, 2, 8, 1, 1), "low": np.float32(0), "high": np.float32(0.1)}
    nodes = [node("Conv", "x w", "a"), node("Clip", "a low high", "b"), node("Conv", "x v", "c"), node("Concat", "b c", "d", axis=1),
             node("Conv", "d u", "y")]  # fmt: skip
    model = model_of(nodes, {"x": np.zeros((1, 3, 8, 8), np.float32)}, weights)
    sample = {"x": floats(random, 1, 3, 8, 8)}
    made = quantize(model, [sample]).model
    assert "Clip" in [node.op_type for node in made.graph.node]
    assert relative(run(made, sample)[0], run(model, sample)[0]) < 0.1


def test_per_channel(random):
    """A channel whose weights are small keeps its own scale."""
    w = (floats(random, 32, 6) * 10.0 ** np.arange(-5, 1)).astype(np.float32)
    x = floats(random, 40, 32)
    model = model_of([node("MatMul", "x w", "y")], {"x": x}, {"w": w})
    errors = {}
    for per_channel in (True, False):
        made = quantize(model, [x], per_channel=per_channel).model
        scale = tensors(made)["w.scale"]
        assert scale.shape == ((6,) if per_channel else ())
        assert np.allclose(scale, np.abs(w).max(axis=0 if per_channel else None) / 127)
        got, want = run(made, {"x": x})[0], run(model, {"x": x})[0]
        errors[per_channel] = np.abs(got - want).max(axis=0) / np.abs(want).max(axis=0)
    assert errors[True].max() < 0.05 and errors[False][0] > 0.5


def test_zeros(random):
    """Channels without weights, a bias that is much larger than what is added to it, and an input of zeros."""
    w, b = floats(random, 16, 3), np.array([0.25, 1000, -1e-3], np.float32)
    w[:, 0], w[:, 1] = 0, 1e-8
    model = model_of([node("Gemm", "x w b", "y")], {"x": np.zeros((4, 16), np.float32)}, {"w": w, "b": b})
    for x in (floats(random, 4, 16), np.zeros((4, 16), np.float32)):
        made = quantize(model, [x], bias_correction=False).model
        got = run(made, {"x": x})[0]
        assert np.abs(got - run(model, {"x": x})[0]).max() < 0.1 and (np.abs(got - b)[:, 0] <= 1e-6).all() and (np.abs(got - b)[:, 1] <= 1e-3).all()


def test_zero_is_a_level():
    for low, high in ((-1, 1), (-0.3, 7), (0, 5), (-5, 0), (-1e-3, 1000)):
        scale, zero = levels_of(low, high)
        assert abs(scale * 255 - (high - low)) < 1e-5 * (high - low) and 0 <= zero <= 255
        least, most = ((level - int(zero)) * float(scale) for level in (0, 255))
        assert least - low < scale and high - most < scale
    assert levels_of(0, 5)[1] == 0 and levels_of(-5, 0)[1] == 255 and levels_of(0, 0) == levels_of(0, 1)


def histogram(array):
    found = Observed()
    for step in (found.see, found.count):
        for part in np.array_split(array.astype(np.float32), 3):
            step(part)
    return found


def test_minmax(random):
    array = floats(random, 1000) + 5
    assert histogram(array).range("minmax", 0) == (0, array.max())
    assert histogram(-array).range("minmax", 0) == (-array.max(), 0)
    assert Observed().range("minmax", 0) == (0, 0)


def test_percentiles_of_a_uniform_distribution():
    """Of numbers that are equally frequent from -1 to 3, P percent lie within (P / 100) of that."""
    found = histogram(np.linspace(-1, 3, 400_000))
    assert found.counts.sum() == 400_000
    for percentile in (99.0, 90.0, 50.0):
        cut = 4 * (1 - percentile / 100) / 2
        assert np.allclose(found.range("percentile", percentile), (-1 + cut, min(3 - cut, 3)), atol=4 / BINS)
    assert found.range("percentile", 100) == (-1, 3)


def test_percentiles_of_a_normal_distribution(random):
    """95.45 percent lie within two deviations; as many numbers leave the estimate by a few thousandths."""
    low, high = histogram(random.standard_normal(200_000)).range("percentile", 95.45)
    assert np.allclose((low, high), (-2, 2), atol=0.05)


def test_percentiles_of_numbers_that_are_mostly_zero():
    array = np.concatenate([np.zeros(9_000), np.linspace(0, 1, 1_000)])
    low, high = histogram(array).range("percentile", 99.0)
    # Half a percent of all is 5 percent of those that are not zero.
    assert low == 0 and abs(high - 0.95) < 1e-2
    assert percentile_range(np.array([0, 10, 0, 0]), 0, 4, 50) == (1.25, 1.75)


def divergence(counts, start, stop):
    """By the definition, number by number."""
    size, levels = stop - start, collections.defaultdict(list)
    for i in range(size):
        levels[i * 256 // size].append(start + i)
    kept = [float(count) for count in counts[start:stop]]
    kept[0] += sum(counts[:start])
    kept[-1] += sum(counts[stop:])
    spread = [0.0] * size
    for bins in levels.values():
        filled = [i for i in bins if counts[i]]
        for i in filled:
            spread[i - start] = sum(counts[j] for j in bins) / len(filled)
    p, q = np.array(kept) / sum(kept), np.array(spread) / sum(spread)
    chance = 0.0
    for bins in levels.values():
        numbers, filled = sum(counts[i] for i in bins), sum(1 for i in bins if counts[i])
        chance += max(min(filled - 1, numbers - filled), 0) / 2 / sum(counts[start:stop])
    return sum(a * np.log(a / max(b, 1e-12)) for a, b in zip(p, q) if a) - chance


def test_entropy_is_the_definition(steady):
    counts = np.bincount(steady.integers(0, 700, 3000), minlength=1024)
    for start, stop in ((0, 1024), (100, 800), (300, 600)):
        assert np.isclose(ranges._divergence(counts, start, stop), divergence(list(counts), start, stop))


def test_entropy_cuts_off_what_is_far_and_rare(steady):
    normal = steady.standard_normal(100_000)
    low, high = histogram(np.concatenate([normal, [60.0]])).range("entropy", 0)
    # All but one of the numbers lie within 5 deviations; of 256 levels, 60 deviations would leave them forty.
    assert -6 < low < -2 and 2 < high < 20
    # Numbers that are equally frequent cost nothing in levels of any width, and every cut costs.
    assert entropy_range(np.ones(BINS, np.int64), -2, 2) == (-2, 2)
    # Zeros, of which there are many, have a level of their own.
    assert histogram(np.maximum(normal, 0)).range("entropy", 0)[1] > 3.5
    assert histogram(np.zeros(10)).range("entropy", 0) == (0, 0)


@pytest.mark.parametrize("method", ["percentile", "entropy"])
def test_methods_cut_outliers_off(method):
    """A few samples far out would leave the others a few levels."""
    samples = images(3)
    samples[0]["x"][0, 0, 0, 0] = 200
    scales = {each: tensors(quantize(network(), samples, method=each, percentile=99.0).model)["x.scale"] for each in ("minmax", method)}
    assert scales["minmax"] > 200 / 256 and scales[method] < scales["minmax"] / 3


def test_bias_correction_lowers_the_mean_error(random):
    """By product: of the samples, what is left is the rounding of the bias, of the one that was measured and of the one that came of it."""
    x = floats(random, 200, 24) + 1
    for op, weights in (("Gemm", {"w": floats(random, 24, 6)}), ("Gemm", {"w": floats(random, 24, 6), "b": floats(random, 6)}), ("MatMul", {"w": floats(random, 24, 6)})):
        nodes = [node(op, ["x", *weights], "y")]
        if op == "MatMul":
            nodes, weights = [node(op, "x w", "m"), node("Add", "b m", "y")], weights | {"b": floats(random, 6)}
        model = model_of(nodes, {"x": x[:100]}, weights)
        want, means = np.concatenate([run(model, {"x": part})[0] for part in (x[:100], x[100:])]), {}
        for correct in (False, True):
            made = quantize(model, [x[:100], x[100:]], bias_correction=correct).model
            names = tensors(made)
            step = names["x.scale"] * names["w.scale"].max()
            got = np.concatenate([run(made, {"x": part})[0] for part in (x[:100], x[100:])])
            means[correct] = np.abs((got - want).mean(axis=0))
        assert means[True].max() <= step + 1e-5 and means[True].max() < means[False].max()


def test_bias_correction_in_a_network():
    samples = images(8)
    want = np.array([run(network(), sample)[0] for sample in samples])
    errors = {}
    for correct in (False, True):
        made = quantize(network(), samples, bias_correction=correct).model
        errors[correct] = np.abs(np.array([run(made, sample)[0] for sample in samples]) - want).mean()
    assert errors[True] < errors[False]


def test_the_search_keeps_its_bound():
    samples = images(4)
    whole = quantize(network(), samples)
    assert whole.report["decisions"] == []
    everything = whole.report["errors"]["y"]
    same = quantize(network(), samples, max_error=2 * everything)
    assert same.report["decisions"] == [] and same.model.SerializeToString() == whole.model.SerializeToString()
    bound = everything * 0.7
    found = quantize(network(), samples, max_error=bound)
    decisions = found.report["decisions"]
    assert decisions and found.report["quantized"] + len(decisions) == 5
    assert found.report["errors"]["y"] <= bound and decisions[-1]["error"] == found.report["errors"]["y"]
    assert [d["sensitivity"] for d in decisions] == sorted((d["sensitivity"] for d in decisions), reverse=True)
    # ONNX Runtime sees the same.
    told = relative(*(np.array([run(each, sample)[0] for sample in samples]) for each in (found.model, network())))
    assert told <= bound * 1.05
    with pytest.raises(fathom.Error, match="no product can be quantised within a relative error of 1e-09") as error:
        quantize(network(), samples, max_error=1e-9)
    assert error.value.code == "F3001"


def test_the_most_sensitive_goes_first(random):
    """A product whose data have a far outlier, beside one whose have none."""
    weights = {"w": floats(random, 16, 8), "v": floats(random, 16, 8)}
    model = model_of([node("MatMul", "a w", "p", name="fine"), node("MatMul", "b v", "q", name="coarse"), node("Add", "p q", "y")],
                     {"a": np.zeros((4, 16), np.float32), "b": np.zeros((4, 16), np.float32)}, weights)  # fmt: skip
    samples = [{"a": floats(random, 4, 16), "b": floats(random, 4, 16)} for _ in range(3)]
    samples[1]["b"][0, 0] = 300
    samples[1]["a"][0] *= 40  # so that the outlier's own result does not outweigh everything
    whole = quantize(model, samples).report["errors"]["y"]
    report = quantize(model, samples, max_error=whole * 0.9).report
    assert [decision["node"] for decision in report["decisions"]] == ["coarse"]


def test_what_was_asked_for_stays_in_floating_point():
    made = quantize(network(), images(1), keep_float=["second"])
    assert made.report["quantized"] == 4 and made.report["left"] == [{"node": "second", "why": "it was asked for"}]
    assert "w2" in tensors(made.model)


def test_what_cannot_be_quantised_is_told(random):
    weights = {"w": floats(random, 8, 8), "deep": floats(random, 40_000, 2), "nan": np.full((8, 8), np.nan, np.float32)}
    nodes = [node("MatMul", "x w", "h", name="good"), node("MatMul", "h h", "y", name="both"), node("MatMul", "d deep", "z", name="deep"),
             node("MatMul", "x nan", "n", name="nan"), node("Div", "x zero", "i"), node("MatMul", "i w", "j", name="infinite")]  # fmt: skip
    model = model_of(nodes, {"x": np.ones((8, 8), np.float32), "d": np.ones((1, 40_000), np.float32)}, weights | {"zero": np.zeros(1, np.float32)}, ["y", "z", "n", "j"])
    report = quantize(model, [{"x": floats(random, 8, 8), "d": floats(random, 1, 40_000)}]).report
    assert {entry["node"]: entry["why"].split()[-1] for entry in report["left"]} == {
        "both": "constant", "deep": "bits", "nan": "finite", "infinite": "finite",
    }  # fmt: skip
    assert report["quantized"] == 1


def test_shared_and_transposed_weights(random):
    """As exporters write them: layers with one weight, and matrices that a node turns."""
    weights = {"w": floats(random, 8, 8), "s": floats(random, 1)}
    nodes = [node("Identity", "w", "u"), node("Transpose", "w", "t", perm=[1, 0]), node("MatMul", "x w", "a"), node("Relu", "a", "b"),
             node("MatMul", "b u", "c"), node("MatMul", "c t", "y")]  # fmt: skip
    model = model_of(nodes, {"x": np.zeros((16, 8), np.float32)}, weights)
    sample = {"x": floats(random, 16, 8)}
    made = quantize(model, [sample])
    assert made.report["quantized"] == 3 and set(node.op_type for node in made.model.graph.node) == {"QuantizeLinear", "DequantizeLinear", "MatMul"}
    assert relative(run(made.model, sample)[0], run(model, sample)[0]) < 0.05


def test_branches_keep_what_they_read(random):
    """A value that the body of an If reads keeps its name and its floats."""
    body = lambda op, name: onnx.helper.make_graph([node(op, "r", name)], name, [], [value(name)])
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Conv", "r v", "d"), node("If", "flag", "e", then_branch=body("Neg", "f"), else_branch=body("Abs", "g")),
             node("Add", "d e", "y")]  # fmt: skip
    inputs = {"x": floats(random, 1, 3, 8, 8), "flag": np.array(True)}
    model = model_of(nodes, inputs, {"w": floats(random, 3, 3, 1, 1), "v": floats(random, 3, 3, 1, 1)})
    made = quantize(model, [inputs]).model
    for flag in (True, False):
        given = inputs | {"flag": np.array(flag)}
        assert relative(run(made, given)[0], run(model, given)[0]) < 0.05


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 21])
def test_operator_sets(random, opset):
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Conv", "r v b", "y")]
    weights = {"w": floats(random, 4, 3, 3, 3), "v": floats(random, 4, 4, 1, 1), "b": floats(random, 4)}
    sample = {"x": floats(random, 1, 3, 8, 8)}
    model = model_of(nodes, sample, weights, opset=opset)
    made = quantize(model, [sample]).model
    assert relative(run(made, sample)[0], run(model, sample)[0]) < 0.05


def test_sizes_may_change(random):
    """A model of any batch takes samples of several, and the result again any."""
    x = floats(random, 9, 16)
    made = quantize(perceptron(), [{"x": x[start:stop]} for start, stop in ((0, 1), (1, 5), (5, 9))]).model
    assert relative(run(made, {"x": x})[0], run(perceptron(), {"x": x})[0]) < 0.05
    assert fathom.Session(fathom.compile(made)).inputs[0].shape == ("batch", 16)


def test_the_same_bytes(tmp_path):
    made = [quantize(network(), images(2), tmp_path / f"{threads}.onnx", threads=threads, method="entropy") for threads in (1, 2)]
    assert (tmp_path / "1.onnx").read_bytes() == (tmp_path / "2.onnx").read_bytes()
    assert made[0].report == made[1].report


def test_parts_fit_into_memory(monkeypatch):
    """Values that do not fit together are looked at in several runs, and found the same."""
    from fathom.quantization import runs

    seen = []
    original = runs.with_outputs
    monkeypatch.setattr(runs, "with_outputs", lambda network, values: seen.append(list(values)) or original(network, values))
    big = images(2, batch=64)
    few = quantize(network(batch=64), big, memory=1)
    parts = seen[1:]
    assert len(parts) > 1 and sum(parts, []) == seen[0]
    assert few.model.SerializeToString() == quantize(network(batch=64), big).model.SerializeToString()


def test_forms_of_data(tmp_path):
    """Files, folders and Python give the same model."""
    samples = images(4)
    stack = np.concatenate([sample["x"] for sample in samples])
    (tmp_path / "npz").mkdir()
    (tmp_path / "npy" / "x").mkdir(parents=True)
    (tmp_path / "flat").mkdir()
    np.savez(tmp_path / "all.npz", x=stack)
    np.savez(tmp_path / "more.npz", x=stack[:, None])
    np.save(tmp_path / "all.npy", stack)
    (tmp_path / "flat" / "notes.txt").write_text("nothing")
    for i, sample in enumerate(samples):
        np.savez(tmp_path / "npz" / f"{i}.npz", **sample)
        np.save(tmp_path / "npy" / "x" / f"{i}.npy", sample["x"])
        np.save(tmp_path / "flat" / f"{i}.npy", sample["x"])
    session = fathom.Session(fathom.compile(network()), threads=1)
    for form in [samples, (sample for sample in samples), lambda: iter(samples), [sample["x"] for sample in samples],
                 *(tmp_path / name for name in ("all.npz", "more.npz", "all.npy", "npz", "npy", "flat"))]:  # fmt: skip
        read = Samples(form, session)
        read.check()
        assert read.count == 4
        for _ in range(2):
            assert all((got["x"] == want["x"]).all() for (_, got), want in zip(read, samples, strict=True))


def two_inputs():
    nodes = [node("Mul", "a b/c", "m"), node("MatMul", "m w", "y")]
    return model_of(nodes, {"a": np.zeros((2, 4), np.float32), "b/c": np.zeros((2, 4), np.float32)}, {"w": np.eye(4, dtype=np.float32)})


def test_a_folder_for_each_input(tmp_path, random):
    for name in ("a", "b_c"):
        (tmp_path / name).mkdir()
        for i in range(3):
            np.save(tmp_path / name / f"{i}.npy", floats(random, 2, 4))
    assert quantize(two_inputs(), tmp_path).report["samples"] == 3
    os.unlink(tmp_path / "a" / "1.npy")
    with pytest.raises(fathom.Error, match="has no file '1.npy'"):
        quantize(two_inputs(), tmp_path)


X = np.zeros((1, 3, 16, 16), np.float32)


@pytest.mark.parametrize(
    "samples, text",
    [
        ([], "has no samples"),
        ([{"x": X[:, :2]}], r"sample 0: input 'x' has shape \[1,3,16,16\], the array \[1,2,16,16\]"),
        ([{"x": X}, {"x": X.astype(np.float64)}], "sample 1: input 'x' is float32, the array is float64"),
        ([{}], "sample 0: input 'x' is missing"),
        ([{"x": X, "z": X}], "the model has no input 'z'"),
        ([{"x": np.where(np.arange(16) == 3, np.nan, X).astype(np.float32)}], "input 'x' has NaN or infinite numbers"),
        ([{"x": X + np.inf}], "input 'x' has NaN or infinite numbers"),
    ],
)
def test_bad_samples(samples, text):
    with pytest.raises(fathom.Error, match=text) as error:
        quantize(network(), samples)
    assert error.value.code == "F1012"


def test_sizes_that_do_not_go_together():
    model = model_of([node("Add", "a b", "s"), node("MatMul", "s w", "y")], {"a": np.zeros(1, np.float32), "b": np.zeros(1, np.float32)}, {"w": np.eye(4, dtype=np.float32)})
    for given in model.graph.input:
        given.CopyFrom(value(given.name, ["rows", 4]))
    with pytest.raises(fathom.Error, match="sample 0: .*rows") as error:
        quantize(model, [{"a": np.zeros((2, 4), np.float32), "b": np.zeros((3, 4), np.float32)}])
    assert error.value.code == "F1012"


def test_bad_files(tmp_path):
    def refuse(path, code, text, model=None):
        with pytest.raises(fathom.Error, match=text) as error:
            quantize(model or network(), path)
        assert error.value.code == code

    refuse(tmp_path / "absent.npz", "F1001", "cannot read '.*absent.npz'")
    (tmp_path / "bad.npz").write_bytes(b"PK not a zip")
    refuse(tmp_path / "bad.npz", "F1001", "bad.npz")
    (tmp_path / "bad.npy").write_bytes(b"hello")
    refuse(tmp_path / "bad.npy", "F1001", "bad.npy")
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    refuse(tmp_path / "object.npy", "F1001", "object.npy")
    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "empty", "F1012", "has no samples")
    (tmp_path / "other" / "name").mkdir(parents=True)
    refuse(tmp_path / "other", "F1012", "no folder in '.*other' has an input's name")
    np.save(tmp_path / "one.npy", X)
    refuse(tmp_path / "one.npy", "F1012", "the model has 2 inputs", two_inputs())
    np.savez(tmp_path / "unequal.npz", **{"a": np.zeros((3, 2, 4), np.float32), "b/c": np.zeros((4, 2, 4), np.float32)})
    refuse(tmp_path / "unequal.npz", "F1012", "different numbers of samples", two_inputs())
    refuse(42, "F2001", "not a int")


@pytest.mark.parametrize(
    "options, text",
    [
        ({"method": "guess"}, "method is one of"),
        ({"percentile": 20.0}, "from 50 to 100"),
        ({"max_error": 0}, "above 0"),
        ({"max_error": float("nan")}, "above 0"),
        ({"keep_float": ["nobody"]}, "is called 'nobody'"),
        ({"output": ""}, "path is empty"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(fathom.Error, match=text) as error:
        quantize(network(), images(1), **options)
    assert error.value.code == "F2001"


def test_bad_models(tmp_path):
    def refuse(model, code, text):
        with pytest.raises(fathom.Error, match=text) as error:
            quantize(model, [{"x": np.zeros((2, 3), np.float32)}])
        assert error.value.code == code

    refuse(tmp_path / "absent.onnx", "F1001", "absent.onnx")
    refuse(b"hello", "F1002", "ONNX")
    refuse(relu_model(), "F3001", "there is nothing to quantise: no Conv, MatMul, Gemm with constant weights$")
    refuse(quantize(network(), images(1)).model, "F3001", "is quantised already, as it has a QuantizeLinear")
    refuse(model_of([node("Frobnicate", "x", "y")], {"x": np.zeros((2, 3), np.float32)}, {}), "F3001", "Frobnicate")


def test_outputs_that_are_refused(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(network(), path, save_as_external_data=True, location="model.data", size_threshold=0)
    (tmp_path / "link").symlink_to("model.data")
    (tmp_path / "folder").mkdir()
    before = {name: (tmp_path / name).read_bytes() for name in ("model.onnx", "model.data")}
    for output in ("model.onnx", "model.data", "link", "model", "folder", "absent/out.onnx"):
        with pytest.raises(fathom.Error, match="cannot write") as error:
            if output == "model":
                onnx.save(network(), tmp_path / "model", save_as_external_data=True, location="x.data", size_threshold=0)
                os.rename(tmp_path / "x.data", tmp_path / "out.onnx.data")
                proto = onnx.load(tmp_path / "model", load_external_data=False)
                for tensor in proto.graph.initializer:
                    tensor.external_data[0].value = "out.onnx.data"
                (tmp_path / "model").write_bytes(proto.SerializeToString())
                quantize(tmp_path / "model", images(1), tmp_path / "out.onnx")
            quantize(path, images(1), tmp_path / output)
        assert error.value.code == "F1014"
    assert before == {name: (tmp_path / name).read_bytes() for name in before}
    assert not list(tmp_path.glob("*.tmp*"))


def test_weights_in_files(tmp_path, monkeypatch):
    """Those of the model may lie beside it, and those of a large result do."""
    monkeypatch.setattr(save, "SMALLEST_BESIDE", 100)
    path = tmp_path / "model.onnx"
    onnx.save(network(), path, save_as_external_data=True, location="model.data", size_threshold=0)
    whole = quantize(network(), images(2), keep_float=["first", "second"])
    made = quantize(path, images(2), tmp_path / "small.onnx", keep_float=["first", "second"])
    assert made.model.SerializeToString() == whole.model.SerializeToString() and not (tmp_path / "small.onnx.data").exists()
    monkeypatch.setattr(save, "LARGEST", 0)
    (tmp_path / "out").mkdir()
    large = quantize(path, images(2), tmp_path / "out" / "large.onnx", keep_float=["first", "second"])
    large.save(tmp_path / "out" / "again.onnx")
    assert sorted(os.listdir(tmp_path / "out")) == ["again.onnx", "again.onnx.data", "large.onnx", "large.onnx.data"]
    assert (tmp_path / "out" / "large.onnx").stat().st_size < (tmp_path / "small.onnx").stat().st_size
    os.unlink(tmp_path / "model.data")
    [sample] = images(1, seed=5)
    want = run(whole.model, sample)[0]
    for name in ("large", "again"):
        file = (tmp_path / "out" / f"{name}.onnx").read_bytes()
        assert (run(file, sample, str(tmp_path / "out"))[0] == want).all()


@pytest.mark.parametrize("where", ["write", "replace"])
def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, where):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(save, "LARGEST", 0)
    monkeypatch.setattr(*((save, "_write_beside") if where == "write" else (os, "replace")), interrupt)
    made = quantize(network(), images(1))
    with pytest.raises(KeyboardInterrupt):
        made.save(tmp_path / "out.onnx")
    assert os.listdir(tmp_path) == []


def request(model, **more):
    given = {"model": str(model), "output": None, "calibrate": None, "method": "minmax", "percentile": 99.99, "max-error": None, "keep-float": [],
             "per-tensor": False, "no-bias-correction": False, "memory": 512.0, "threads": 0, "json": False, "quiet": False}  # fmt: skip
    return json.dumps(given | more)


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "small.onnx")
    np.savez("data.npz", x=np.concatenate([sample["x"] for sample in images(3)]))
    assert command.run_command(request("small.onnx", calibrate="data.npz", **{"keep-float": ["third"]})) == 0
    out, err = capsys.readouterr()
    assert "small.int8.onnx: 4 of 5 products in 8 bits" in out and "'third' stays in floating point: it was asked for" in out
    assert "output 'y': relative error" in out and err == ""
    bound = quantize("small.onnx", "data.npz").report["errors"]["y"] * 0.7
    assert command.run_command(request("small.onnx", calibrate="data.npz", output="out.onnx", json=True, **{"max-error": bound})) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema_version"] == 1 and report["output"] == "out.onnx" and report["errors"]["y"] <= bound and report["decisions"]
    assert command.run_command(request("small.onnx", calibrate="data.npz", quiet=True)) == 0
    assert capsys.readouterr().out == ""
    onnx.load("out.onnx")


@pytest.mark.parametrize(
    "more, exit_code, text",
    [
        ({}, 2, "[F2001] --calibrate is missing"),
        ({"calibrate": "absent"}, 1, "[F1001] cannot read 'absent'"),
        ({"calibrate": "data.npz", "output": "small.onnx"}, 1, "[F1014] cannot write 'small.onnx'"),
        ({"calibrate": "data.npz", "max-error": 1e-12}, 3, "[F3001] no product can be quantised"),
    ],
)
def test_command_fails(tmp_path, monkeypatch, capsys, more, exit_code, text):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "small.onnx")
    np.savez("data.npz", x=X + 1)
    assert command.run_command(request("small.onnx", **more)) == exit_code
    assert text in capsys.readouterr().err and sorted(os.listdir()) == ["data.npz", "small.onnx"]


def test_progress():
    told = []
    quantize(network(), images(2), max_error=1.0, note=told.append)
    assert any("sample 2 of 2" in text for text in told) and "compiling the model" in told


def test_a_result_that_is_not_finite_is_told(random):
    """Nothing is left to quantise where all that products read is infinite."""
    model = model_of([node("Div", "x zero", "i"), node("MatMul", "i w", "y")], {"x": np.ones((2, 4), np.float32)}, {"w": floats(random, 4, 4), "zero": np.zeros(1, np.float32)})
    with pytest.raises(fathom.Error, match="what all products read is not finite"):
        quantize(model, [np.ones((2, 4), np.float32)])


def test_ends_of_other_models_constants(random):
    """An Add of a constant beside a convolution is of numbers too, and exact for one number."""
    weights = {"w": floats(random, 4, 3, 1, 1), "v": floats(random, 2, 4, 1, 1), "three": np.float32(3)}
    nodes = [node("Conv", "x w", "c"), node("Add", "c three", "a"), node("Conv", "a v", "y")]
    sample = {"x": floats(random, 1, 3, 8, 8)}
    model = model_of(nodes, sample, weights)
    made = quantize(model, [sample]).model
    dequantized = makers(made)[next(node for node in made.graph.node if node.op_type == "Add").input[1]]
    numbers, scale, zero = (tensors(made)[name] for name in dequantized.input)
    assert np.isclose((float(numbers) - zero) * scale, 3)
    assert relative(run(made, sample)[0], run(model, sample)[0]) < 0.05
