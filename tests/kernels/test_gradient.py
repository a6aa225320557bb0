"""Gradients: the rule of each operator against central differences of ONNX's reference evaluator, in float64 on fresh random data."""
import math

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import fathom
from support.compare import assert_close

STEP = 1e-5


def function(name, formula, **defaults):
    """An operator for the evaluator, whose own rounds to 32 bits on the way."""
    return type(name, (OpRun,), {"op_domain": "", "_run": lambda self, x, **given: (formula(x, **{**defaults, **given}),)})


def gelu(x, approximate):
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if approximate == "tanh" else exact_erf(x / math.sqrt(2))
    return x * (1 + inner) / 2


exact_erf = np.vectorize(math.erf, otypes=[np.float64])
EXACT = [function("Erf", exact_erf), function("Gelu", gelu, approximate="none"), function("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1))]


def uniform(low, high, *shape, kinks=()):
    """Draws numbers that stay away from where a function has no slope."""

    def draw(rng):
        x = rng.uniform(low, high, shape)
        for kink in kinks:
            x = np.where(np.abs(x - kink) < 0.01, kink + 0.01 + np.abs(x - kink), x)
        return x

    return draw


def apart(*shape):
    """Numbers no two of which are close, so that the same ones stay greatest."""
    return lambda rng: rng.permutation(np.linspace(-2, 2, int(np.prod(shape)))).reshape(shape)


def given(array):
    return lambda rng: np.asarray(array)


def node(op, count=1, outputs=1, **attributes):
    names = [f"x{i}" for i in range(count)]
    return [helper.make_node(op, names, ["y"] + [f"y{i}" for i in range(1, outputs)], **attributes)]


def case(op, *inputs, nodes=None, name="", constants=(), opset=22, **attributes):
    """`inputs` draw x0, x1, ...; those of whole numbers and `constants` are no variables."""
    return pytest.param(nodes or node(op, len(inputs), **attributes), inputs, constants, opset, id=name or op)


# Where the reference evaluator fails, or rounds on the way: differences are of what Fathom computes without gradients.
OWN = {"Pad-cut", "ConvTranspose-groups", "Resize-cubic-1.5", "LRN", "GroupNormalization"}


class Own:
    def __init__(self, model, **_):
        self.session = fathom.Session(fathom.compile(model))

    def run(self, names, feeds):
        return self.session.run(names, feeds)


def unary(op, low=-2.0, high=2.0, kinks=(), name="", **attributes):
    return case(op, uniform(low, high, 3, 7, kinks=kinks), name=name, **attributes)


ELEMENTWISE = [
    unary("Abs", kinks=[0]),
    unary("Acos", -0.9, 0.9),
    unary("Acosh", 1.1, 3),
    unary("Asin", -0.9, 0.9),
    unary("Asinh"),
    unary("Atan"),
    unary("Atanh", -0.9, 0.9),
    unary("Celu", kinks=[0], alpha=1.5),
    unary("Cos"),
    unary("Cosh"),
    unary("Elu", kinks=[0], alpha=0.75),
    unary("Erf"),
    unary("Exp"),
    unary("Gelu"),
    unary("Gelu", name="Gelu-tanh", approximate="tanh"),
    unary("HardSigmoid", -4, 4, kinks=[-2, 2], alpha=0.25),
    unary("HardSwish", -5, 5, kinks=[-3, 3]),
    unary("Identity"),
    unary("LeakyRelu", kinks=[0], alpha=0.125),
    unary("Log", 0.2, 3),
    unary("Mish"),
    unary("Neg"),
    unary("Reciprocal", 0.3, 2),
    unary("Relu", kinks=[0]),
    unary("Selu", kinks=[0]),
    unary("Shrink", kinks=[0.5, -0.5]),
    unary("Sigmoid"),
    unary("Sin"),
    unary("Sinh"),
    unary("Softplus"),
    unary("Softsign", kinks=[0]),
    unary("Sqrt", 0.2, 3),
    unary("Swish", opset=24, alpha=1.5),
    unary("Tan", -1.2, 1.2),
    unary("Tanh"),
    unary("ThresholdedRelu", kinks=[1]),
    unary("Cast", to=TensorProto.DOUBLE),
    unary("Clip", kinks=[0]),
    case("Clip", uniform(-2, 2, 3, 7, kinks=[-0.5, 1]), given(np.float64(-0.5)), given(np.float64(1)), name="Clip-bounds"),
    case("Add", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 3, 1)),
    case("Sub", uniform(-2, 2, 3, 1), uniform(-2, 2, 2, 1, 5)),
    case("Mul", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 5)),
    case("Div", uniform(-2, 2, 3, 5), uniform(0.5, 2, 2, 1, 5)),
    case("Pow", uniform(0.3, 2, 3, 5), uniform(-2, 2, 5)),
    case("Pow", uniform(-2, 2, 3, 5), given(np.float64(3)), name="Pow-cube", constants=["x1"]),
    case("Pow", uniform(-2, 2, 3, 5), given(np.float64(2)), name="Pow-square", constants=["x1"]),
    case("Max", apart(3, 5), given(np.float64(0.123))),
    case("Min", apart(3, 5), given(np.full((5,), 0.123))),
    case("Mod", uniform(-5, 5, 3, 5), given(np.array([1.13, 2.07, 0.7, 3.1, 1.9])), fmod=1),
    case("PRelu", uniform(-2, 2, 2, 3, 5, kinks=[0]), uniform(-1, 1, 3, 1)),
    case("Where", given(np.array([[True], [False], [True]])), uniform(-2, 2, 3, 5), uniform(-2, 2, 5)),
    case("Sum", uniform(-2, 2, 3, 5), uniform(-2, 2, 5), uniform(-2, 2, 3, 1)),
    case("Mean", uniform(-2, 2, 3, 5), uniform(-2, 2, 5)),
    case("Floor", uniform(-2, 2, 3, 5, kinks=[-1, 0, 1]), nodes=[*node("Floor"), helper.make_node("Mul", ["x0", "y"], ["z"])]),
]

PRODUCTS = [
    case("MatMul", uniform(-2, 2, 3, 5), uniform(-2, 2, 5, 7)),
    case("MatMul", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 5, 7), name="MatMul-rows"),
    case("MatMul", uniform(-2, 2, 2, 1, 3, 5), uniform(-2, 2, 4, 5, 2), name="MatMul-batches"),
    case("MatMul", uniform(-2, 2, 5), uniform(-2, 2, 5, 3), name="MatMul-vector"),
    case("MatMul", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 5), name="MatMul-column"),
    case("MatMul", uniform(-2, 2, 5), uniform(-2, 2, 5), name="MatMul-scalar"),
    case("Gemm", uniform(-2, 2, 5, 3), uniform(-2, 2, 7, 5), uniform(-2, 2, 7), transA=1, transB=1, alpha=0.5, beta=1.5),
    case("Einsum", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 5, 3, 2), equation="bij,jik->bk"),
]

SHAPES = [
    case("Transpose", uniform(-2, 2, 2, 3, 5), perm=[2, 0, 1]),
    case("Transpose", uniform(-2, 2, 2, 3, 5), name="Transpose-reversed"),
    case("Reshape", uniform(-2, 2, 2, 3, 5), given(np.array([5, 0, -1]))),
    case("Flatten", uniform(-2, 2, 2, 3, 5), axis=2),
    case("Squeeze", uniform(-2, 2, 2, 1, 5, 1), given(np.array([1]))),
    case("Unsqueeze", uniform(-2, 2, 2, 5), given(np.array([0, 2]))),
    case("Expand", uniform(-2, 2, 3, 1), given(np.array([2, 1, 5]))),
]

REDUCTIONS = [
    *[case(op, uniform(0.2, 2, 2, 3, 5), given(np.array([0, -1])), keepdims=0) for op in
      ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare"]],
    case("ReduceMax", apart(2, 3, 5), given(np.array([1]))),
    case("ReduceMin", apart(2, 3, 5), given(np.array([1])), keepdims=0),
    case("ReduceSum", uniform(-2, 2, 2, 3), name="ReduceSum-all"),
    case("ReduceMean", uniform(-2, 2, 1, 1), name="ReduceMean-one"),
    case("ReduceProd", given(np.array([[0, 2, 3.0], [0, 0, 3], [1, 2, 4]])), given(np.array([1])), name="ReduceProd-zeros"),
    case("Softmax", uniform(-2, 2, 3, 7)),
    case("Softmax", uniform(-2, 2, 2, 3, 5), name="Softmax-inner", axis=1),
    case("LogSoftmax", uniform(-2, 2, 3, 7)),
]


MOVEMENT = [
    case("Concat", uniform(-2, 2, 2, 3), uniform(-2, 2, 2, 1), uniform(-2, 2, 2, 4), axis=1),
    case("Split", uniform(-2, 2, 7, 3), given(np.array([2, 4, 1])), constants=["x1"],
         nodes=[helper.make_node("Split", ["x0", "x1"], ["a", "b", "c"]), helper.make_node("ReduceSum", ["a"], ["s"], keepdims=1), helper.make_node("Mul", ["b", "s"], ["y"])]),
    case("Slice", uniform(-2, 2, 5, 7), given(np.array([1, 0])), given(np.array([4, 5]))),
    case("Slice", uniform(-2, 2, 5, 11), *map(given, map(np.array, ([1, 2], [5, 100], [0, 1], [2, 3]))), name="Slice-steps"),
    case("Slice", uniform(-2, 2, 5, 11), *map(given, map(np.array, ([-1, 9], [-100, 1], [0, 1], [-1, -3]))), name="Slice-backwards"),
    case("Slice", uniform(-2, 2, 5, 7), given(np.array([3])), given(np.array([3])), name="Slice-empty"),
    case("Pad", uniform(-2, 2, 3, 4), given(np.array([1, 0, 2, 3])), given(np.float64(0.5))),
    case("Pad", uniform(-2, 2, 5, 4), given(np.array([-1, 2, 1, -1])), name="Pad-cut"),
    *[case("Pad", uniform(-2, 2, 3, 5), given(np.array([1, 2, 2, 0])), name=f"Pad-{mode}", mode=mode) for mode in ("reflect", "edge", "wrap")],
    case("Tile", uniform(-2, 2, 2, 1, 3), given(np.array([2, 3, 1]))),
    case("DepthToSpace", uniform(-2, 2, 1, 8, 2, 3), blocksize=2),
    case("SpaceToDepth", uniform(-2, 2, 1, 2, 4, 6), blocksize=2),
    case("Trilu", uniform(-2, 2, 2, 4, 5), upper=0),
    case("CumSum", uniform(-2, 2, 3, 5), given(np.array(1)), exclusive=1),
    case("CumSum", uniform(-2, 2, 3, 5), given(np.array(0)), name="CumSum-reverse", reverse=1),
    case("ReverseSequence", uniform(-2, 2, 4, 3), given(np.array([4, 2, 3]))),
]

INDEXING = [
    case("Gather", uniform(-2, 2, 5, 3), given(np.array([[4, 0, 4], [-1, 2, 2]]))),
    case("Gather", uniform(-2, 2, 2, 5, 3), given(np.array([[4, 0], [-1, 2]])), name="Gather-axis", axis=1),
    case("Gather", uniform(-2, 2, 2, 5, 3), given(np.array(-2)), name="Gather-one", axis=1),
    case("GatherElements", uniform(-2, 2, 3, 4), given(np.array([[0, 2, 1, 0], [0, -1, 1, 2]]))),
    case("GatherND", uniform(-2, 2, 3, 4, 2), given(np.array([[0, 1], [2, 3], [0, 1]]))),
    case("GatherND", uniform(-2, 2, 2, 4, 2), given(np.array([[[1], [1]], [[0], [3]]])), name="GatherND-batch", batch_dims=1),
    case("ScatterElements", uniform(-2, 2, 3, 4), given(np.array([[0, 2, 1, 0]])), uniform(-2, 2, 1, 4)),
    case("ScatterElements", uniform(-2, 2, 3, 4), given(np.array([[0, 2, 1, 0], [0, 1, 1, 2]])), uniform(-2, 2, 2, 4), name="ScatterElements-add", reduction="add"),
    case("ScatterND", uniform(-2, 2, 4, 3), given(np.array([[3], [1]])), uniform(-2, 2, 2, 3)),
    case("ScatterND", uniform(-2, 2, 4, 3), given(np.array([[3], [3]])), uniform(-2, 2, 2, 3), name="ScatterND-add", reduction="add"),
    case("TopK", apart(3, 5), given(np.array([2])), nodes=[helper.make_node("TopK", ["x0", "x1"], ["v", "i"]), helper.make_node("Identity", ["v"], ["y"])], constants=["x1"]),
]

WINDOWS = [
    case("Conv", uniform(-2, 2, 2, 3, 5, 6), uniform(-2, 2, 4, 3, 3, 2), uniform(-2, 2, 4), pads=[1, 0, 1, 1]),
    case("Conv", uniform(-2, 2, 1, 2, 8, 7), uniform(-2, 2, 3, 2, 3, 3), name="Conv-strides", strides=[2, 3], pads=[0, 1, 0, 1]),
    case("Conv", uniform(-2, 2, 1, 2, 8, 9), uniform(-2, 2, 3, 2, 2, 3), name="Conv-dilations", dilations=[3, 2], strides=[2, 1], auto_pad="SAME_UPPER"),
    case("Conv", uniform(-2, 2, 2, 4, 5, 5), uniform(-2, 2, 6, 2, 3, 3), name="Conv-groups", group=2),
    case("Conv", uniform(-2, 2, 2, 3, 5, 5), uniform(-2, 2, 3, 1, 3, 3), name="Conv-depthwise", group=3, strides=[2, 2], pads=[1, 1, 1, 1]),
    case("Conv", uniform(-2, 2, 2, 3, 7), uniform(-2, 2, 2, 3, 1), name="Conv-line"),
    case("Conv", uniform(-2, 2, 1, 3, 7, 5), uniform(-2, 2, 2, 3, 1, 1), name="Conv-pixels", strides=[3, 2]),
    case("Conv", uniform(-2, 2, 1, 1, 3, 4, 3), uniform(-2, 2, 2, 1, 2, 2, 2), name="Conv-volume"),
    case("ConvTranspose", uniform(-2, 2, 1, 2, 3, 4), uniform(-2, 2, 2, 3, 3, 2), uniform(-2, 2, 3)),
    case("ConvTranspose", uniform(-2, 2, 1, 2, 3, 3), uniform(-2, 2, 2, 1, 3, 3), name="ConvTranspose-strides", strides=[2, 2], pads=[1, 1, 0, 1], output_padding=[1, 1]),
    case("ConvTranspose", uniform(-2, 2, 1, 4, 3, 3), uniform(-2, 2, 4, 1, 2, 2), name="ConvTranspose-groups", group=2, dilations=[2, 1]),
    case("AveragePool", uniform(-2, 2, 1, 2, 5, 7), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    case("AveragePool", uniform(-2, 2, 1, 2, 5, 7), name="AveragePool-padding", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], count_include_pad=1),
    case("AveragePool", uniform(-2, 2, 1, 2, 6, 6), name="AveragePool-even", kernel_shape=[2, 2], strides=[2, 2]),
    case("AveragePool", uniform(-2, 2, 1, 1, 6, 7), name="AveragePool-ceil", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("MaxPool", apart(1, 2, 5, 7), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    case("MaxPool", apart(2, 3, 4, 4), name="MaxPool-overlapping", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    case("LpPool", uniform(0.2, 2, 1, 2, 5, 7), kernel_shape=[3, 2], strides=[2, 2], p=3),
    case("GlobalAveragePool", uniform(-2, 2, 2, 3, 4, 5)),
    case("GlobalMaxPool", apart(2, 3, 4, 5)),
    *[case("Resize", uniform(-2, 2, 1, 2, *sizes), given(np.array(scales, np.float32)), name=f"Resize-{mode}-{scales[2]}", constants=["x1"],
           nodes=[helper.make_node("Resize", ["x0", "", "x1"], ["y"], mode=mode, **more)])
      for mode, sizes, scales, more in [("nearest", (3, 4), [1, 1, 2, 2], {}), ("linear", (3, 5), [1, 1, 2, 0.6], {}), ("cubic", (4, 3), [1, 1, 1.5, 2], {}),
                                        ("linear", (7, 5), [1, 1, 0.5, 1], {"antialias": 1})]],
    case("Resize", uniform(-2, 2, 1, 2, 3, 4), given(np.array([1, 2, 5, 7])), constants=["x1"], name="Resize-sizes",
         nodes=[helper.make_node("Resize", ["x0", "", "", "x1"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")]),
]

NORMALIZATIONS = [
    case("LayerNormalization", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 5), uniform(-2, 2, 5)),
    case("LayerNormalization", uniform(-2, 2, 2, 3, 5), uniform(-2, 2, 3, 5), name="LayerNormalization-axis", axis=1),
    case("RMSNormalization", uniform(-2, 2, 3, 5), uniform(-2, 2, 5), opset=23),
    case("InstanceNormalization", uniform(-2, 2, 2, 3, 4, 5), uniform(-2, 2, 3), uniform(-2, 2, 3)),
    case("GroupNormalization", uniform(-2, 2, 2, 4, 5), uniform(-2, 2, 4), uniform(-2, 2, 4), num_groups=2),
    case("LRN", uniform(-2, 2, 1, 5, 2, 3), size=3, alpha=0.5),
    case("BatchNormalization", uniform(-2, 2, 2, 3, 4), uniform(-2, 2, 3), uniform(-2, 2, 3), uniform(-1, 1, 3), uniform(0.5, 2, 3), constants=["x3", "x4"]),
    case("BatchNormalization", uniform(-2, 2, 3, 2, 4), uniform(-2, 2, 2), uniform(-2, 2, 2), given(np.zeros(2)), given(np.ones(2)), name="BatchNormalization-training",
         constants=["x3", "x4"], nodes=[helper.make_node("BatchNormalization", [f"x{i}" for i in range(5)], ["n", "m", "v"], training_mode=1), helper.make_node("Identity", ["n"], ["y"])]),
]


def whole_model(nodes, feeds, weights, constants, opset):
    """The nodes' last result, weighed by random numbers and summed."""
    types = {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.bool_): TensorProto.BOOL}
    inputs = [helper.make_tensor_value_info(name, types[x.dtype], x.shape) for name, x in feeds.items() if name not in constants]
    fixed = [numpy_helper.from_array(feeds[name], name) for name in constants]
    if weights is not None:
        nodes = [*nodes, helper.make_node("Mul", [nodes[-1].output[0], "weights"], ["weighed"]),
                 helper.make_node("ReduceSum", ["weighed"], ["loss"], keepdims=0)]
        fixed.append(numpy_helper.from_array(weights, "weights"))
    results = [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.DOUBLE, None)]
    graph = helper.make_graph(nodes, "g", inputs, results, fixed)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def differences(run, feeds, name):
    """Central differences of a function of one number, for each element of an input."""
    x = feeds[name]
    slopes = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * STEP
            ends.append(run({**feeds, name: moved}))
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


def check(nodes, inputs, constants, opset, rng, reference=ReferenceEvaluator):
    feeds = {f"x{i}": draw(rng) for i, draw in enumerate(inputs)}
    fixed = [name for name, x in feeds.items() if name in constants or x.dtype == np.int64]
    shape = reference(whole_model(nodes, feeds, None, fixed, opset)).run(None, {k: v for k, v in feeds.items() if k not in fixed})[0].shape
    model = whole_model(nodes, feeds, rng.standard_normal(shape), fixed, opset)
    fed = {name: x for name, x in feeds.items() if name not in fixed}
    variables = [name for name, x in fed.items() if x.dtype == np.float64]
    session = fathom.Session(fathom.compile(model, loss="loss", wrt=",".join(variables)))
    assert [output.name for output in session.outputs] == ["loss", *(f"{name}.gradient" for name in variables)]
    loss, *gradients = session.run(None, fed)
    evaluator = reference(model, new_ops=EXACT)
    assert_close(loss.reshape(()), evaluator.run(None, fed)[0].reshape(()), "network")
    for name, got in zip(variables, gradients, strict=True):
        want = differences(lambda moved: float(evaluator.run(None, moved)[0]), fed, name)
        assert_close(got, want, "slope", name, data=1.0)


@pytest.mark.filterwarnings("ignore:the loss does not change")
@pytest.mark.parametrize("nodes, inputs, constants, opset", ELEMENTWISE + PRODUCTS + SHAPES + REDUCTIONS + MOVEMENT + INDEXING + WINDOWS + NORMALIZATIONS)
def test_rule(nodes, inputs, constants, opset, random, request):
    check(nodes, inputs, constants, opset, random, Own if request.node.callspec.id in OWN else ReferenceEvaluator)


def perceptron(rng, sizes, classes):
    """Dense layers with tanh between them, in float64, for batches of any size."""
    weights, nodes, x = {}, [], "x"
    for i, (inner, outer) in enumerate(zip([sizes[0], *sizes[1:]], [*sizes[1:], classes])):
        weights[f"w{i}"] = rng.standard_normal((inner, outer)) / np.sqrt(inner)
        weights[f"b{i}"] = rng.standard_normal(outer) * 0.1
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"p{i}"]), helper.make_node("Add", [f"p{i}", f"b{i}"], [f"s{i}"])]
        x = f"s{i}"
        if i + 1 < len(sizes):
            nodes.append(helper.make_node("Tanh", [x], [f"h{i}"]))
            x = f"h{i}"
    nodes[-1].output[0] = "logits"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", sizes[0]])],
                              [helper.make_tensor_value_info("logits", TensorProto.DOUBLE, ["n", classes])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), weights


def perceptron_loss(weights, x, labels):
    """The mean cross-entropy and its gradients, by hand."""
    layers = len(weights) // 2
    kept = [x]
    for i in range(layers):
        x = x @ weights[f"w{i}"] + weights[f"b{i}"]
        if i + 1 < layers:
            x = np.tanh(x)
            kept.append(x)
    logs = x - x.max(1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    rows = np.arange(len(labels))
    adjoint = np.exp(logs)
    adjoint[rows, labels] -= 1
    adjoint /= len(labels)
    gradients = {}
    for i in reversed(range(layers)):
        gradients[f"w{i}"], gradients[f"b{i}"] = kept[i].T @ adjoint, adjoint.sum(0)
        adjoint = adjoint @ weights[f"w{i}"].T * (1 - kept[i] ** 2) if i else None
    return -logs[rows, labels].mean(), gradients


def sgd(weights, gradients, memory, step, momentum=0.0, decay=0.0, nesterov=False, rate=0.1):
    for name, gradient in gradients.items():
        gradient = gradient + decay * weights[name]
        speed = memory[name] = momentum * memory.get(name, 0) + gradient
        weights[name] = weights[name] - rate * (gradient + momentum * speed if nesterov else speed)


def adam(weights, gradients, memory, step, rate=0.01, betas=(0.9, 0.999), decay=0.0, apart=False):
    for name, gradient in gradients.items():
        gradient = gradient + (0 if apart else decay) * weights[name]
        mean, square = memory.get(name, (0, 0))
        mean, square = betas[0] * mean + (1 - betas[0]) * gradient, betas[1] * square + (1 - betas[1]) * gradient**2
        memory[name] = mean, square
        weight = weights[name] * (1 - (rate * decay if apart else 0))
        weights[name] = weight - rate * (mean / (1 - betas[0] ** step)) / (np.sqrt(square / (1 - betas[1] ** step)) + 1e-8)


@pytest.mark.parametrize("train, update", [
    ("sgd:lr=0.1", sgd),
    ("sgd:lr=0.1,momentum=0.9,decay=0.01", lambda *a: sgd(*a, momentum=0.9, decay=0.01)),
    ("sgd:lr=input,momentum=0.9,nesterov", lambda *a: sgd(*a, momentum=0.9, nesterov=True)),
    ("adam:lr=0.01,decay=0.01", lambda *a: adam(*a, decay=0.01)),
    ("adamw:lr=0.01,beta1=0.8,decay=0.1", lambda *a: adam(*a, betas=(0.8, 0.999), decay=0.1, apart=True)),
])
def test_training_follows_the_formula(train, update, random):
    """A perceptron learns, step for step as by hand, with batches of several sizes and labels that are no class."""
    model, weights = perceptron(random, [7, 13, 5], 3)
    trainer = fathom.Trainer(model, loss="cross-entropy:logits:labels", train=train)
    assert list(trainer.weights) == list(weights)
    x = random.standard_normal((17, 7))
    labels = np.abs(x[:, :3]).argmax(1)
    memory, losses = {}, []
    for step in range(1, 31):
        count = (17, 1, 8)[step % 3]
        want, gradients = perceptron_loss(weights, x[:count], labels[:count])
        update(weights, gradients, memory, step)
        # Rows that are not to be learned from make no difference.
        feeds = {"x": np.concatenate([x[:count], x[:2]]), "labels": np.concatenate([labels[:count], [-100, -1]])}
        rate = {"optimizer.rate": np.float64(0.1)} if "lr=input" in train else {}
        losses.append(trainer.step({**feeds, **rate}))
        assert_close(np.asarray(losses[-1]), want, "network")
    assert sum(losses[-3:]) < sum(losses[:3])  # of one batch of each size
    for name, value in trainer.weights.items():
        assert_close(value, weights[name], "network", name)


def test_training_goes_on_where_it_was_saved(tmp_path, random):
    model, _ = perceptron(random, [3, 5], 2)
    feeds = {"x": random.standard_normal((4, 3)), "labels": np.array([0, 1, 1, 0])}
    options = {"loss": "cross-entropy:logits:labels", "train": "sgd:lr=0.1"}
    trainer = fathom.Trainer(model, **options)
    trainer.step(feeds)
    again = fathom.Trainer(trainer.save(tmp_path / "trained.onnx"), **options)
    assert again.step(feeds) == trainer.step(feeds)
    with pytest.raises(fathom.Error, match="not trained"):
        fathom.Trainer(model, weights={"w9": np.zeros(3)}, **options)


SMOOTH = {"Exp", "Tanh", "Sigmoid", "Gelu", "Mul", "Div", "Pow", "MatMul", "MatMul-rows", "Gemm", "Softmax", "LogSoftmax", "ReduceLogSumExp", "ReduceProd", "Conv", "Conv-strides",
          "ConvTranspose", "AveragePool", "LayerNormalization", "BatchNormalization-training", "Gather", "Concat", "Slice-steps", "Resize-linear-2"}
TWICE = [one for one in ELEMENTWISE + PRODUCTS + REDUCTIONS + MOVEMENT + INDEXING + WINDOWS + NORMALIZATIONS if one.id in SMOOTH]


@pytest.mark.parametrize("nodes, inputs, constants, opset", TWICE)
def test_second_order(nodes, inputs, constants, opset, random):
    """The gradient's gradient along random directions, against differences of the gradient."""
    feeds = {f"x{i}": draw(random) for i, draw in enumerate(inputs)}
    fixed = [name for name, x in feeds.items() if name in constants or x.dtype == np.int64]
    nodes = [*nodes, helper.make_node("Mul", ["y", "y"], ["squares"])]  # not only linear
    shape = ReferenceEvaluator(whole_model(nodes, feeds, None, fixed, opset)).run(None, {k: v for k, v in feeds.items() if k not in fixed})[0].shape
    model = whole_model(nodes, feeds, random.standard_normal(shape), fixed, opset)
    fed = {name: x for name, x in feeds.items() if name not in fixed}
    session = fathom.Session(fathom.compile(model, loss="loss", wrt=",".join(fed), curvature=True))
    assert [output.name for output in session.outputs] == ["loss", *(f"{name}.gradient" for name in fed), *(f"{name}.curvature" for name in fed)]
    directions = {name: random.standard_normal(x.shape) for name, x in fed.items()}

    def gradients(step):
        moved = {name: x + step * directions[name] for name, x in fed.items()}
        return session.run(None, {**moved, **{f"{name}.direction": v for name, v in directions.items()}})[1:]

    ends = gradients(STEP)[: len(fed)], gradients(-STEP)[: len(fed)]
    for name, got, more, less in zip(fed, gradients(0)[len(fed):], *ends, strict=True):
        want = (more - less) / (2 * STEP)
        assert_close(got, want, "curvature", name, data=1.0)


def deep(rng, depth, width, batch):
    """Products with several elementwise operators between them, of which gradients need all."""
    nodes, weights, x = [], {}, "x"
    for i in range(depth):
        weights[f"w{i}"] = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
        for op, operands in (("MatMul", [x, f"w{i}"]), ("Softplus", [f"{i}.MatMul"]), ("Sin", [f"{i}.Softplus"]), ("Mul", [f"{i}.Sin", f"{i}.Softplus"])):
            nodes.append(helper.make_node(op, operands, [f"{i}.{op}"]))
        x = f"{i}.Mul"
    nodes.append(helper.make_node("ReduceMean", [x], ["loss"], keepdims=0))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, width])], [helper.make_tensor_value_info("loss", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), weights


def test_memory_budget(random):
    """Less memory, the same gradients; a budget that cannot be met is said."""
    model, weights = deep(random, 8, 32, 256)
    feeds = {"x": random.standard_normal((256, 32)).astype(np.float32), **weights}
    whole = fathom.Session(fathom.compile(model, loss="loss"))
    with pytest.warns(UserWarning, match="more than the budget"):
        least = fathom.Session(fathom.compile(model, loss="loss", memory_budget=0.01))
    assert least.manifest["arena_bytes"] < 0.75 * whole.manifest["arena_bytes"]
    for got, want in zip(least.run(None, feeds), whole.run(None, feeds), strict=True):
        assert_close(got, want, "network")
    enough = fathom.Session(fathom.compile(model, loss="loss", memory_budget=100))
    assert enough.manifest["plan"] == whole.manifest["plan"]
