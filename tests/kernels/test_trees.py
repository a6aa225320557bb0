"""Ensembles of decision trees against ONNX Runtime: every form, every mode of a node, and what is not a number."""
import forests
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close


def check(model, inputs, are_roots=False, **options):
    """Both thread counts give the same bits, and what ONNX Runtime gives; labels exactly. Roots of differences that cancel are as exact
    as their squares are."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    artifact = fathom.compile(model, **options)
    sessions = [fathom.Session(artifact, threads=threads) for threads in (1, 2)]
    for values in inputs:
        expected = session.run(None, {"x": values})
        one, two = (s.run(None, {"x": values}) for s in sessions)
        for got, other, want in zip(one, two, expected, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            if want.dtype.kind != "f":
                assert (got == want).all() and (other == want).all()
                continue
            assert got.tobytes() == other.tobytes(), "results depend on the thread count"
            if are_roots:
                assert_close(got * abs(got), want * abs(want), "product", data=1.0)
            else:
                assert_close(got, want, "product")


def rows(random, features, count, dtype=np.float32, grid=None, missing=0.0):
    values = random.choice(grid, (count, features)) if grid is not None else random.standard_normal((count, features))
    values = values.astype(dtype)
    if missing:
        values[random.random(values.shape) < missing] = np.nan
    return values


GRID = np.array([-1.5, -1, -0.0, 0, 0.25, 1, 2, 1e-42, np.inf, -np.inf], np.float32)


@pytest.mark.parametrize("batch", ["n", 1, 7, 64])
def test_rows_and_trees_together(random, batch):
    model = forests.regressor(random, 13, 5, 6, batch=batch)
    counts = [0, 1, 2, 9, 33, 130] if batch == "n" else [batch]
    options = {"dim": {"n": (0, 4096)}} if batch == "n" else {}
    check(model, [rows(random, 6, count) for count in counts], **options)


def test_any_number_of_features(random):
    model = forests.regressor(random, 9, 5, 6)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "f"
    check(model, [rows(random, features, 9) for features in (6, 8)])
    with pytest.raises(fathom.Error, match="outside the dimension"):
        fathom.Session(fathom.compile(model)).run(None, {"x": rows(random, 1, 9)})


def test_a_row_alone(random):
    model = forests.regressor(random, 9, 5, 6)
    whole = fathom.Session(fathom.compile(model))
    model.graph.input[0].type.tensor_type.shape.dim.pop(0)
    row = rows(random, 6, 1)
    np.testing.assert_array_equal(*(s.run(None, {"x": x})[0] for s, x in ((whole, row), (fathom.Session(fathom.compile(model)), row[0]))))


def test_one_leaf(random):
    check(forests.regressor(random, 3, 0, 2), [rows(random, 2, 5)])


@pytest.mark.parametrize("mode", forests.MODES)
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_every_mode_of_a_node(random, mode, missing):
    model = forests.regressor(random, 9, 4, 4, modes=[mode], missing=missing, full=False, grid=GRID[:-3])
    check(model, [rows(random, 4, 60, grid=GRID, missing=0.2)])


EDGES = np.array([np.nan, -np.inf, np.inf, np.finfo(np.float32).min, 0], np.float32)


@pytest.mark.parametrize("mode", forests.MODES)
@pytest.mark.parametrize("missing", [0.0, 0.5, 1.0])
def test_thresholds_at_the_edges(random, mode, missing):
    """Where no number, or every number, goes to one side, what is missing may still go to the other."""
    model = forests.regressor(random, 30, 2, 4, modes=[mode], missing=missing, full=False, grid=EDGES)
    check(model, [rows(random, 4, 40, grid=np.append(EDGES, GRID), missing=0.3)])


def test_modes_mixed(random):
    model = forests.regressor(random, 11, 5, 5, modes=forests.MODES, missing=0.3, full=False, grid=GRID[:-3])
    check(model, [rows(random, 5, 80, grid=GRID, missing=0.2), rows(random, 5, 1, grid=GRID, missing=0.5)])


def test_doubles_are_compared_as_doubles(random):
    model = forests.regressor(random, 7, 4, 3, kind=TensorProto.DOUBLE, grid=np.float32([0.1, 0.2, 0.3]))
    values = rows(random, 3, 40, np.float64, grid=np.array([0.1, 0.2, 0.3, np.float64(np.float32(0.1)), 0.1 + 1e-12]))
    check(model, [values])


@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_classes_of_integers(random, kind):
    types = {np.int64: TensorProto.INT64, np.int32: TensorProto.INT32}
    model = forests.classifier(random, 7, 4, 3, [4, 7, 9], lambda tree: range(3), kind=types[kind])
    check(model, [random.integers(-3, 4, (31, 3)).astype(kind)])


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3, 10])
def test_aggregates_and_base_values(random, aggregate, targets):
    base = [float(n) for n in random.standard_normal(targets).astype(np.float32)]
    model = forests.regressor(random, 6, 3, 4, targets, aggregate_function=aggregate, base_values=base, full=False)
    check(model, [rows(random, 4, 37), rows(random, 4, 1)])


@pytest.mark.parametrize("aggregate", ["SUM", "MIN"])
def test_each_tree_has_its_target(random, aggregate):
    model = forests.regressor(random, 12, 4, 4, 4, per_tree=True, aggregate_function=aggregate)
    check(model, [rows(random, 4, 37), rows(random, 4, 1)])


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("targets", [1, 4])
def test_transforms(random, transform, targets):
    model = forests.regressor(random, 6, 3, 4, targets, post_transform=transform, aggregate_function="AVERAGE")
    check(model, [rows(random, 4, 29)], are_roots=transform == "PROBIT")


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ids", [[0], [1], [0, 1]])
def test_two_classes(random, transform, positive, ids):
    labels = [0, 1] if len(ids) > 1 else [5, -3]
    model = forests.classifier(random, 5, 3, 3, labels, lambda tree: ids, positive, post_transform=transform)
    check(model, [rows(random, 3, 50)])


@pytest.mark.parametrize("base", [[0.25], [0.25, -0.5]])
def test_two_classes_with_base_values(random, base):
    model = forests.classifier(random, 5, 3, 3, [3, 8], lambda tree: [0], base_values=base)
    check(model, [rows(random, 3, 50)])


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("one", [False, True])
def test_several_classes(random, transform, one):
    ids = (lambda tree: [tree % 5]) if one else (lambda tree: range(5))
    base = [float(n) for n in random.standard_normal(5).astype(np.float32)]
    for options in ({}, {"base_values": base}):
        model = forests.classifier(random, 10, 3, 3, [1, 2, 3, 5, 8], ids, post_transform=transform, **options)
        check(model, [rows(random, 3, 41)])


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_doubles(random, classes):
    ids = (lambda tree: [0]) if classes == 2 else (lambda tree: range(3))
    model = forests.classifier(random, 7, 4, 3, list(range(classes)), ids, kind=TensorProto.DOUBLE)
    check(model, [rows(random, 3, 31, np.float64)])


def test_ties_have_the_first_label(random):
    nodes, leaves = forests.grow(random, 2, 2, 2)
    entries = [(tree, leaf, c) for tree, leaf in leaves for c in range(3)]
    nodes |= {"class_treeids": [t for t, _, _ in entries], "class_nodeids": [n for _, n, _ in entries]}
    nodes |= {"class_ids": [c for _, _, c in entries], "class_weights": [0.5] * len(entries)}
    made = forests.node("TreeEnsembleClassifier", ["x"], ["label", "scores"], classlabels_int64s=[7, 8, 9], **nodes)
    outputs = {"label": (TensorProto.INT64, ["n"]), "scores": (TensorProto.FLOAT, ["n", 3])}
    check(forests.model([made], {"x": (TensorProto.FLOAT, ["n", 2])}, outputs), [rows(random, 2, 5)])


def test_deep_and_narrow(random):
    """A chain of 300 nodes on one side: most rows are at their leaves long before the last."""
    depth = 300
    nodes = {
        "nodes_treeids": [0] * (2 * depth + 1),
        "nodes_nodeids": list(range(2 * depth + 1)),
        "nodes_featureids": [i % 3 for i in range(depth)] + [0] * (depth + 1),
        "nodes_modes": ["BRANCH_LEQ"] * depth + ["LEAF"] * (depth + 1),
        "nodes_values": [float(np.float32(0.02 * i)) for i in range(depth)] + [0.0] * (depth + 1),
        "nodes_truenodeids": [depth + i for i in range(depth)] + [0] * (depth + 1),
        "nodes_falsenodeids": [*range(1, depth), 2 * depth] + [0] * (depth + 1),
    }
    leaves = [(0, depth + i) for i in range(depth + 1)]
    nodes |= forests.weights("target", leaves, lambda tree: [0], random)
    made = forests.node("TreeEnsembleRegressor", ["x"], ["y"], n_targets=1, **nodes)
    model = forests.model([made], {"x": (TensorProto.FLOAT, ["n", 3])}, {"y": (TensorProto.FLOAT, ["n", 1])})
    check(model, [3 * np.abs(rows(random, 3, count)) for count in (1, 40)])


def test_wide_nodes(random):
    """More features than 16 bits count."""
    model = forests.regressor(random, 3, 3, 70000, batch=3)
    check(model, [rows(random, 70000, 3)])


def ensemble(random, dtype, features, mode, members=None, **options):
    """Ten splits of two leaves each in the fifth version's form."""
    count = 10
    splits = (members[0][0] if members else random.choice(GRID[:-3], count)).astype(dtype)
    attributes = {
        "nodes_featureids": [int(i) for i in random.integers(0, features, count)],
        "nodes_splits": numpy_helper.from_array(np.resize(splits, count).astype(dtype)),
        "nodes_modes": numpy_helper.from_array(np.full(count, mode, np.uint8)),
        "nodes_truenodeids": [2 * i for i in range(count)],
        "nodes_trueleafs": [1] * count,
        "nodes_falsenodeids": [2 * i + 1 for i in range(count)],
        "nodes_falseleafs": [1] * count,
        "tree_roots": list(range(count)),
        "leaf_targetids": [i % 2 for i in range(2 * count)],
        "leaf_weights": numpy_helper.from_array(random.standard_normal(2 * count).astype(dtype)),
        "n_targets": 2,
    } | options
    if members:
        sets = np.concatenate([np.append(s, np.nan) for s in members]).astype(dtype)
        attributes["membership_values"] = numpy_helper.from_array(sets)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = forests.node("TreeEnsemble", ["x"], ["y"], **attributes)
    return forests.model([made], {"x": (kind, ["n", features])}, {"y": (kind, ["n", 2])}, ml=5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", range(6))
def test_the_fifth_version(random, dtype, mode):
    model = ensemble(random, dtype, 4, mode, aggregate_function=1)
    check(model, [rows(random, 4, 33, dtype, grid=GRID, missing=0.1)])


def test_members_of_sets(random):
    sets = [random.choice(np.arange(1, 12), int(random.integers(1, 6)), replace=False) for _ in range(10)]
    model = ensemble(random, np.float32, 4, 6, sets)
    values = rows(random, 4, 60, grid=np.append(np.arange(-1, 14), [1.5, 1e9]))
    check(model, [values])


def test_transforms_of_the_fifth_version(random, seed):
    """ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX, which the standard has the other way round."""
    values = rows(random, 4, 20)
    plain, softmax, logistic = (
        fathom.Session(fathom.compile(model)).run(None, {"x": values})[0]
        for model in (ensemble(np.random.default_rng(seed), np.float32, 4, 0, post_transform=i) for i in range(3))
    )
    powers = np.exp(plain)
    assert_close(softmax, powers / powers.sum(axis=1, keepdims=True), "product")
    assert_close(logistic, 1 / (1 + 1 / powers), "product")


def test_a_plan_decides(random, tmp_path):
    model = forests.regressor(random, 13, 4, 6)
    plan = tmp_path / "plan"
    fathom.compile(model, output=str(plan), emit="plan")
    text = plan.read_text()
    for knobs in ({"rows": 3, "trees": 5, "steps": 1, "block": 6, "grain": 12}, {"rows": 1, "trees": 1, "steps": 7}):
        lines = []
        for line in text.splitlines():
            name, colon, _ = line.partition(": ")
            lines.append(f"{name}: {knobs[name.strip()]}" if colon and name.strip() in knobs else line)
        plan.write_text("\n".join(lines) + "\n")
        check(model, [rows(random, 6, count) for count in (1, 50)], plan=str(plan))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"nodes_truenodeids": lambda ids: [0] + ids[1:]}, "lead in a circle"),
        ({"nodes_truenodeids": lambda ids: [99] + ids[1:]}, "has no node 99"),
        ({"nodes_featureids": lambda ids: [5] + ids[1:]}, "asks for feature 5 of 3"),
        ({"target_ids": lambda ids: [4] + ids[1:]}, "is about target 4 of 1"),
        ({"target_nodeids": lambda ids: [500] + ids[1:]}, "names node 500, which tree 0 does not have"),
        ({"nodes_modes": lambda modes: ["BRANCH_ODD"] + modes[1:]}, "'BRANCH_ODD' is not known"),
        ({"nodes_values": lambda values: values[1:]}, "do not have one length"),
        ({"nodes_treeids": lambda ids: [2**63 - 1] * len(ids)}, "has a tree 9223372036854775807"),
    ],
)
def test_bad_trees_are_refused(random, change, message):
    nodes, leaves = forests.grow(random, 1, 2, 3)
    nodes |= forests.weights("target", leaves, lambda tree: [0], random)
    for name, alter in change.items():
        nodes[name] = alter(nodes[name])
    made = forests.node("TreeEnsembleRegressor", ["x"], ["y"], name="forest", n_targets=1, **nodes)
    model = forests.model([made], {"x": (TensorProto.FLOAT, ["n", 3])}, {"y": (TensorProto.FLOAT, ["n", 1])})
    with pytest.raises(fathom.Error, match=message):
        fathom.compile(model)
