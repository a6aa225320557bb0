"""Random decision trees as ai.onnx.ml's operators have them."""
import numpy as np
from onnx import TensorProto, helper

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def grow(random, trees, depth, features, modes=("BRANCH_LEQ",), missing=0.0, full=True, grid=None):
    """Lists by attribute, and (tree, node) of every leaf. Values come from `grid`, so that inputs can hit them."""
    lists = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                   "missing_value_tracks_true")}
    leaves = []

    def add(tree, node, feature=0, mode="LEAF", value=0.0, yes=0, no=0, track=0):
        for name, item in zip(lists, (tree, node, feature, mode, value, yes, no, track)):
            lists[name].append(item)

    for tree in range(trees):
        waiting, count = [(0, 0)], 1
        while waiting:
            node, level = waiting.pop(0)
            if level == depth or (not full and level and random.random() < 0.3):
                add(tree, node)
                leaves.append((tree, node))
                continue
            value = float(np.float32(random.choice(grid) if grid is not None else random.standard_normal()))
            add(tree, node, int(random.integers(features)), str(random.choice(modes)), value, count, count + 1,
                int(random.random() < missing))
            waiting += [(count, level + 1), (count + 1, level + 1)]
            count += 2
    return {f"nodes_{name}": items for name, items in lists.items()}, leaves


def weights(what, leaves, targets, random, positive=False):
    """One weight for each leaf and target that `targets` gives for its tree."""
    entries = [(tree, node, target) for tree, node in leaves for target in targets(tree)]
    numbers = random.standard_normal(len(entries)).astype(np.float32)
    return {
        f"{what}_treeids": [tree for tree, _, _ in entries],
        f"{what}_nodeids": [node for _, node, _ in entries],
        f"{what}_ids": [target for _, _, target in entries],
        f"{what}_weights": [float(n) for n in (np.abs(numbers) if positive else numbers)],
    }


def model(nodes, inputs, outputs, ml=3):
    """`inputs` and `outputs` have (type, shape) by name; a shape may hold names and None."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in outputs.items()],
    )
    sets = [helper.make_opsetid("ai.onnx.ml", ml), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def regressor(random, trees, depth, features, targets=1, kind=TensorProto.FLOAT, batch="n", per_tree=False, **options):
    """A TreeEnsembleRegressor; options go to grow(), others to the node."""
    growing = {name: options.pop(name) for name in ("modes", "missing", "full", "grid") if name in options}
    nodes, leaves = grow(random, trees, depth, features, **growing)
    chosen = (lambda tree: [tree % targets]) if per_tree else (lambda tree: range(targets))
    nodes |= weights("target", leaves, chosen, random)
    made = node("TreeEnsembleRegressor", ["x"], ["y"], n_targets=targets, **nodes, **options)
    return model([made], {"x": (kind, [batch, features])}, {"y": (TensorProto.FLOAT, [batch, targets])})


def classifier(random, trees, depth, features, labels, ids, positive=False, kind=TensorProto.FLOAT, **options):
    """A TreeEnsembleClassifier with numbers or strings as labels; `ids` gives the classes that a tree speaks of."""
    nodes, leaves = grow(random, trees, depth, features)
    nodes |= weights("class", leaves, ids, random, positive)
    strings = isinstance(labels[0], str)
    nodes["classlabels_strings" if strings else "classlabels_int64s"] = labels
    made = node("TreeEnsembleClassifier", ["x"], ["label", "scores"], **nodes, **options)
    label = TensorProto.STRING if strings else TensorProto.INT64
    outputs = {"label": (label, ["n"]), "scores": (TensorProto.FLOAT, ["n", len(labels)])}
    return model([made], {"x": (kind, ["n", features])}, outputs)
