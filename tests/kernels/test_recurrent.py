"""RNN, GRU and LSTM in every variant of the specification, against ONNX Runtime on fresh random data."""
import itertools

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close, assert_inputs_matter

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"]
# time, batch, input and hidden sizes
SIZES = [(1, 1, 1, 1), (5, 1, 7, 3), (1, 3, 2, 5), (7, 2, 13, 17), (3, 5, 1, 32)]
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}


def tensors(op, sizes, directions, rng, given=""):
    """The operands of a node by ONNX's names: those that every node has, and those that are named."""
    time, batch, width, hidden = sizes

    def normal(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    all_of_them = {
        "X": 3 * normal(time, batch, width),
        "W": normal(directions, GATES[op] * hidden, width),
        "R": normal(directions, GATES[op] * hidden, hidden),
        "B": normal(directions, 2 * GATES[op] * hidden),
        "sequence_lens": rng.integers(1, time + 1, batch, np.int32),
        "initial_h": normal(directions, batch, hidden),
        "initial_c": normal(directions, batch, hidden),
        "P": normal(directions, 3 * hidden),
    }
    return {name: array for name, array in all_of_them.items() if name in "XWR" or name in given.split()}


def model_of(op, operands, inputs, attributes, outputs, dynamic=False):
    """A model of one node; what is not among the inputs is constant."""
    order = ["X", "W", "R", "B", "sequence_lens", "initial_h"] + (["initial_c", "P"] if op == "LSTM" else [])
    node = helper.make_node(op, [name if name in operands else "" for name in order], outputs, **attributes)
    infos = []
    for name in inputs:
        shape = list(operands[name].shape)
        if dynamic and name in ("X", "sequence_lens", "initial_h", "initial_c"):
            places = {"X": ["time", "batch", None], "sequence_lens": ["batch"]}.get(name, [None, "batch", None])
            shape = [place or size for place, size in zip(places, shape, strict=True)]
        infos.append(helper.make_tensor_value_info(name, TYPES[operands[name].dtype], shape))
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    weights = [numpy_helper.from_array(array, name) for name, array in operands.items() if name not in inputs]
    graph = helper.make_graph([node], "g", infos, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def agree(got, expected):
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        # A state is a blend of others and of functions that are as large as 1, however near to 0 it comes.
        assert_close(a, b, "sum", data=1.0)


def reference(model, feeds):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)


def check(op, operands, outputs=None, inputs=("X", "sequence_lens", "initial_h", "initial_c"), **attributes):
    outputs = outputs or (["Y", "Y_h", "Y_c"] if op == "LSTM" else ["Y", "Y_h"])
    inputs = [name for name in inputs if name in operands]
    attributes.setdefault("hidden_size", operands["R"].shape[2])
    model = model_of(op, operands, inputs, attributes, outputs)
    feeds = {name: operands[name] for name in inputs}
    artifact = fathom.compile(model)
    one, two = (fathom.Session(artifact, threads=threads).run(None, feeds) for threads in (1, 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True)), "results depend on the thread count"
    expected = reference(model, feeds)
    agree(one, expected)
    # Sequences without a step are zeros, whatever the input.
    if np.any(feeds.get("sequence_lens", 1)):
        assert_inputs_matter(lambda other: reference(model, other), feeds, expected, lambda want: 2e-5 + 1e-4 * np.abs(want))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_directions(op, direction, sizes, seed):
    rng = np.random.default_rng(seed)
    directions = 1 + (direction == "bidirectional")
    for given in ("", "B", "B initial_h initial_c", "B sequence_lens", "sequence_lens initial_h initial_c"):
        check(op, tensors(op, sizes, directions, rng, given), direction=direction)


@pytest.mark.parametrize("sizes", [(6, 1, 5, 128), (4, 1, 31, 131), (3, 3, 8, 67), (2, 17, 3, 61), (5, 2, 16, 257)], ids=str)
@pytest.mark.parametrize("op", GATES)
def test_wide_states(op, sizes, seed):
    """Weights of many panels, whose product with one row or a few reads several of them side by side."""
    rng = np.random.default_rng(seed)
    for direction in ("forward", "bidirectional"):
        operands = tensors(op, sizes, 1 + (direction != "forward"), rng, "B initial_h initial_c sequence_lens")
        if op != "LSTM":
            operands.pop("initial_c")
        check(op, operands, direction=direction)
        check(op, operands, direction=direction, **(dict(linear_before_reset=1) if op == "GRU" else dict(clip=0.5)))


@pytest.mark.parametrize("op", GATES)
def test_weights_that_are_inputs(op, seed):
    operands = tensors(op, (3, 2, 5, 7), 2, np.random.default_rng(seed), "B P initial_h")
    if op != "LSTM":
        operands.pop("P")
    check(op, operands, inputs=list(operands), direction="bidirectional")


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("op", GATES)
def test_activations(op, name, seed):
    """First in the one direction and last in the other; among bounded functions, so that no state runs away."""
    rng = np.random.default_rng(seed)
    count = FUNCTIONS[op]
    names = ([name] + ["Sigmoid"] * (count - 1)) + (["Tanh"] * (count - 1) + [name])
    operands = tensors(op, (4, 3, 5, 6), 2, rng, "B initial_h initial_c")
    # ONNX Runtime's Softplus of a number above 88 is infinite.
    operands["R"] *= np.float32(0.3)
    # More than are needed; each function takes those that it has.
    numbers = [float(x) for x in rng.uniform(0.1, 0.6, 2 * count)]
    check(op, operands, direction="bidirectional", activations=names, activation_alpha=numbers, activation_beta=numbers)


@pytest.mark.parametrize("name", ["LeakyRelu", "HardSigmoid", "Elu"])
def test_activations_with_default_factors(name, seed):
    check("RNN", tensors("RNN", (4, 3, 5, 6), 1, np.random.default_rng(seed), "B"), activations=[name])


def test_default_threshold(seed):
    """The operator's default of 1, where ONNX Runtime takes 0."""
    operands = tensors("RNN", (4, 3, 5, 6), 1, np.random.default_rng(seed), "B")
    expected = reference(model_of("RNN", operands, ["X"], dict(activations=["ThresholdedRelu"], activation_alpha=[1.0], hidden_size=6), ["Y"]), {"X": operands["X"]})
    model = model_of("RNN", operands, ["X"], dict(activations=["ThresholdedRelu"], hidden_size=6), ["Y"])
    agree(fathom.Session(fathom.compile(model)).run(None, {"X": operands["X"]}), expected)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_sequences_without_steps(op, direction, seed):
    """They end with zeros and not with the state they were given, as in ONNX Runtime."""
    operands = tensors(op, (4, 3, 5, 6), 1 + (direction == "bidirectional"), np.random.default_rng(seed), "B sequence_lens initial_h initial_c")
    for lengths in ([4, 0, 2], [0, 0, 0]):
        check(op, operands | {"sequence_lens": np.array(lengths, np.int32)}, direction=direction)


@pytest.mark.parametrize("op", GATES)
def test_impossible_lengths_are_refused(op, seed):
    operands = tensors(op, (4, 3, 5, 6), 2, np.random.default_rng(seed), "B sequence_lens")
    model = model_of(op, operands, ["X", "sequence_lens"], dict(direction="bidirectional", hidden_size=6), ["Y", "Y_h"], dynamic=True)
    session = fathom.Session(fathom.compile(model))
    for wrong in (5, -1, 2**31 - 1, -(2**31)):
        for place in range(3):
            lengths = np.array([4, 1, 0], np.int32)
            lengths[place] = wrong
            with pytest.raises(fathom.Error, match="sequence_lens holds a length that is negative or above the time axis"):
                session.run(None, {"X": operands["X"], "sequence_lens": lengths})
    feeds = {name: operands[name] for name in ("X", "sequence_lens")}
    agree(session.run(None, feeds), reference(model, feeds))


@pytest.mark.parametrize("op", GATES)
def test_clip(op, seed):
    check(op, tensors(op, (5, 3, 7, 5), 1, np.random.default_rng(seed), "B initial_h initial_c"), clip=0.3)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gru_linear_before_reset(direction, seed):
    for given in ("", "B initial_h", "B sequence_lens"):
        operands = tensors("GRU", (5, 3, 7, 11), 1 + (direction != "forward"), np.random.default_rng(seed), given)
        check("GRU", operands, direction=direction, linear_before_reset=1)


@pytest.mark.parametrize("input_forget", [0, 1])
@pytest.mark.parametrize("given", ["P", "B P initial_h initial_c", "B P sequence_lens initial_c"])
def test_lstm_peepholes(given, input_forget, seed):
    operands = tensors("LSTM", (5, 3, 7, 11), 2, np.random.default_rng(seed), given)
    check("LSTM", operands, direction="bidirectional", input_forget=input_forget)


@pytest.mark.parametrize("op", GATES)
def test_single_outputs(op, seed):
    operands = tensors(op, (3, 2, 5, 4), 1, np.random.default_rng(seed), "B")
    for outputs in [["Y"], ["", "Y_h"]] + ([["", "", "Y_c"]] if op == "LSTM" else []):
        check(op, operands, outputs=outputs)


@pytest.mark.parametrize("op", GATES)
def test_batch_first(op, seed):
    """ONNX Runtime knows one layout only, so the other is compared through transposed data."""
    operands = tensors(op, (5, 3, 7, 4), 2, np.random.default_rng(seed), "B sequence_lens initial_h initial_c")
    if op != "LSTM":
        operands.pop("initial_c")
    outputs = ["Y", "Y_h", "Y_c"] if op == "LSTM" else ["Y", "Y_h"]
    attributes = dict(hidden_size=4, direction="bidirectional")
    names = [name for name in operands if name not in "WRB"]
    time_first = reference(model_of(op, operands, names, attributes, outputs), {name: operands[name] for name in names})
    turned = {name: np.ascontiguousarray(a.swapaxes(0, 1)) if name in ("X", "initial_h", "initial_c") else a for name, a in operands.items()}
    model = model_of(op, turned, names, dict(attributes, layout=1), outputs)
    got = fathom.Session(fathom.compile(model)).run(None, {name: turned[name] for name in names})
    agree(got, [time_first[0].transpose(2, 0, 1, 3)] + [state.swapaxes(0, 1) for state in time_first[1:]])


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_symbolic_sizes(op, direction, seed):
    """One artifact for all lengths and batches; results depend on the input."""
    rng = np.random.default_rng(seed)
    directions = 1 + (direction != "forward")
    fixed = tensors(op, (2, 2, 5, 6), directions, rng, "B sequence_lens initial_h" + (" initial_c" if op == "LSTM" else ""))
    inputs = [name for name in fixed if name not in "WRB"]
    model = model_of(op, fixed, inputs, dict(hidden_size=6, direction=direction), ["Y", "Y_h"], dynamic=True)
    session = fathom.Session(fathom.compile(model))
    for time, batch in itertools.product((1, 2, 11), (1, 4)):
        first, second = (tensors(op, (time, batch, 5, 6), directions, rng, " ".join(inputs)) for _ in range(2))
        results = []
        for operands in (first, second):
            feeds = {name: operands[name] for name in inputs}
            results.append(session.run(None, feeds))
            agree(results[-1], reference(model, feeds))
        assert np.abs(results[0][1] - results[1][1]).max() > 1e-3


@pytest.mark.parametrize("attributes, words", [
    (dict(direction="sideways"), "direction 'sideways'"),
    (dict(activations=["Cosine"]), "unknown activation 'Cosine'"),
    (dict(activations=["Tanh", "Tanh"]), "has 2 activations, not 1"),
    (dict(hidden_size=5), "hidden_size 5"),
])
def test_bad_attributes(attributes, words):
    operands = tensors("RNN", (3, 2, 5, 4), 1, np.random.default_rng(0))
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(model_of("RNN", operands, ["X"], attributes, ["Y"]))


@pytest.mark.parametrize("name, shape", [("X", (3, 5)), ("W", (2, 4, 5)), ("B", (1, 4)), ("initial_h", (1, 3, 4)), ("sequence_lens", (3,))])
def test_bad_shapes(name, shape):
    operands = tensors("RNN", (3, 2, 5, 4), 1, np.random.default_rng(0), "B initial_h sequence_lens")
    operands[name] = np.zeros(shape, operands[name].dtype)
    with pytest.raises(fathom.Error, match=f"{name} of RNN is"):
        fathom.compile(model_of("RNN", operands, ["X"], dict(hidden_size=4), ["Y"]))
