"""Random calls with hostile run-time sizes and indices, in a process of its own: SEED CALLS.

Every call must give ONNX Runtime's answer or an error. Inputs end at a page that may not be touched, and the process
has little memory, so that a huge size is an error and not a machine out of memory."""
import ctypes
import mmap
import resource
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import fathom

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
DTYPES = {F: np.float32, I: np.int64, B: np.bool_}
LOW, HIGH = -(2**63), 2**63 - 1
HUGE = [LOW, LOW + 1, -(2**62), -(2**46), -(2**31) - 1, -(2**31), 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**46, 2**46 + 1, 2**61, 2**62, HIGH - 1, HIGH]


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
# Loops run as often as they are told to: a huge count is a long run, not a mistake.
COUNTS = {"m", "least"}
# Where ONNX Runtime refuses what has an answer.
LENIENT = {"tile": "no elements, but one size beyond 32 bits", "fill": "the same", "expand": "the same", "onehot": "a depth of 0"}
LIBC = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE


def guarded(array):
    """A copy whose end touches a page that may not be read."""
    if not array.nbytes:
        return array
    pages = -(-array.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    offset = pages * PAGE - array.nbytes
    copy = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    assert LIBC.mprotect(ctypes.c_void_p(base + pages * PAGE), PAGE, 0) == 0
    return copy


def integers(random, name, shape):
    if name in COUNTS:
        return np.array(int(random.choice([-5, 0, 1, 2, 7, LOW, -(2**46)])))
    kind = random.integers(5)
    if kind == 4:
        return random.integers(-1, 2, shape)
    small = random.integers(-9 if kind else 0, 10, shape)
    if kind < 2:
        return small
    wild = np.array(random.choice(np.array(HUGE, object), shape), np.int64).reshape(shape)
    return np.where(random.random(shape) < 0.5, wild, small)


def feed_for(proto, random):
    sizes, feed = {}, {}
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            name = dim.dim_param
            shape.append(dim.dim_value if not name else sizes.setdefault(name, int(random.choice([1, 2, 3, 5, 7, 13]))))
        if tensor.elem_type == I:
            array = integers(random, value.name, tuple(shape))
        else:
            array = (4 * random.standard_normal(shape)).astype(np.float32)
            array = array > 0 if tensor.elem_type == B else array
        feed[value.name] = guarded(np.asarray(array, DTYPES[tensor.elem_type]).reshape(shape))
    return feed


def describe(feed):
    return {name: value.tolist() if value.size < 9 else value.shape for name, value in feed.items()}


def main(seed, calls):
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    print(f"seed {seed}", flush=True)
    sessions = {}
    for name, proto in MODELS.items():
        reference = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        sessions[name] = (proto, fathom.Session(fathom.compile(proto), threads=2), reference)
    answers, errors = dict.fromkeys(MODELS, 0), dict.fromkeys(MODELS, 0)
    names = list(MODELS)
    for call in range(calls):
        random = np.random.default_rng([seed, call])
        name = names[call % len(names)]
        proto, session, reference = sessions[name]
        feed = feed_for(proto, random)
        print(f"call {call}: {name} {describe(feed)}", flush=True)
        try:
            got = session.run(None, feed)
        except (fathom.Error, MemoryError) as error:
            assert getattr(error, "code", "") != "F7001", error
            errors[name] += 1
            continue
        answers[name] += 1
        if sum(array.size for array in got) > 1 << 22:
            continue
        # ONNX Runtime takes the largest integer for the start when a slice goes backwards.
        if name == "slice" and feed["q"][1] in (HIGH, 2**31 - 1):
            continue
        if name == "range":
            # Exactly: ONNX Runtime computes in doubles.
            want = [np.array(range(*(int(feed[name]) for name in "pqr")), np.int64)]
        else:
            try:
                want = reference.run(None, feed)
            except Exception as error:
                is_right = (name in LENIENT and not got[0].size) or "allocate memory" in str(error)
                assert is_right, f"an answer where ONNX Runtime says: {error}"
                continue
        for x, y in zip(got, want, strict=True):
            # What no iteration gave has no sizes; ONNX does not say which.
            if name == "loop stack" and len(y) == 0 == len(x):
                continue
            assert x.shape == y.shape, (x.shape, y.shape)
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
    for name in names:
        print(f"{name}: {answers[name]} answers, {errors[name]} errors")
        assert answers[name], f"no call of {name} was answered"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
