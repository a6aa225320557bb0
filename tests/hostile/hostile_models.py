"""Models whose inputs say how large tensors are and where they are read, so that hostile values of them can do harm."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(" "), outputs.split(), name=op.lower(), **attributes)


def info(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, **constants):
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", [info(*i) for i in inputs], [info(*o) for o in outputs])


X = ("x", F, ["a", "b"])
GROW = body([node("Identity", "go", "on"), node("Concat", "s x", "t", axis=0)],
            [("i", I, []), ("go", B, []), ("s", F)], [("on", B), ("t", F)])
STACK = body([node("Less", "i least", "on"), node("Slice", "x from to", "o")], [("i", I, []), ("go", B, [])], [("on", B), ("o", F)])
THEN = body([node("Tile", "x r", "t")], [], [("t", F)])
ELSE = body([node("Identity", "x", "t")], [], [("t", F)])
FILL = body([node("Identity", "go", "on"), node("Slice", "x from to", "o"), node("SequenceInsert", "s o at", "t")],
            [("i", I, []), ("go", B, []), ("s", F)], [("on", B), ("t", F)])
for value in (FILL.input[2], FILL.output[1]):
    value.type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, None)))
P, EACH = ("p", I, []), node("SplitToSequence", "x", "s", axis=0)
MODELS = {
    "sequence at": model([node("SequenceConstruct", "x z x", "s"), node("SequenceAt", "s p", "y")], [X, ("z", F, ["c", "b"]), P], [("y", F)]),
    "sequence at any": model([EACH, node("SequenceAt", "s p", "y")], [X, P], [("y", F)]),
    "sequence insert": model([EACH, node("SequenceInsert", "s z p", "t"), node("ConcatFromSequence", "t", "y", axis=0)], [X, ("z", F, ["c", "b"]), P], [("y", F)]),
    "sequence erase": model([EACH, node("SequenceErase", "s p", "t"), node("ConcatFromSequence", "t", "y", axis=1)], [X, P], [("y", F)]),
    "split parts": model([node("SplitToSequence", "x l", "s", axis=1), node("SequenceAt", "s p", "y")], [X, ("l", I, ["n"]), P], [("y", F)]),
    "split even": model([node("SplitToSequence", "x l", "s", axis=1), node("SequenceAt", "s p", "y")], [X, ("l", I, []), P], [("y", F)]),
    "sequence loop": model([helper.make_node("SequenceEmpty", [], ["none"], name="sequenceempty"), node("Loop", "m  none", "s", body=FILL), node("ConcatFromSequence", "s", "y", axis=0)], [X, ("m", I, []), ("from", I, [1]), ("to", I, [1]), ("at", I, [])], [("y", F)]),
    "nonzero": model([node("NonZero", "x", "y")], [X], [("y", I)]),
    "compress": model([node("Compress", "x m", "y", axis=1)], [X, ("m", B, ["n"])], [("y", F)]),
    "range": model([node("Range", "p q r", "y")], [("p", I, []), ("q", I, []), ("r", I, [])], [("y", I)]),
    "slice": model([node("Slice", "x p q axes steps", "y")], [X, ("p", I, [2]), ("q", I, [2])], [("y", F)], axes=[0, 1], steps=[2, -1]),
    "reshape": model([node("Reshape", "x s", "y")], [X, ("s", I, [3])], [("y", F)]),
    "reshape rest": model([node("Concat", "s rest", "t", axis=0), node("Reshape", "x t", "y")], [X, ("s", I, [1])], [("y", F)], rest=[-1]),
    "expand": model([node("Expand", "x s", "y")], [("x", F, [1, 3]), ("s", I, [3])], [("y", F)]),
    "expand sum": model([node("Expand", "x s", "e"), node("ReduceMax", "e", "y")], [("x", F, [1, 3]), ("s", I, [2])], [("y", F)]),
    "topk": model([node("TopK", "x k", "y z")], [X, ("k", I, [1])], [("y", F), ("z", I)]),
    "nms": model([node("NonMaxSuppression", "boxes scores k", "y")], [("boxes", F, ["n", "m", 4]), ("scores", F, ["n", "c", "m"]), ("k", I, [1])], [("y", I)]),
    "pad": model([node("Pad", "x p", "y")], [X, ("p", I, [4])], [("y", F)]),
    "pad reflect": model([node("Pad", "x p", "y", mode="reflect")], [X, ("p", I, [4])], [("y", F)]),
    "pad edge": model([node("Pad", "x p", "y", mode="edge")], [X, ("p", I, [4])], [("y", F)]),
    "tile": model([node("Tile", "x r", "y")], [X, ("r", I, [2])], [("y", F)]),
    "onehot": model([node("OneHot", "i d v", "y")], [("i", I, ["n"]), ("d", I, []), ("v", F, [2])], [("y", F)]),
    "fill": model([node("ConstantOfShape", "s", "z"), node("Shape", "z", "y")], [("s", I, [3])], [("z", F), ("y", I)]),
    "split": model([node("Split", "x s", "y z", axis=1)], [X, ("s", I, [2])], [("y", F), ("z", F)]),
    "gather": model([node("Gather", "x i", "y", axis=1)], [X, ("i", I, ["n"])], [("y", F)]),
    "gathernd": model([node("GatherND", "x i", "y")], [X, ("i", I, ["n", 2])], [("y", F)]),
    "scatternd": model([node("ScatterND", "x i u", "y")], [X, ("i", I, ["n", 2]), ("u", F, ["n"])], [("y", F)]),
    "gather elements": model([node("GatherElements", "x i", "y", axis=1)], [X, ("i", I, ["a", "n"])], [("y", F)]),
    "trilu": model([node("Trilu", "x k", "y")], [X, ("k", I, [])], [("y", F)]),
    "reverse": model([node("ReverseSequence", "x l", "y", batch_axis=0, time_axis=1)], [X, ("l", I, ["a"])], [("y", F)]),
    "cumsum": model([node("CumSum", "x k", "y")], [X, ("k", I, [])], [("y", F)]),
    "loop": model([node("Loop", "m c x", "y", body=GROW)], [X, ("m", I, []), ("c", B, [])], [("y", F)]),
    "loop stack": model([node("Loop", "m ", "y", body=STACK)], [X, ("m", I, []), ("least", I, []), ("from", I, [1]), ("to", I, [1])], [("y", F)]),
    "if": model([node("If", "c", "y", then_branch=THEN, else_branch=ELSE), node("Shape", "y", "z")], [X, ("c", B, []), ("r", I, [2])], [("y", F), ("z", I)]),
}
