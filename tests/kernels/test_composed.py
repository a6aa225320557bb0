"""Operators that the importer composes of others, against ONNX Runtime or the reference evaluator on fresh random data."""
import importlib

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case import node as cases
from onnx.reference import ReferenceEvaluator

import fathom
from support import tolerances
from support.compare import assert_close, assert_inputs_matter

TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}


def model_of(node, inputs, symbolic, opset=None, constants=()):
    opset = opset or 17
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype.name], [None] * array.ndim if symbolic else array.shape)
             for name, array in inputs.items() if name not in constants]
    weights = [helper.make_tensor(name, TYPES[inputs[name].dtype.name], inputs[name].shape, inputs[name].flatten()) for name in constants]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in node.output if name]
    graph = helper.make_graph([node], "g", infos, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def by_onnxruntime(model, feeds):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)


def by_definition(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def check(node, inputs, opset=None, reference=by_onnxruntime, constants=(), same_for_all_inputs=None, data=0.0):
    """With sizes known and unknown. Another input has other outputs, unless `same_for_all_inputs` says why not."""
    feeds = {name: array for name, array in inputs.items() if name not in constants}
    family = tolerances.FAMILY.get(node.op_type, "sum")
    for symbolic in (False, True):
        model = model_of(node, inputs, symbolic, opset, constants)
        results, expected = fathom.Session(fathom.compile(model)).run(None, feeds), reference(model, feeds)
        for got, want in zip(results, expected, strict=True):
            assert got.dtype == want.dtype
            assert_close(got, want, family, data=data)
    if not same_for_all_inputs:
        assert_inputs_matter(lambda other: reference(model, other), feeds, expected, lambda want: tolerances.allowed(np.abs(want), family, want.dtype, data))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample(mode, padding, seed):
    rng = np.random.default_rng(seed)
    for align, sizes, points in [(0, (5, 7), (3, 11)), (1, (2, 3), (1, 1)), (1, (3, 4, 5), (2, 3, 1)), (0, (1, 6), (2, 2))]:
        if len(sizes) == 3 and mode == "cubic":
            continue  # not in ONNX Runtime
        inputs = {"x": normal(rng, 2, 3, *sizes), "grid": rng.uniform(-1.7, 1.7, (2, *points, len(sizes))).astype(np.float32)}
        node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
        check(node, inputs, opset=20)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows_of_any_size(op):
    for periodic, size in [(0, 2), (0, 7), (0, 400), (1, 1), (1, 2), (1, 7), (1, 400)]:
        check(helper.make_node(op, ["n"], ["y"], periodic=periodic), {"n": np.array(size)}, data=1.0)


def transformed(x, length=None, axis=-2, inverse=0, onesided=0, symbolic=False):
    """DFT of operator set 17 by Fathom; only the last size is known if symbolic."""
    names = ["x"] + (["n"] if length else [])
    node = helper.make_node("DFT", names, ["y"], axis=axis, inverse=inverse, onesided=onesided)
    shape = [None] * (x.ndim - 1) + [x.shape[-1]] if symbolic else x.shape
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("n", TensorProto.INT64, [])]
    graph = helper.make_graph([node], "g", infos[: len(names)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return fathom.Session(fathom.compile(model)).run(None, {"x": x, "n": np.array(length)} if length else {"x": x})[0]


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("shape, axis", [((1, 1), 0), ((2, 13, 3), 1), ((5, 64), 1)], ids=str)
def test_dft(shape, axis, symbolic, seed):
    rng = np.random.default_rng(seed)
    real, imaginary = normal(rng, *shape), normal(rng, *shape)
    pairs = np.stack([real, imaginary], -1)
    number = real.astype(np.complex128) + 1j * imaginary

    def close(got, want):
        assert_close(got, np.stack([want.real, want.imag], -1), "sum")

    close(transformed(pairs, axis=axis, symbolic=symbolic), np.fft.fft(number, axis=axis))
    close(transformed(pairs, axis=axis, inverse=1, symbolic=symbolic), np.fft.ifft(number, axis=axis))
    close(transformed(real[..., None], axis=axis, onesided=1, symbolic=symbolic), np.fft.rfft(real.astype(np.float64), axis=axis))
    for length in {shape[axis] + 3, max(1, shape[axis] // 2)}:
        close(transformed(pairs, length, axis, symbolic=symbolic), np.fft.fft(number, length, axis))
        back = transformed(pairs, length, axis, inverse=1, onesided=1, symbolic=symbolic)
        assert_close(back[..., 0], np.fft.irfft(number, length, axis), "sum")


@pytest.mark.parametrize("length", [16, 17, 50, 400])
@pytest.mark.parametrize("onesided", [0, 1])
def test_stft(onesided, length, seed):
    """One artifact for signals of any length, against ONNX Runtime."""
    rng = np.random.default_rng(seed)
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"], onesided=onesided)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", "n", 1])]
    constants = [helper.make_tensor("step", TensorProto.INT64, [], [5]), helper.make_tensor("window", TensorProto.FLOAT, [16], normal(rng, 16))]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": normal(rng, 2, length, 1)}
    got, want = fathom.Session(fathom.compile(model)).run(None, feeds)[0], by_onnxruntime(model, feeds)[0]
    assert got.shape == want.shape
    assert_close(got, want, "sum")


def cases_of(*ops):
    """ONNX's own cases of these operators, as far as they are one node. Its modules make the cases when they are imported; those of all operators
    take longer than most tests."""
    for op in ops:
        importlib.import_module(f"onnx.backend.test.case.node.{op.lower()}")
    chosen = [case for case in cases._NodeTestCases if case.model and [node.op_type for node in case.model.graph.node] in [[op] for op in ops]]
    return {case.name: case for case in chosen}


CASES = cases_of("Attention", "RotaryEmbedding", "TensorScatter")


@pytest.mark.parametrize("name", CASES)
def test_cases_of_new_operators(name):
    case = CASES[name]
    session = fathom.Session(fathom.compile(case.model))
    for inputs, outputs in case.data_sets:
        results = session.run(None, {info.name: np.asarray(array) for info, array in zip(case.model.graph.input, inputs, strict=True)})
        for got, want in zip(results, outputs, strict=True):
            assert_close(got, want, "steps" if got.dtype.itemsize == 2 else tolerances.family_of(case.model))
