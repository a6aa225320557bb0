"""Attention in one kernel: scores, mask, softmax and the product with the values, against ONNX Runtime and double precision."""
import re

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close
from support.plans import Plan

pytestmark = pytest.mark.usefixtures("pinned")

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 31, 64, 67]
ROWS = [5, 13, 32, 33, 34, 35, 36, 37, 40, 41, 44, 47, 48, 67, 131]


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, weights=None, outputs=("y",)):
    """Inputs are shapes by name, or (shape, type)."""
    infos = []
    for name, shape in inputs.items():
        shape, kind = shape if isinstance(shape, tuple) else (shape, FLOAT)
        infos.append(helper.make_tensor_value_info(name, kind, shape))
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", infos, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def attention(between=(), result="y"):
    """The nodes; those between the products lead from `s` to `t`."""
    return [node("MatMul", "q k", "s"), *between, node("Softmax", "t" if between else "s", "p", axis=-1), node("MatMul", "p v", result)]


def classes(proto, **options):
    return Plan.of(proto, **options).classes


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def operands(random, batch, queries, keys, depth, columns):
    q = floats(random, *batch, queries, depth)
    return {"q": q, "k": floats(random, *batch, depth, keys) / np.float32(np.sqrt(max(depth, 1))), "v": floats(random, *batch, keys, columns)}


def reference(q, k, v, change=lambda s: s):
    s = change(q.astype(np.float64) @ k.astype(np.float64))
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v.astype(np.float64)


def run(artifact, feed):
    one, two = (fathom.Session(artifact, threads=threads).run(None, feed) for threads in (1, 2))
    for x, y in zip(one, two, strict=True):
        assert x.tobytes() == y.tobytes(), "results depend on the thread count"
    return one


def close(got, want):
    assert_close(got, want, "chain")


def shapes(feed):
    return {name: list(array.shape) for name, array in feed.items()}


def kernel(name, kind, ops, **knobs):
    text = f"  - kernel: {name}\n    class: {kind}\n    ops: [ {', '.join(ops)} ]\n    schedule:\n"
    return text + "".join(f"      {knob}: {value}\n" for knob, value in knobs.items())


def fused_plan(proto, **options):
    """The plan with one kernel, also where three are estimated to be faster."""
    plan = Plan.of(proto, **options)
    kernels = plan.kernels
    parts = [text for text in kernels if re.search(r"class: +(contract|softmax)", text)]
    if parts:
        ops = [op for text in parts for op in re.findall(r"(?m)^ +- (\S+)$", text)]
        kernels = [text for text in kernels if text not in parts]
        kernels.append(kernel("y", "attention", ops, tile_m=4, tile_n=8, unroll_k=2, in_flight=8, load_ahead=0, block_n=512, fetch_ahead=0, score_apart=16, exp_together=4, task_m=8))
    return plan.with_kernels(kernels)


def with_plan(proto, tmp_path, **knobs):
    """The model compiled as one kernel, with other knobs."""
    options = {name: knobs.pop(name) for name in ("fp",) if name in knobs}
    plan = fused_plan(proto, **options).with_knobs(knobs)
    assert "attention" in classes(proto, plan=plan.save(tmp_path), **options)
    return plan.compile(proto, tmp_path, **options)


@pytest.mark.parametrize("fp", ["fast", "strict"])
@pytest.mark.parametrize("case", range(10))
def test_random_sizes(case, fp, tmp_path, random):
    batch = [(), (1,), (3,), (2, 3), (1, 5), (2, 1, 3)][case % 6]
    queries, (keys, depth, columns) = int(random.choice(ROWS)), (int(n) for n in random.choice(SIZES, 3))
    feed = operands(random, batch, queries, keys, depth, columns)
    proto = model(attention([node("Mul", "s scale", "t")]), shapes(feed), {"scale": np.float32(0.3)})
    close(run(with_plan(proto, tmp_path, fp=fp), feed)[0], reference(**feed, change=lambda s: 0.3 * s))


@pytest.mark.parametrize("queries, keys", [(36, 512), (37, 1031), (97, 130), (128, 128), (131, 257), (64, 2048), (601, 600)])
def test_chosen_sizes(queries, keys, random):
    feed = operands(random, (2,), queries, keys, 64, 64)
    proto = model(attention(), shapes(feed))
    assert "attention" in classes(proto)
    close(run(fathom.compile(proto), feed)[0], reference(**feed))


MASKS = {
    "rows": lambda shape: [1, 1, shape[2], shape[3]],
    "keys": lambda shape: [shape[0], 1, 1, shape[3]],
    "heads": lambda shape: [shape[1], 1, 1],
    "all": lambda shape: shape,
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("case", range(3))
def test_masks(case, kind, tmp_path, random):
    """Broadcast every way, with scale and mask in both orders."""
    queries, keys = int(random.choice(ROWS)), int(random.choice(SIZES))
    feed = operands(random, (2, 3), queries, keys, 16, 24)
    feed["mask"] = floats(random, *MASKS[kind]([2, 3, queries, keys]))
    between = [node("Div", "s scale", "a"), node("Add", "mask a" if case % 2 else "a mask", "t")]
    proto = model(attention(between), shapes(feed), {"scale": np.float32(4)})
    mask = feed.pop("mask")
    want = reference(**feed, change=lambda s: s / 4 + mask)
    close(run(with_plan(proto, tmp_path), feed | {"mask": mask})[0], want)


@pytest.mark.parametrize("size", [32, 33, 37, 64, 300])
def test_causal(size, random):
    """Minus infinity above the diagonal, chosen by a condition."""
    feed = operands(random, (1, 2), size, size, 8, 8)
    below = np.tril(np.ones((size, size), bool))
    between = [node("Where", "below s none", "t")]
    proto = model(attention(between), shapes(feed) | {"below": ([size, size], BOOL)}, {"none": np.float32(-np.inf)})
    assert "attention" in classes(proto)
    want = reference(**feed, change=lambda s: np.where(below, s, -np.inf))
    close(run(fathom.compile(proto), feed | {"below": below})[0], want)


@pytest.mark.parametrize("block", [8, 16, 40, 1024])
@pytest.mark.parametrize("keys", [1, 7, 8, 9, 16, 17, 37, 80])
def test_keys_in_blocks(keys, block, tmp_path, random):
    """Rows of which the first blocks, the last ones or all are masked: none of them, or not a number."""
    queries = int(random.choice(ROWS))
    feed = operands(random, (2,), queries, keys, 12, 20)
    feed["mask"] = (5 * floats(random, queries, keys)).astype(np.float32)
    starts, ends = random.integers(0, keys, queries), random.integers(1, keys + 1, queries)
    for row in range(queries):
        feed["mask"][row, : starts[row] if row % 3 else 0] = -np.inf
        feed["mask"][row, ends[row] if row % 4 else keys :] = -np.inf
    feed["mask"][2] = -np.inf
    proto = model(attention([node("Add", "s mask", "t")]), shapes(feed))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    got = run(with_plan(proto, tmp_path, tile_n=8, block_n=block, tile_m=4, task_m=8), feed)[0]
    assert np.isnan(got[:, 2]).all()
    close(got, session.run(None, feed)[0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_special_scores(value, tmp_path, random):
    """One score of a row among others, in the first block or in a later one."""
    feed = operands(random, (1,), 33, 40, 8, 8)
    feed["mask"] = np.zeros((33, 40), np.float32)
    for row in range(10):
        feed["mask"][row, 4 * row] = value
    proto = model(attention([node("Add", "s mask", "t")]), shapes(feed))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for block in (16, 40):
        got = run(with_plan(proto, tmp_path, tile_n=8, block_n=block, tile_m=8, task_m=8), feed)[0]
        close(got, session.run(None, feed)[0])


@pytest.mark.parametrize("tile", [(4, 4), (4, 6), (8, 12), (12, 8), (8, 5), (16, 4)])
@pytest.mark.parametrize("rows", [32, 33, 38, 50])
@pytest.mark.parametrize("fetch", [0, 1])
def test_tiles(fetch, rows, tile, tmp_path, random):
    """Register tiles of a plan; panels that are not whole vectors too."""
    feed = operands(random, (2,), rows, 45, 11, 27)
    proto = model(attention(), shapes(feed))
    knobs = dict(tile_m=tile[0], tile_n=tile[1], task_m=2 * tile[0], block_n=4 * tile[1], fetch_ahead=fetch)
    if tile[1] % 4:
        knobs["load_ahead"] = 0
    try:
        artifact = with_plan(proto, tmp_path, **knobs)
    except fathom.Error as error:
        assert "vector registers" in str(error)
        pytest.skip("the target has fewer registers")
    close(run(artifact, feed)[0], reference(**feed))


def test_exponentials_taken_together(tmp_path, random):
    feed = operands(random, (2,), 33, 45, 11, 27)
    proto = model(attention(), shapes(feed))
    for together in (1, 2, 8):
        close(run(with_plan(proto, tmp_path, exp_together=together), feed)[0], reference(**feed))
    with pytest.raises(fathom.Error, match="power of two"):
        with_plan(proto, tmp_path, exp_together=3)


def test_sums_of_few_rows(tmp_path, random):
    """A tile of few accumulators has several sets of them, in reductions that are long enough, as the plan says."""
    feed = operands(random, (2,), 5, 70, 37, 11)
    proto = model(attention(), shapes(feed))
    expected = reference(**feed)
    for in_flight in (1, 7, 8, 64):
        close(run(with_plan(proto, tmp_path, tile_m=4, tile_n=16, task_m=4, in_flight=in_flight), feed)[0], expected)
    with pytest.raises(fathom.Error, match=r"in_flight = 65 is outside \[1, 64\]"):
        with_plan(proto, tmp_path, in_flight=65)


@pytest.mark.parametrize("dims", [None, {"keys": "0..64"}, {"queries": "1..40", "keys": "0..300,opt=200"}], ids=str)
def test_sizes_known_at_run_time(dims, random):
    """One compilation, with a bound for the keys or without; no keys, no queries."""
    heads = 3
    names = {"q": ["batch", heads, "queries", 16], "k": ["batch", heads, 16, "keys"], "v": ["batch", heads, "keys", 20], "mask": ["batch", 1, 1, "keys"]}
    proto = model(attention([node("Mul", "s scale", "a"), node("Add", "a mask", "t")]), names, {"scale": np.float32(0.5)})
    options = {"dim": [f"{name}={size}" for name, size in dims.items()]} if dims else {}
    assert "attention" in classes(proto, **options)
    artifact = fathom.compile(proto, **options)
    bound = 64 if dims == {"keys": "0..64"} else 300
    for queries, keys in [(1, 1), (2, 1), (3, 8), (4, 3), (5, 17), (11, 64), (12, 31), (13, 48), (16, 64), (23, 40), (29, bound), (1, bound), (12, 0), (37, 1200), (1, 515)]:
        if keys > bound and dims or keys == 0 and not dims:
            continue
        batch = int(random.integers(1, 4))
        feed = operands(random, (batch, heads), queries, keys, 16, 20)
        mask = floats(random, batch, 1, 1, keys)
        got = run(artifact, feed | {"mask": mask})[0]
        close(got, reference(**feed, change=lambda s: s / 2 + mask) if keys else np.zeros((batch, heads, queries, 20)))


@pytest.mark.parametrize("queries, keys, depth, columns", [(40, 0, 8, 8), (0, 5, 8, 8), (40, 7, 0, 8), (40, 7, 8, 0), (37, 1, 1, 1)])
def test_nothing_and_one(queries, keys, depth, columns, random):
    feed = operands(random, (2,), queries, keys, depth, columns)
    proto = model(attention(), shapes(feed))
    want = reference(**feed) if keys else np.zeros((2, queries, columns))
    close(run(fathom.compile(proto), feed)[0], want)


def test_views_around_it(random):
    """Heads side by side, as networks have them: transposes are views, and stay so."""
    feed = {name: floats(random, 2, 37, 48) for name in "xyz"}
    nodes = []
    for source, target, perm in [("x", "q", [0, 2, 1, 3]), ("y", "k", [0, 2, 3, 1]), ("z", "v", [0, 2, 1, 3])]:
        nodes += [node("Reshape", f"{source} heads", f"{source}h"), node("Transpose", f"{source}h", target, perm=perm)]
    nodes += attention(result="o") + [node("Transpose", "o", "ot", perm=[0, 2, 1, 3]), node("Reshape", "ot joined", "r")]
    proto = model(nodes, shapes(feed), {"heads": np.array([2, 37, 4, 12]), "joined": np.array([2, 37, 48])}, outputs=("r",))
    assert classes(proto) == ["map", "map", "attention"]
    q, k, v = (feed[name].reshape(2, 37, 4, 12).transpose(0, 2, 1, 3) for name in "xyz")
    want = reference(q, k.transpose(0, 1, 3, 2), v).transpose(0, 2, 1, 3).reshape(2, 37, 48)
    close(run(fathom.compile(proto), feed)[0], want)


@pytest.mark.parametrize("depth", [1, 3, 4, 6, 13, 64])
@pytest.mark.parametrize("keys", [1, 3, 4, 7, 8, 37])
def test_keys_row_by_row(keys, depth, tmp_path, random):
    """Their rows become columns of panels, four by four, and those that are left over; also where sizes are unknown."""
    feed = operands(random, (2, 3), 33, keys, depth, 9)
    want = reference(**feed)
    feed["k"] = np.ascontiguousarray(feed["k"].swapaxes(-1, -2))
    nodes = [node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "s"), node("Softmax", "s", "p", axis=-1), node("MatMul", "p v", "y")]
    close(run(with_plan(model(nodes, shapes(feed)), tmp_path, tile_n=8, block_n=64, tile_m=4, task_m=8), feed)[0], want)
    names = {"q": [2, 3, 33, "depth"], "k": [2, 3, "keys", "depth"], "v": [2, 3, "keys", 9]}
    close(run(fathom.compile(model(nodes, names)), feed)[0], want)


def test_shared_keys(random):
    """Keys and values of one head for all of them."""
    feed = {"q": floats(random, 2, 3, 37, 8), "k": floats(random, 2, 1, 8, 21), "v": floats(random, 2, 1, 21, 12)}
    proto = model(attention(), shapes(feed))
    assert "attention" in classes(proto)
    close(run(fathom.compile(proto), feed)[0], reference(**feed))


def test_producers_and_consumers(random):
    """Queries scaled before, a mask computed on the way, the result added to another and squashed."""
    feed = operands(random, (3,), 37, 43, 10, 14)
    feed |= {"m": floats(random, 3, 37, 43), "r": floats(random, 3, 37, 14)}
    nodes = [node("Mul", "q scale", "qs"), node("Abs", "m", "n"), node("MatMul", "qs k", "s"), node("Sub", "s n", "t"), node("Softmax", "t", "p"),
             node("MatMul", "p v", "o"), node("Add", "o r", "w"), node("Tanh", "w", "y")]
    proto = model(nodes, shapes(feed), {"scale": np.float32(0.7)})
    assert classes(proto) == ["map", "map", "attention"]
    want = np.tanh(reference(feed["q"], feed["k"], feed["v"], lambda s: 0.7 * s - np.abs(feed["m"])) + feed["r"])
    close(run(fathom.compile(proto), feed)[0], want)


@pytest.mark.parametrize("extra", ["s", "t", "p"])
def test_scores_used_elsewhere(extra, random):
    """What another op needs too is stored, so that the products stay apart."""
    feed = operands(random, (2,), 33, 11, 6, 5)
    nodes = attention([node("Mul", "s scale", "t")]) + [node("Relu", extra, "z")]
    proto = model(nodes, shapes(feed), {"scale": np.float32(2)}, outputs=("y", "z"))
    assert "attention" not in classes(proto)
    close(run(fathom.compile(proto), feed)[0], reference(**feed, change=lambda s: 2 * s))


@pytest.mark.parametrize("change", ["axis", "few", "deep", "double"])
def test_what_is_not_fused(change, random):
    """Another axis, a few rows of queries, long keys, other types: three kernels."""
    queries, keys, depth = {"few": (1, 300, 64), "deep": (32, 32, 5000)}.get(change, (32, 32, 4))
    feed = operands(random, (2,), queries, keys, depth, 6)
    nodes = attention()
    if change == "axis":
        nodes[1] = node("Softmax", "s", "p", axis=1)
    kind = TensorProto.DOUBLE if change == "double" else FLOAT
    infos = [helper.make_tensor_value_info(name, kind, array.shape) for name, array in feed.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", kind, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert "softmax" in classes(proto) and "attention" not in classes(proto)
    if change == "double":
        feed = {name: array.astype(np.float64) for name, array in feed.items()}
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    close(run(fathom.compile(proto), feed)[0], session.run(None, feed)[0])


def test_cost_decides(random):
    """The same model with one row of queries and with many: `explain` tells what was estimated."""
    for queries, kind in [(1, "softmax"), (128, "attention")]:
        feed = operands(random, (12,), queries, 256, 64, 64)
        proto = model(attention(), shapes(feed))
        assert kind in classes(proto)
        close(run(fathom.compile(proto), feed)[0], reference(**feed))
    # A size known at run time only counts as the one that is likely.
    names = {"q": ["heads", "queries", 64], "k": ["heads", 64, "keys"], "v": ["heads", "keys", 64]}
    for likely, kind in [(1, "softmax"), (128, "attention")]:
        sizes = ["heads=12", f"queries=1..512,opt={likely}", "keys=1..512,opt=256"]
        assert kind in classes(model(attention(), names), dim=sizes)


def test_one_after_the_other(random):
    """Attention over the results of attention, with residuals and without."""
    feed = operands(random, (2,), 34, 34, 34, 34)
    nodes = attention(result="o") + [node("MatMul", "o k", "s2"), node("Softmax", "s2", "p2"), node("MatMul", "p2 v", "y")]
    proto = model(nodes, shapes(feed))
    first = reference(**feed)
    close(run(fathom.compile(proto), feed)[0], reference(first, feed["k"], feed["v"]))


CONTRACT = {"tile_m": 4, "tile_n": 8, "unroll_k": 4, "in_flight": 16, "load_ahead": 0, "pack_a": 0, "block_k": 64, "rows_outer": 0, "through_scratch": 0,
            "pack_vectors": 2, "row_apart": 0, "store_vectors": 8, "streams": 1,
            "fetch_ahead": 1, "task_m": 8, "task_n": 2}


def test_a_plan_splits_it(tmp_path, random):
    """The products and the softmax as kernels of their own."""
    feed = operands(random, (2,), 37, 19, 8, 16)
    proto = model(attention([node("Mul", "s scale", "t")]), shapes(feed), {"scale": np.float32(0.5)})
    plan = Plan.of(proto)
    packed = [text for text in plan.kernels if "attention" not in text]
    softmax = kernel("p", "softmax", ["p"], lanes=8, fetch_steps=8, grain=4)
    apart = [kernel("t", "contract", ["s", "t"], **CONTRACT), softmax, kernel("y", "contract", ["y"], **CONTRACT)]
    split = plan.with_kernels(packed + apart)
    artifact = split.compile(proto, tmp_path)
    assert sorted(classes(proto, plan=split.save(tmp_path))) == ["contract", "contract", "map", "map", "softmax"]
    close(run(artifact, feed)[0], reference(**feed, change=lambda s: s / 2))


@pytest.mark.parametrize("queries", [1, 2, 3, 4, 5, 9, 13])
@pytest.mark.parametrize("block", [16, 24])
def test_a_plan_joins_a_few_rows(queries, block, tmp_path, random):
    feed = operands(random, (2,), queries, 19, 8, 16)
    proto = model(attention([node("Mul", "s scale", "t")]), shapes(feed), {"scale": np.float32(0.5)})
    close(run(with_plan(proto, tmp_path, tile_m=4, tile_n=8, block_n=block, task_m=8), feed)[0], reference(**feed, change=lambda s: s / 2))


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("change, words", [
    (dict(tile_m=6), "multiple of (4|tile_m = 6)"),
    (dict(block_n=12), "block_n = 12 must be a multiple of tile_n = 8"),
    (dict(task_m=10), "task_m = 10 must be a multiple of tile_m = 8"),
    (dict(tile_m=32), "vector registers"),
    (dict(block_n=1 << 20), "16 MiB"),
])
def test_schedules_that_are_refused(change, words, tmp_path):
    proto = model(attention(), {"q": [32, 8], "k": [8, 16], "v": [16, 8]})
    knobs = dict(tile_m=8, tile_n=8, task_m=8, block_n=16) | change
    with pytest.raises(fathom.Error, match=words) as error:
        with_plan(proto, tmp_path, **knobs)
    assert error.value.code == "F1009"


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("ops, words", [
    (["s", "p"], "class 'contract' has no knob 'block_n'"),
    (["s", "y"], "'s' is also used by 'p'"),
    (["k.packed", "s", "p", "y"], "'k.packed' cannot be computed inside 's'"),
])
def test_groups_that_are_refused(ops, words, tmp_path):
    proto = model(attention(), {"q": [32, 8], "k": [8, 16], "v": [16, 8]})
    plan = Plan.of(proto)
    kernels = plan.kernels
    assert len(kernels) == 3
    whole = next(text for text in kernels if "attention" in text)
    listed = [text for text in kernels if "attention" not in text and not any(f"kernel:          {op}\n" in text for op in ops)]
    changed = re.sub(r"(?s)ops:.*?schedule:", f"ops: [ {', '.join(ops)} ]\n    schedule:", whole)
    with pytest.raises(fathom.Error, match=words):
        plan.with_kernels([*listed, changed]).compile(proto, tmp_path)
