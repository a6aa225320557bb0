"""Operators of domain com.microsoft against ONNX Runtime on random data."""

import fathom
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import tolerances
from support.compare import assert_close, assert_inputs_matter

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}


class Case:
    """One node with inputs that are given, constant or absent; `shapes` names the dimensions that are not static."""

    def __init__(self, op, inputs, outputs=1, constants=(), shapes=None, domain="com.microsoft", **attributes):
        names = [name if array is not None else "" for name, array in inputs.items()]
        while names and not names[-1]:
            names.pop()
        results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        given = {name: array for name, array in inputs.items() if array is not None and name not in constants}
        shapes = shapes or {}
        graph = helper.make_graph(
            [helper.make_node(op, names, results, name=op, domain=domain, **attributes)],
            op,
            [
                helper.make_tensor_value_info(name, TYPES[str(array.dtype)], shapes.get(name, array.shape))
                for name, array in given.items()
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results if name],
            [numpy_helper.from_array(np.asarray(inputs[name]), name) for name in constants],
        )
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        self.given = given

    def check(self, *others, valid=None, **options):
        """Compares on the case's own inputs and on others of other sizes; `valid` cuts off what is not defined."""
        mine = fathom.Session(fathom.compile(self.model, **options))
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        theirs = onnxruntime.InferenceSession(
            self.model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
        )
        expected = theirs.run(None, self.given)
        assert_inputs_matter(lambda other: theirs.run(None, other), self.given, expected, lambda want: tolerances.allowed(np.abs(want), "sum", want.dtype))
        for inputs in (self.given, *others):
            for i, (got, want) in enumerate(zip(mine.run(None, inputs), theirs.run(None, inputs), strict=True)):
                assert got.shape == want.shape and got.dtype == want.dtype
                if valid:
                    got, want = valid(i, got, inputs), valid(i, want, inputs)
                assert_close(got, want, "sum")


@pytest.fixture
def random():
    return np.random.default_rng(11)


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "op, has_bias, attributes",
    [
        ("Gelu", False, {}),
        ("FastGelu", False, {}),
        ("FastGelu", True, {}),
        ("BiasGelu", True, {}),
        ("QuickGelu", False, {}),
        ("QuickGelu", False, {"alpha": 0.7}),
    ],
)
def test_gelu(random, op, has_bias, attributes):
    inputs = {"x": 3 * normal(random, 5, 7)} | ({"b": normal(random, 7)} if has_bias else {})
    case = Case(op, inputs, constants=["b"] if has_bias else [], shapes={"x": ["n", 7]}, **attributes)
    case.check({"x": normal(random, 1, 7)}, {"x": normal(random, 0, 7)}, dim={"n": (0, 9)})


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("axis", [-1, 1])
def test_simplified_layer_normalization(random, axis, outputs):
    inputs = {"x": normal(random, 5, 3, 33), "g": normal(random, *(33,) if axis == -1 else (3, 33))}
    case = Case(
        "SimplifiedLayerNormalization",
        inputs,
        outputs,
        ["g"],
        {"x": ["n", 3, 33]},
        domain="",
        axis=axis,
        epsilon=1e-6,
        stash_type=1,
    )
    case.check({"x": normal(random, 1, 3, 33)})


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("op", ["SkipSimplifiedLayerNormalization", "SkipLayerNormalization"])
def test_skip_layer_normalization(random, op, has_bias):
    inputs = {"x": normal(random, 5, 3, 31), "s": normal(random, 5, 3, 31), "g": normal(random, 31)}
    if op == "SkipLayerNormalization":
        inputs["beta"] = normal(random, 31)
    if has_bias:
        inputs["b"] = normal(random, 31)
    constants = [name for name in inputs if name not in "xs"]
    shapes = {"x": ["n", 3, 31], "s": ["n", 3, 31]}
    case = Case(op, inputs, ["y", "", "", "sum"], constants, shapes, epsilon=1e-5)
    case.check({"x": normal(random, 1, 3, 31), "s": normal(random, 1, 3, 31)})


def test_skip_layer_normalization_broadcasts(random):
    inputs = {"x": normal(random, 5, 3, 33), "s": normal(random, 3, 33), "g": normal(random, 33)}
    Case("SkipLayerNormalization", inputs).check()


@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_fused_matmul(random, transposed):
    left, right = ([2, 5, 7], [2, 7, 3])
    shapes = [[s[0], s[2], s[1]] if t else s for s, t in zip((left, right), transposed)]
    inputs = {"x": normal(random, *shapes[0]), "w": normal(random, *shapes[1])}
    Case("FusedMatMul", inputs, transA=transposed[0], transB=transposed[1], alpha=0.5).check()


def test_fused_matmul_with_the_batch_inside(random):
    inputs = {"x": normal(random, 5, 2, 7), "w": normal(random, 3, 2, 7)}
    Case("FusedMatMul", inputs, transBatchA=1, transBatchB=1, transB=1).check()


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotary_dim", [0, 8])
def test_rotary_embedding(random, interleaved, rotary_dim):
    heads, columns = 3, 12
    half = (rotary_dim or columns) // 2
    attributes = {"interleaved": interleaved}
    if rotary_dim:
        attributes |= {"rotary_embedding_dim": rotary_dim, "num_heads": heads}
    tables = {"cos": normal(random, 20, half), "sin": normal(random, 20, half)}

    def flat(batch, length):
        return {"x": normal(random, batch, length, heads * columns), "p": random.integers(0, 20, (batch, length))}

    case = Case(
        "RotaryEmbedding",
        flat(2, 5) | tables,
        constants=list(tables),
        shapes={"x": ["b", "s", heads * columns], "p": ["b", "s"]},
        **attributes,
    )
    case.check(flat(1, 1), flat(3, 7))

    def by_head(batch, length, first):
        return {"x": normal(random, batch, heads, length, columns), "p": np.array([first])}

    case = Case(
        "RotaryEmbedding",
        by_head(2, 5, 7) | tables,
        constants=list(tables),
        shapes={"x": ["b", heads, "s", columns]},
        **attributes,
    )
    case.check(by_head(1, 1, 19), by_head(3, 20, 0))


def test_rotary_embedding_beyond_its_table(random):
    inputs = {"x": normal(random, 1, 2, 8), "p": np.array([[0, 1]]), "cos": normal(random, 4, 4), "sin": normal(random, 4, 4)}
    session = fathom.Session(fathom.compile(Case("RotaryEmbedding", inputs).model))
    for position in (4, -5, 2**40):
        with pytest.raises(fathom.Error, match="outside the dimension"):
            session.run(None, inputs | {"p": np.array([[0, position]])})


class GroupQuery:
    """Inputs of GroupQueryAttention. ONNX Runtime wants columns in multiples of 16 and, behind a past, several positions
    of one sequence or one position of several."""

    def __init__(self, random, groups=2, per_group=2, columns=16, table=64):
        self.random, self.groups, self.heads, self.columns = random, groups, groups * per_group, columns
        self.tables = {"cos": normal(random, table, columns // 2), "sin": normal(random, table, columns // 2)}

    def inputs(self, batch, length, past, room=0, ends=None, packed=False, bias_heads=0):
        widths = [self.heads, self.groups, self.groups]
        parts = [normal(self.random, batch, length, width * self.columns) for width in widths]
        if packed:
            parts = [np.concatenate(parts, -1), None, None]
        cache = batch, self.groups, room or past, self.columns
        ends = [past + length - 1] * batch if ends is None else ends
        inputs = dict(zip("qkv", parts)) | {"pk": normal(self.random, *cache), "pv": normal(self.random, *cache)}
        inputs |= {"ends": np.array(ends, np.int32), "total": np.array(min(max(max(ends) + 1, length), 2**31 - 1), np.int32)}
        if bias_heads:
            inputs["bias"] = normal(self.random, 1, bias_heads, length, past + length)
        return inputs

    def case(self, inputs, rotates=True, constants=(), shapes=None, sinks=False, **attributes):
        order = ["q", "k", "v", "pk", "pv", "ends", "total", "cos", "sin", "positions", "bias", "sink"]
        given = inputs | (self.tables if rotates else {})
        if sinks:
            given["sink"] = normal(self.random, self.heads)
        constants = [*constants, *(self.tables if rotates else []), *(["sink"] if sinks else [])]
        return Case(
            "GroupQueryAttention",
            {name: given.get(name) for name in order},
            3,
            constants,
            shapes,
            num_heads=self.heads,
            kv_num_heads=self.groups,
            do_rotary=int(rotates),
            **attributes,
        )


def only_written(i, array, inputs):
    """The cache behind the shortest sequence's end is not defined."""
    return array if i == 0 else array[:, :, : int(inputs["ends"].min()) + 1]


@pytest.mark.parametrize("batch, length, past, groups, per_group, columns", [
    (1, 1, 6, 2, 3, 16),
    (1, 3, 5, 1, 2, 16),
    (2, 1, 5, 3, 1, 32),
    (1, 5, 0, 2, 1, 16),
    (1, 13, 7, 1, 5, 16),
])
@pytest.mark.parametrize("attributes", [
    {},
    {"rotates": False},
    {"rotary_interleaved": 1},
    {"scale": 0.3, "softcap": 5.0, "local_window_size": 3},
    {"smooth_softmax": 1},
    {"sinks": True},
], ids=str)
def test_group_query_attention(random, batch, length, past, groups, per_group, columns, attributes):
    query = GroupQuery(random, groups, per_group, columns)
    growing = query.inputs(batch, length, past)
    query.case(growing, constants=["total"], **attributes).check(valid=only_written)
    query.case(query.inputs(batch, length, past, room=23), **attributes).check(valid=only_written)


def test_group_query_attention_takes_packed_inputs_and_biases(random):
    query = GroupQuery(random)
    query.case(query.inputs(1, 3, 4, packed=True), constants=["total"]).check(valid=only_written)
    query.case(query.inputs(1, 3, 4, bias_heads=4), constants=["total"]).check(valid=only_written)
    query.case(query.inputs(1, 3, 4, room=20, bias_heads=1)).check(valid=only_written)


SHAPES = {"q": ["b", "s", 64], "k": ["b", "s", 32], "v": ["b", "s", 32], "ends": ["b"]}
GROWING = {"pk": ["b", 2, "p", 16], "pv": ["b", 2, "p", 16]}
ROOM = {"pk": ["b", 2, 32, 16], "pv": ["b", 2, 32, 16]}


def test_group_query_attention_of_all_sizes(random):
    query = GroupQuery(random)
    sizes = [(1, 4, 0), (2, 1, 3), (1, 3, 2), (3, 5, 0), (1, 9, 0), (1, 1, 1)]
    case = query.case(query.inputs(1, 1, 7), shapes=SHAPES | GROWING)
    case.check(*(query.inputs(*size) for size in sizes), valid=only_written, dim={"p": (0, 64)})
    case.check(
        *(query.inputs(*size) for size in sizes if size[0] == 1), valid=only_written, dim={"p": (0, 64), "b": 1}
    )
    case = query.case(query.inputs(1, 1, 7, room=32), shapes=SHAPES | ROOM)
    case.check(*(query.inputs(*size, room=32) for size in sizes), valid=only_written)


def test_group_query_attention_of_sequences_that_differ_in_length(random):
    query = GroupQuery(random)
    ragged = [9, 4, 0]
    query.case(query.inputs(3, 1, 9, room=32, ends=ragged), shapes=SHAPES | ROOM).check(valid=only_written)
    query.case(query.inputs(3, 1, 9, ends=ragged), shapes=SHAPES | GROWING).check(valid=only_written)

    # Prompts that are padded behind their ends: what the padding gives is not defined.
    def only_prompts(i, array, inputs):
        return array[:, : int(inputs["ends"].min()) + 1] if i == 0 else only_written(i, array, inputs)

    query.case(query.inputs(3, 6, 0, room=32, ends=[5, 2, 3]), shapes=SHAPES | ROOM).check(valid=only_prompts)


def test_group_query_attention_refuses_positions_outside_the_cache(random):
    query = GroupQuery(random, table=4096)
    session = fathom.Session(fathom.compile(query.case(query.inputs(1, 2, 7, room=32), shapes=SHAPES | ROOM).model))
    for end in (32, 1000, 2**31 - 1, -1, -(2**31)):
        with pytest.raises(fathom.Error, match="seqlens_k is negative or not inside the cache"):
            session.run(None, query.inputs(1, 2, 7, room=32, ends=[end]))
    for total in (33, 2**31 - 1, 0, -1, -(2**31)):
        with pytest.raises(fathom.Error, match="total_sequence_length is not positive or above the cache"):
            session.run(None, query.inputs(1, 2, 7, room=32) | {"total": np.array(total, np.int32)})
    session.run(None, query.inputs(1, 2, 7, room=32))


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, "keys", "pairs", "lengths"])
@pytest.mark.parametrize("past", [0, 4])
def test_multi_head_attention(random, unidirectional, mask, past):
    batch, length, heads, columns = 2, 5, 3, 8
    total, hidden = past + length, heads * columns
    masks = {
        "keys": np.concatenate([np.ones((batch, 2)), random.integers(0, 2, (batch, total - 2))], 1),
        "pairs": np.concatenate([np.ones((batch, length, 2)), random.integers(0, 2, (batch, length, total - 2))], 2),
        "lengths": np.array([3, total]),
    }
    inputs = {name: normal(random, batch, length, hidden) for name in "qkv"}
    inputs["b"] = normal(random, 3 * hidden)
    inputs["m"] = masks[mask].astype(np.int32) if mask else None
    inputs["a"] = normal(random, 1, heads, length, total)
    for name in ("pk", "pv"):
        inputs[name] = normal(random, batch, heads, past, columns) if past else None
    attributes = {"num_heads": heads, "unidirectional": unidirectional}
    Case("MultiHeadAttention", inputs, 3, **attributes).check()
    Case("MultiHeadAttention", inputs | {"a": None, "b": None}, 1 if not past else 3, scale=0.2, **attributes).check()


def test_multi_head_attention_of_other_forms(random):
    heads, columns = 3, 8
    hidden = heads * columns
    query = {"q": normal(random, 2, 5, hidden)}
    crossed = query | {name: normal(random, 2, heads, 7, columns) for name in "kv"}
    Case("MultiHeadAttention", crossed, num_heads=heads).check()
    wide = query | {"k": normal(random, 2, 7, hidden), "v": normal(random, 2, 7, 2 * hidden)}
    Case("MultiHeadAttention", wide, num_heads=heads).check()


def test_multi_head_attention_of_packed_inputs(random):
    """ONNX Runtime has these on other devices only, so they are compared with their parts."""
    heads, columns = 3, 8
    packed = normal(random, 2, 5, heads, 3, columns)
    flat = {name: packed[:, :, :, i].reshape(2, 5, -1) for i, name in enumerate("qkv")}
    forms = [{"q": packed}, {"q": flat["q"], "k": np.ascontiguousarray(packed[:, :, :, 1:])}, flat]
    cases = [Case("MultiHeadAttention", form, num_heads=heads) for form in forms]
    cases[-1].check()
    results = [fathom.Session(fathom.compile(case.model)).run(None, case.given)[0] for case in cases]
    for result in results[:-1]:
        assert_close(result, results[-1], "chain")


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, "keys", "pairs", "ends", "ends and starts"])
@pytest.mark.parametrize("past", [None, 3])
def test_attention(random, unidirectional, mask, past):
    batch, length, heads, columns, width = 2, 5, 3, 8, 11
    total, hidden = (past or 0) + length, heads * columns
    masks = {
        "keys": np.concatenate([np.ones((batch, 2)), random.integers(0, 2, (batch, total - 2))], 1),
        "pairs": np.concatenate([np.ones((batch, length, 2)), random.integers(0, 2, (batch, length, total - 2))], 2),
        "ends": np.array([3, total]),
        # A position that sees nothing but what is hidden is a matter of rounding.
        "ends and starts": np.array([4, total, 0, 0 if unidirectional else 2]),
    }
    inputs = {"x": normal(random, batch, length, width), "w": normal(random, width, 3 * hidden) / 3}
    inputs["b"] = normal(random, 3 * hidden)
    inputs["m"] = masks[mask].astype(np.int32) if mask else None
    inputs["p"] = normal(random, 2, batch, heads, past, columns) if past else None
    inputs["a"] = normal(random, batch, 1, length, total) if not past else None  # not both in ONNX Runtime
    outputs = 2 if past else 1
    attributes = {"num_heads": heads, "unidirectional": unidirectional}
    Case("Attention", inputs, outputs, ["w", "b"], **attributes).check()


def test_attention_with_other_values(random):
    inputs = {"x": normal(random, 2, 5, 11), "w": normal(random, 11, 24 + 24 + 15), "b": normal(random, 63)}
    Case("Attention", inputs, 1, ["w", "b"], num_heads=3, qkv_hidden_sizes=[24, 24, 15]).check()


@pytest.mark.parametrize(
    "op, changes, code, words",
    [
        ("GroupQueryAttention", {"kv_num_heads": 3}, "F1006", "multiple of kv_num_heads"),
        ("GroupQueryAttention", {"num_heads": 5, "kv_num_heads": 5}, "F1008", "columns cannot be divided among"),
        ("GroupQueryAttention", {"k_quant_type": "PER_TENSOR"}, "F3002", "quantized cache"),
        ("GroupQueryAttention", {"sliding_window_cache": 1}, "F3002", "sliding_window_cache"),
        ("GroupQueryAttention", {"unknown": 1}, "F", "unknown"),
        ("GroupQueryOverview", {}, "F3001", "GroupQueryOverview of domain 'com.microsoft' is not supported"),
    ],
    ids=str,
)
def test_wrong_nodes_are_named(random, tmp_path, op, changes, code, words):
    model = GroupQuery(random).case(GroupQuery(random).inputs(1, 1, 7, room=32)).model
    node = model.graph.node[0]
    kept = [attribute for attribute in node.attribute if attribute.name not in changes]
    node.CopyFrom(helper.make_node(op, node.input, node.output, "wrong", domain=node.domain, **changes))
    node.attribute.extend(kept)
    (tmp_path / "wrong.onnx").write_bytes(model.SerializeToString())
    problems = fathom.check(tmp_path / "wrong.onnx")
    assert len(problems) == 1 and problems[0]["node"] == "wrong"
    assert problems[0]["code"].startswith(code) and words in problems[0]["message"]
