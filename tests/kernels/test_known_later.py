"""Sizes that are not known where an operator stands, and turn out to be constants later: every operator's types must follow."""
import numpy as np
import onnxruntime
import pytest
from onnx import numpy_helper, parser

import fathom
from support.compare import assert_close

# y made of x, which has 4 x 5 x 6 elements when it runs; w and i are constants.
OPERATORS = {
    "elementwise": "y = Tanh(x)",
    "with_itself": "y = Add(x, x)",
    "with_row": "y = Mul(x, w_6)",
    "with_column": "y = Sub(w_5x1, x)",
    "with_transposed": "t = Transpose<perm = [0, 2, 1]>(x) y = MatMul(x, t)",
    "where": "c = Greater(x, w_6) y = Where(c, x, w_5x1)",
    "clip": "y = Clip(x, zero)",
    "prelu": "y = PRelu(x, w_6)",
    "cast": "t = Cast<to = 7>(x) y = Cast<to = 1>(t)",
    "reshape_rest": "y = Reshape(x, i_rest)",
    "reshape_copied": "y = Reshape(x, i_copied)",
    "reshape_shape": "s = Shape(x) t = Reshape(x, i_rest1) y = Reshape(t, s)",
    "flatten": "y = Flatten<axis = 2>(x)",
    "unsqueeze": "t = Unsqueeze(x, i_1) y = Squeeze(t, i_1)",
    "transpose": "y = Transpose<perm = [2, 0, 1]>(x)",
    "slice": "y = Slice(x, i_1, i_4, i_1)",
    "slice_back": "y = Slice(x, i_last, i_first, i_2, i_last)",
    "slice_by_shape": "s = Shape(x) e = Slice(s, i_1, i_2) h = Div(e, i_2) y = Slice(x, i_0, h, i_1)",
    "split": "y, t = Split<axis = 2, num_outputs = 2>(x)",
    "split_three": "a, b, y = Split<axis = 1, num_outputs = 3>(x)",
    "split_sizes": "y, t = Split<axis = 1>(x, i_2x3)",
    "concat": "y = Concat<axis = 2>(x, x)",
    "concat_known": "y = Concat<axis = 1>(x, w_4x1x6)",
    "concat_split": "a, b, c = Split<axis = 1, num_outputs = 3>(x) y = Concat<axis = 0>(c, c)",
    "tile": "y = Tile(x, i_tiles)",
    "expand": "t = Unsqueeze(x, i_0) y = Expand(t, i_expand)",
    "expand_shape": "s = Shape(x) y = Expand(w_6, s)",
    "expand_two": "s = Shape(x) a = ReduceSum(x, i_1) y = Expand(a, s)",
    "pad": "y = Pad(x, i_pads)",
    "pad_reflect": "y = Pad<mode = \"reflect\">(x, i_pads)",
    "gather": "y = Gather<axis = 1>(x, i_0x2)",
    "gather_elements": "a = ArgMax<axis = 2, keepdims = 1>(x) y = GatherElements<axis = 2>(x, a)",
    "gather_nd": "y = GatherND(x, i_nd)",
    "scatter_nd": "y = ScatterND(x, i_nd, w_2x6)",
    "scatter_elements": "a = ArgMax<axis = 2, keepdims = 1>(x) v = ReduceMax(x, i_2) y = ScatterElements<axis = 2>(x, a, v)",
    "reduce": "y = ReduceMean<keepdims = 0>(x, i_1)",
    "reduce_all": "y = ReduceL2<keepdims = 1>(x)",
    "reduce_keep": "a = ReduceMax(x, i_2) y = Div(x, a)",
    "argmax": "a = ArgMax<axis = 1>(x) y = Cast<to = 1>(a)",
    "topk": "y, t = TopK<axis = 1>(x, i_2)",
    "cumsum": "y = CumSum(x, one)",
    "softmax": "y = Softmax<axis = 1>(x)",
    "log_softmax": "y = LogSoftmax(x)",
    "layer_norm": "y = LayerNormalization(x, w_6, w_6)",
    "layer_norm_two": "y = LayerNormalization<axis = 1>(x, w_5x6)",
    "batch_norm": "y = BatchNormalization(x, w_5, w_5, w_5, w_5)",
    "instance_norm": "y = InstanceNormalization(x, w_5, w_5)",
    "group_norm": "y = GroupNormalization<num_groups = 5>(x, w_5, w_5)",
    "lp_norm": "y = LpNormalization<axis = 1>(x)",
    "matmul": "y = MatMul(x, w_6x3)",
    "matmul_vector": "y = MatMul(x, w_6)",
    "gemm": "t = Flatten<axis = 2>(x) y = Gemm(t, w_6x3)",
    "einsum": "y = Einsum<equation = \"abc,abd->cd\">(x, x)",
    "conv": "y = Conv<kernel_shape = [3], pads = [1, 1]>(x, w_7x5x3)",
    "conv_transpose": "y = ConvTranspose<strides = [2]>(x, w_5x2x3)",
    "max_pool": "y = MaxPool<kernel_shape = [2], strides = [2]>(x)",
    "average_pool": "y = AveragePool<kernel_shape = [3], pads = [1, 1]>(x)",
    "global_pool": "y = GlobalAveragePool(x)",
    "resize": "y = Resize<mode = \"linear\">(x, , f_scales)",
    "resize_sizes": "s = Shape(x) d = Mul(s, i_122) y = Resize<mode = \"nearest\">(x, , , d)",
    "depth_to_space": "t = Unsqueeze(x, i_0) p = Transpose<perm = [0, 2, 1, 3]>(t) a = Tile(p, i_1411) q = Slice(a, i_0, i_4, i_1) "
    "y = DepthToSpace<blocksize = 2>(q)",
    "one_hot": "a = ArgMax<axis = 2, keepdims = 0>(x) s = Shape(x) d = Gather(s, two) o = OneHot(a, d, f_off_on) y = Mul(o, x)",
    "trilu": "y = Trilu(x)",
    "non_zero": "n = NonZero(x) t = Transpose(n) y = GatherND(x, t)",
    "constant_of_shape": "s = Shape(x) o = ConstantOfShape<value = float[1] {2.0}>(s) y = Add(o, x)",
    "range": "s = Shape(x) e = Gather(s, two) r = Range(zero_i, e, one) f = Cast<to = 1>(r) y = Mul(x, f)",
    "eye": "s = Shape(x) e = Slice(s, i_1, i_3) c = ConstantOfShape<value = float[1] {1.0}>(e) o = EyeLike(c) y = Mul(o, x)",
    "size": "s = Size(x) f = Cast<to = 1>(s) y = Div(x, f)",
    "quantize": "q = QuantizeLinear(x, f_scale, u_zero) y = DequantizeLinear(q, f_scale, u_zero)",
    "compress": "y = Compress<axis = 1>(x, b_5)",
    "reverse": "y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, i_4len)",
    "lstm": "y, h, c = LSTM<hidden_size = 2>(x, w_1x8x6, w_1x8x2)",
    "if": "g = ReduceSum<keepdims = 0>(x) c = Less(g, zero) y = If(c) <then_branch = t () => (float[a, b, d] n) { n = Neg(x) }, "
    "else_branch = e () => (float[a, b, d] m) { m = Slice(x, i_0, i_2, i_1) }>",
    "loop": "y = Loop(three, , x) <body = l (int64 n, bool c, float[a, b, d] v) => (bool k, float[a, b, d] u) "
    "{ k = Identity(c) u = Add(v, x) }>",
    "loop_grows": "y = Loop(three, , x) <body = l (int64 n, bool c, float[a, b, d] v) => (bool k, float[a, b, d] u) "
    "{ k = Identity(c) u = Concat<axis = 1>(v, x) }>",
}
INTEGERS = {
    "i_0": [0], "i_1": [1], "i_2": [2], "i_3": [3], "i_4": [4], "i_last": [-1], "i_first": [-100], "i_rest": [4, -1], "i_rest1": [-1],
    "i_copied": [0, -1, 2, 3], "i_2x3": [2, 3], "i_tiles": [2, 1, 3], "i_expand": [2, 1, 1, 6], "i_pads": [0, 1, 2, 0, 1, 1],
    "i_0x2": [0, 2], "i_nd": [[1, 2], [3, 4]], "i_122": [1, 2, 2], "i_1411": [1, 1, 4, 1], "i_4len": [5, 1, 3, 2], "zero_i": 0, "one": 1,
    "two": 2, "three": 3,
}  # fmt: skip
FLOATS = {"zero": 0, "f_scales": [1, 1, 2], "f_off_on": [0.5, 2], "f_scale": 0.05}

# How x comes by its sizes, none of which is known there: from an input; from data; from data that is a constant, once it is computed.
SOURCES = {
    "inputs": ("float[p, q, r] x", "", [(4, 5, 6)]),
    "data": ("float[120] flat, int64[3] sizes", "x = Reshape(flat, sizes)", [(120,), None]),
    "constants": ("float[120] flat", "root = Sqrt(squares) sizes = Cast<to = 7>(root) x = Reshape(flat, sizes)", [(120,)]),
}
# Nodes that leave one size only.
DECIDES = "far = Concat<axis = 1>(x, w_4x1x6) near = Concat<axis = 2>(x, w_4x5x1)"


def weights_of(text, random):
    """The constants that a text names."""
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    for name in sorted(words):
        if name in INTEGERS:
            yield name, np.array(INTEGERS[name])
        elif name in FLOATS:
            yield name, np.array(FLOATS[name], np.float32)
        elif name.startswith("w_"):
            yield name, random.uniform(0.5, 1.5, [int(size) for size in name[2:].split("x")]).astype(np.float32)
    if "b_5" in words:
        yield "b_5", np.array([True, False, True, True, False])
    if "u_zero" in words:
        yield "u_zero", np.array(128, np.uint8)
    if "squares" in words:
        yield "squares", np.array([16, 25, 36], np.float32)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OPERATORS)
def test_types_follow(name, source, random):
    inputs, first, shapes = SOURCES[source]
    body = f"{first} {OPERATORS[name]} {DECIDES}"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (float[] y, float[] far, float[] near) {{ {body} }}')
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    model.graph.initializer.extend(numpy_helper.from_array(array, n) for n, array in weights_of(body, random))
    feeds = [random.standard_normal(shape, np.float32) if shape else np.array([4, 5, 6]) for shape in shapes]
    feeds = dict(zip((info.name for info in model.graph.input), feeds, strict=True))
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    session = fathom.Session(fathom.compile(model), threads=2)
    got = session.run(None, feeds)
    for one, want in zip(got, expected, strict=True):
        assert one.shape == want.shape
        assert_close(one, want, "sum")
    # What was found out holds: other sizes are refused, not computed with.
    if source != "constants":
        wrong = np.array([5, 4, 6]) if source == "data" else None
        feeds = {"flat": feeds["flat"], "sizes": wrong} if source == "data" else {"x": feeds["x"].reshape(5, 4, 6)}
        with pytest.raises(fathom.Error):
            session.run(None, feeds)


# Two operands, of which one says later what the other's size is; and operators whose parts know more than they do.
DECIDED = {
    "one_hot": ("int64 depth, float[2] values, float[5] scale, float[n] bias", "hot = OneHot<axis = -1>(i_seven, depth, values) "
                "y = BatchNormalization(hot, scale, bias, w_5, w_5)",
                {"depth": np.array(5), "values": (2,), "scale": (5,), "bias": (5,)}),
    "split": ("float[8, p, q] x, float[r, s, t] z", "a, b, c = Split<axis = 1, num_outputs = 3>(x) y = Concat<axis = 2>(c, z) "
              "far = Concat<axis = -1>(w_8x1x1, z)", {"x": (8, 3, 4), "z": (8, 1, 5)}),
    "expand": ("float[p, q, 3, 13] x, int64[4] sizes, float[n] scale", "y = Expand(x, sizes) far = BatchNormalization(x, scale, w_3, w_3, w_3)",
               {"x": (2, 3, 3, 13), "sizes": np.array([2, 3, 1, 13]), "scale": (3,)}),
    "expand_to_sum": ("float[n, 32, h, w] x, float[n, 32, 8, 8] z", "y = Add(x, z) t = Relu(x) far = Add(t, y)",
                      {"x": (2, 32, 8, 8), "z": (2, 32, 8, 8)}),
    "group_norm_flat": ("float[n, c] x", "y = GroupNormalization<num_groups = 2>(x, w_6, w_6)", {"x": (3, 6)}),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_decided_by_another(name, random):
    inputs, body, given = DECIDED[name]
    outputs = [word for word in ("y", "far") if f"{word} = " in body]
    header = ", ".join(f"float[] {output}" for output in outputs)
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => ({header}) {{ {body} }}')
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    weights = {**dict(weights_of(body, random)), **({"i_seven": np.array([1, 2, 3, 0, 1, 2, 3])} if "i_seven" in body else {})}
    model.graph.initializer.extend(numpy_helper.from_array(array, n) for n, array in weights.items())
    feeds = {n: value if isinstance(value, np.ndarray) else random.standard_normal(value, np.float32) for n, value in given.items()}
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for one, want in zip(fathom.Session(fathom.compile(model)).run(None, feeds), expected, strict=True):
        assert one.shape == want.shape
        assert_close(one, want, "sum")
