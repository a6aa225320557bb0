"""Operators of newer operator sets, and operands that are only known when the model runs, against references on fresh random data."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import assert_close, run


def model_of(nodes, inputs, symbolic=False, opset=25, constants=(), outputs=1, domains=()):
    """Operands of rank 1 keep their length: ranks follow from it."""
    info = helper.make_tensor_value_info
    kinds = {name: TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    infos = [info(name, kinds[name], [None] * array.ndim if symbolic and array.ndim > 1 else array.shape)
             for name, array in inputs.items() if name not in constants]
    weights = [numpy_helper.from_array(inputs[name], name) for name in constants]
    results = [helper.make_empty_tensor_value_info("y" if i == 0 else f"y{i}") for i in range(outputs)]
    graph = helper.make_graph(nodes, "g", infos, results, weights)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=13)


def typed(model, arrays):
    """Outputs have the types that the reference gave them: ONNX wants them declared."""
    for output, array in zip(model.graph.output, arrays, strict=True):
        output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
    return model


def check(node, inputs, reference, opset=25, constants=(), outputs=1, family="product", ways=(False, True), domains=()):
    """With sizes known and unknown, one thread and two. Another input must have another output."""
    feeds = {name: array for name, array in inputs.items() if name not in constants}
    want = reference(feeds)
    for symbolic in ways:
        model = typed(model_of([node], inputs, symbolic, opset, constants, outputs, domains), want)
        artifact = fathom.compile(model)
        for got, expected in zip(run(artifact, feeds), want, strict=True):
            assert got.dtype == expected.dtype
            assert_close(got, expected, family)
    return want


def by_onnxruntime(node, inputs, opset):
    model = model_of([node], inputs, opset=opset)
    model.ir_version = min(model.ir_version, 10)

    def run(feeds):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)

    return run


def by_definition(node, inputs, opset=25, outputs=1, domains=()):
    model = model_of([node], inputs, opset=opset, outputs=outputs, domains=domains)
    for output in model.graph.output:
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    return lambda feeds: ReferenceEvaluator(model).run(None, feeds)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_products_along_an_axis_that_data_decides(reverse, exclusive, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, (3, 5, 2)).astype(np.float32)
    node = helper.make_node("CumProd", ["x", "axis"], ["y"], reverse=reverse, exclusive=exclusive)
    sessions = [fathom.Session(fathom.compile(typed(model_of([node], {"x": x, "axis": np.array(0)}, symbolic, 26), [x]))) for symbolic in (False, True)]
    for axis in range(-3, 3):
        source = np.flip(x, axis) if reverse else x
        want = np.cumprod(source.astype(np.float64), axis)
        if exclusive:
            want = np.insert(np.delete(want, -1, axis), 0, 1, axis)
        for session in sessions:
            assert_close(session.run(None, {"x": x, "axis": np.array(axis)})[0], np.flip(want, axis) if reverse else want, "arithmetic")
    for session in sessions:
        with pytest.raises(fathom.Error):
            session.run(None, {"x": x, "axis": np.array(3)})


@pytest.mark.parametrize("case", [
    ((5, 5), (1, 5), {}), ((4, 7), (2, 3), {"strides": [2, 1], "pads": [1, 0, 0, 1]}), ((6, 6), (2, 2), {"dilations": [2, 1]}),
    ((3, 4, 5), (1, 2, 5), {}),
], ids=str)
def test_blocks_of_an_image(case, seed):
    image, block, attributes = case
    rng = np.random.default_rng(seed)
    rank = len(image)
    pads = attributes.get("pads", [0] * 2 * rank)
    strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
    counts = [(image[d] + pads[d] + pads[d + rank] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(rank)]
    inputs = {"x": normal(rng, 2, 3 * int(np.prod(block)), int(np.prod(counts))), "image": np.array(image), "block": np.array(block)}
    node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], **attributes)
    check(node, inputs, by_onnxruntime(node, inputs, 18), opset=18)
    model = typed(model_of([node], inputs, True, 18), [inputs["x"]])
    with pytest.raises(fathom.Error):
        fathom.Session(fathom.compile(model)).run(None, {**inputs, "block": np.array([7] * rank)})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_antialias_with_scales_that_data_decides(mode, exclude, seed):
    rng = np.random.default_rng(seed)
    x = normal(rng, 1, 2, 9, 13)
    for scales, sizes in (([1, 1, 0.6, 0.45], None), (None, [1, 2, 4, 5]), (None, [1, 2, 3, 20]), ([1, 1, 0.3, 1.7], None)):
        operand = np.array(scales, np.float32) if scales else np.array(sizes)
        names = ["x", "", "s"] if scales else ["x", "", "", "s"]
        node = helper.make_node("Resize", names, ["y"], mode=mode, antialias=1, exclude_outside=exclude, coordinate_transformation_mode="half_pixel")
        inputs = {"x": x, "s": operand}

        def known(feeds, node=node, inputs=inputs):
            """The same with operands that the compiler knows, which ONNX's own cases check."""
            return fathom.Session(fathom.compile(typed(model_of([node], inputs, constants=("s",)), [x]))).run(None, {"x": feeds["x"]})

        check(node, inputs, known, family="arithmetic")
        check(node, inputs, by_definition(node, inputs), ways=(False,))


def test_pads_of_axes_that_data_decides(seed):
    rng = np.random.default_rng(seed)
    x = normal(rng, 3, 4, 5)
    node = helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"], mode="edge")
    inputs = {"x": x, "pads": np.array([1, 2, 3, 0]), "axes": np.array([0, 2])}
    session = fathom.Session(fathom.compile(typed(model_of([node], inputs), [x])))
    for axes in ([0, 2], [1, -1], [-3, 1]):
        width = [(0, 0)] * 3
        width[axes[0]], width[axes[1]] = (1, 3), (2, 0)
        np.testing.assert_array_equal(session.run(None, {**inputs, "axes": np.array(axes)})[0], np.pad(x, width, "edge"))


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads", [(2, 2), (4, 2), (3, 1)], ids=str)
def test_linear_attention(rule, heads, seed):
    rng = np.random.default_rng(seed)
    queries, groups = heads
    batch, length, columns, width = 2, 5, 3, 7
    inputs = {"q": normal(rng, batch, length, queries * columns), "k": normal(rng, batch, length, groups * columns) / 2,
              "v": normal(rng, batch, length, groups * width), "past": normal(rng, batch, groups, columns, width)}
    names = ["q", "k", "v", "past"]
    if rule.startswith("gated"):
        inputs["decay"] = -np.abs(normal(rng, batch, length, groups * (columns if queries == 4 else 1)))
    if rule.endswith("delta"):
        inputs["beta"] = rng.uniform(0, 1, (batch, length, 1 if queries == 3 else groups)).astype(np.float32)
    names += [name if name in inputs else "" for name in ("decay", "beta")]
    node = helper.make_node("LinearAttention", names, ["y", "y1"], q_num_heads=queries, kv_num_heads=groups, update_rule=rule)
    # Columns are divided among heads and have to be known.
    want = check(node, inputs, by_definition(node, inputs, 27, 2), 27, outputs=2, ways=(False,))
    model = typed(model_of([node], inputs, opset=27, outputs=2), want)
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
        if value.name != "past":
            value.type.tensor_type.shape.dim[1].dim_param = "length"
    session = fathom.Session(fathom.compile(model))
    for count in (5, 1):
        feeds = {name: array if name == "past" else array[:, :count] for name, array in inputs.items()}
        for got, expected in zip(session.run(None, feeds), by_definition(node, inputs, 27, 2)(feeds), strict=True):
            assert_close(got, expected, "sum")


@pytest.mark.parametrize("heads", [(2, 2), (6, 2)], ids=str)
def test_flex_attention(heads, seed):
    """Scores and shares pass graphs of the model, which see the values around them."""
    rng = np.random.default_rng(seed)
    info, make = helper.make_tensor_value_info, helper.make_node
    inputs = {"q": normal(rng, 2, heads[0], 5, 4), "k": normal(rng, 2, heads[1], 7, 4), "v": normal(rng, 2, heads[1], 7, 3)}
    changed = {
        "score_mod": helper.make_graph([make("Tanh", ["s"], ["t"]), make("Add", ["t", "s"], ["s2"])], "score", [info("s", 1, None)], [info("s2", 1, None)]),
        "prob_mod": helper.make_graph([make("Mul", ["p", "p"], ["p2"])], "prob", [info("p", 1, None)], [info("p2", 1, None)]),
    }
    for attributes in ({}, {"scale": 0.3, "score_mod": changed["score_mod"]}, changed):
        node = make("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **attributes)
        repeat = heads[0] // heads[1]
        scores = np.einsum("bhie,bhje->bhij", inputs["q"], np.repeat(inputs["k"], repeat, 1)) * attributes.get("scale", 0.5)
        if "score_mod" in attributes:
            scores = np.tanh(scores) + scores
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        if "prob_mod" in attributes:
            shares = shares * shares
        want = np.einsum("bhij,bhje->bhie", shares, np.repeat(inputs["v"], repeat, 1)).astype(np.float32)
        check(node, inputs, lambda feeds, want=want: [want], domains=["ai.onnx.preview"], ways=(False,))


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("strings", [False, True], ids=["numbers", "strings"])
def test_n_grams(strings, mode, seed):
    rng = np.random.default_rng(seed)
    for shortest, longest, skips, shape in ((1, 1, 0, (3, 11)), (2, 2, 0, (12,)), (1, 3, 2, (2, 17)), (2, 3, 5, (4, 3))):
        grams = {tuple(rng.integers(0, 6, n)) for n in (1, 2, 3) for _ in range(9)}
        by_length = [sorted(g for g in grams if len(g) == n) for n in (1, 2, 3)]
        pool = [int(word) for group in by_length for gram in group for word in gram]
        starts = np.cumsum([0, len(by_length[0]), 2 * len(by_length[1])]).tolist()
        total = sum(map(len, by_length))
        attributes = {"pool_strings": [f"w{n}" for n in pool]} if strings else {"pool_int64s": pool}
        node = helper.make_node(
            "TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=shortest, max_gram_length=longest, max_skip_count=skips,
            ngram_counts=starts, ngram_indexes=rng.permutation(total).tolist(), weights=rng.uniform(1, 2, total).tolist(), **attributes)
        x = rng.integers(0, 8, shape)
        x = np.array([f"w{n}" for n in x.flat], object).reshape(shape) if strings else x
        want = check(node, {"x": x}, by_onnxruntime(node, {"x": x}, 9), 9)[0]
        assert want.any() or mode != "TF" or shortest > 1


def test_numbers_far_apart_in_a_pool():
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
                            ngram_counts=[0, 2], ngram_indexes=[0, 1, 2], pool_int64s=[-(10**15), 7, 7, 10**15])
    x = np.array([7, 10**15, 7, -(10**15), 5, 7])
    check(node, {"x": x}, lambda feeds: [np.array([1, 3, 1], np.float32)], 9)
