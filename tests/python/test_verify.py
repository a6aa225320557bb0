"""The comparison itself, and the search for the first node that diverges, on a reference that is wrong on purpose."""

import fathom
import numpy as np
import onnx
import pytest
from onnx import TensorProto
from support import models
from support.models import node
from support.networks import perceptron
from fathom import reference
from fathom.bisect import declared_types
from fathom.bounds import Bounds
from fathom.compare import compare
from fathom.verify import verify


def f32(*values):
    return np.array(values, np.float32)


def test_equal():
    result = compare("y", f32(1, 2), f32(1, 2), 1e-3, 1e-4)
    assert result.ok and (result.max_abs, result.max_rel, result.max_ulp) == (0, 0, 0)


def test_one_ulp():
    result = compare("y", np.nextafter(f32(1), f32(2)), f32(1), 0, 0)
    assert not result.ok and result.max_ulp == 1


def test_ulp_across_zero():
    tiny = np.nextafter(f32(0), f32(1))
    assert compare("y", -tiny, tiny, 1, 1).max_ulp == 2
    assert compare("y", f32(-0.0), f32(0.0), 0, 0).max_ulp == 0


def test_tolerance_is_relative_to_the_largest():
    want = f32(100, 0)
    assert compare("y", f32(100, 0.009), want, 0, 1e-4).ok
    assert not compare("y", f32(100, 0.011), want, 0, 1e-4).ok


@pytest.mark.parametrize("axis", [0, 1])
def test_a_large_row_or_column_hides_nothing(axis):
    want = np.ones((20, 30), np.float32)
    want[3 if axis == 0 else slice(None), 3 if axis == 1 else slice(None)] = 1e6
    got = want.copy()
    got[5, 5] += 2e-1
    assert compare("y", got, want, 0, 1e-4).mismatches == 1
    got[5, 5] = 1 + 5e-5
    assert compare("y", got, want, 0, 1e-4).ok


def test_short_axes_do_not_count():
    """A value that is small in all of a few samples is not small on its own account."""
    want = f32(*range(40)).reshape(2, 20)
    want[:, 3] = 0
    assert compare("y", want + f32(0.0015), want, 0, 1e-4).ok


def test_nan_and_infinity():
    want = f32(np.nan, np.inf, -np.inf, 1)
    assert compare("y", want.copy(), want, 0, 0).ok
    for place, wrong in ((0, 1), (1, -np.inf), (1, 3e38), (3, np.nan)):
        got = want.copy()
        got[place] = wrong
        assert compare("y", got, want, 1e-3, 1e-4).mismatches == 1


def test_integers_must_be_equal():
    assert not compare("y", np.array([1, 2]), np.array([1, 3]), 1, 1).ok


def test_shapes_and_types():
    assert "float64" in compare("y", np.ones(2), f32(1, 1), 1, 1).reason
    assert not compare("y", f32(1), f32(1, 1), 1, 1).ok
    assert compare("y", np.ones((0, 3)), np.ones((0, 3)), 0, 0).ok


@pytest.mark.parametrize("against", ["onnxruntime", "reference"])
def test_match(tmp_path, against):
    onnx.save(perceptron(), tmp_path / "m.onnx")
    report = verify(tmp_path / "m.onnx", against=against, seed=2, dims={"batch": 3})
    assert report["ok"] and "first_divergence" not in report and report["inputs"] == {"x": [3, 16]}


def test_floats_of_a_byte(tmp_path):
    """ONNX Runtime gives their bytes alone."""
    to = onnx.TensorProto.FLOAT8E4M3FN
    cast = onnx.helper.make_node("Cast", ["x"], ["y"], to=to)
    given, made = (onnx.helper.make_tensor_value_info(name, element, [7]) for name, element in (("x", onnx.TensorProto.FLOAT), ("y", to)))
    graph = onnx.helper.make_graph([cast], "g", [given], [made])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    [output] = verify(tmp_path / "m.onnx")["outputs"]
    assert output["ok"] and output["dtype"].startswith("float8")


def test_dequantized_weights(tmp_path):
    """ONNX Runtime must compute what the model says, not with inputs of 8 bits."""
    rng = np.random.default_rng(1)
    constants = {"q": rng.integers(-127, 128, (1024, 300), np.int8), "s": rng.random(300, np.float32), "z": np.zeros(300, np.int8)}
    nodes = [onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=1), onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, columns]) for name, columns in (("x", 1024), ("y", 300)))
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    assert verify(tmp_path / "m.onnx")["ok"]


@pytest.mark.parametrize("value, node", [("h", "hidden"), ("r", "relu"), ("y", "last")])
@pytest.mark.parametrize("is_named", [True, False])
def test_finds_the_node(tmp_path, monkeypatch, value, node, is_named):
    """A reference whose result from one value on is off: the search must name the node that computes it."""
    proto = perceptron()
    if not is_named:
        node = next(f"{each.op_type}_{value}" for each in proto.graph.node if each.name == node)
        for each in proto.graph.node:
            each.ClearField("name")
    onnx.save(proto, tmp_path / "m.onnx")
    order = ["h", "r", "y"]

    class Wrong(reference.OnnxRuntime):
        def run(self, names, inputs):
            results = super().run(names, inputs)
            return [
                array + 1 if order.index(name) >= order.index(value) else array for name, array in zip(names, results)
            ]

    monkeypatch.setitem(reference.REFERENCES, "onnxruntime", Wrong)
    report = verify(tmp_path / "m.onnx")
    assert not report["ok"]
    assert report["first_divergence"]["node"] == node
    assert "first_divergence" not in verify(tmp_path / "m.onnx", bisect=False)


def test_seeds_differ(tmp_path):
    """A comparison that could not fail would not count: two seeds give results that are far apart."""
    onnx.save(perceptron(), tmp_path / "m.onnx")
    session = fathom.Session(fathom.compile(tmp_path / "m.onnx"))
    from fathom.inputs import random_inputs

    one, two = (session.run(None, random_inputs(session, seed))[0] for seed in (1, 2))
    assert not compare("y", one, two, 5e-3, 5e-4).ok


def test_model_in_memory(model):
    assert verify(model, dims={"batch": 2})["ok"]
    assert verify(model.SerializeToString())["model"] == "model"


def test_size_of_a_run_is_one_number(model):
    """A range is for the compiler."""
    for size in [(2, 5), "3", 2.0, True]:
        with pytest.raises(fathom.Error, match="dimension 'batch' of a run has one size") as caught:
            verify(model, dims={"batch": size})
        assert caught.value.code == "F2001" and "dim={'batch'" in caught.value.hint
    assert verify(model, dims={"batch": np.int64(3)}, dim={"batch": (2, 5)})["inputs"] == {"x": [3, 16]}


def test_unknown_reference(model):
    with pytest.raises(fathom.Error, match="against is one of onnxruntime, reference"):
        verify(model, against="guess")


def test_given_inputs(model):
    x = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)
    assert verify(model, inputs={"x": x})["inputs"] == {"x": [5, 16]}
    with pytest.raises(fathom.Error, match="no input 'z'"):
        verify(model, inputs={"z": x})
    with pytest.raises(fathom.Error, match="float32"):
        verify(model, inputs={"x": x.astype(np.float64)})
    with pytest.raises(fathom.Error, match="is 4, and 5 in a given input"):
        verify(model, inputs={"x": x}, dims={"batch": 4})


def quantised_model(scale=0.05):
    """A convolution between quantisations, and a sigmoid behind it."""
    random = np.random.default_rng(3)
    weights = {"s": np.float32(scale), "z": np.uint8(20), "w": random.integers(-128, 128, (8, 4, 3, 3)).astype(np.int8), "ws": np.float32(0.01), "wz": np.int8(0)}
    nodes = [
        node("QuantizeLinear", "x s z", "xq", name="first"), node("DequantizeLinear", "xq s z", "xd"), node("DequantizeLinear", "w ws wz", "wd"),
        node("Conv", "xd wd", "c", name="conv"), node("QuantizeLinear", "c s z", "cq", name="second"), node("DequantizeLinear", "cq s z", "cd"),
        node("Sigmoid", "cd", "y", name="sigmoid"),
    ]
    outputs = [("y", TensorProto.FLOAT), ("cq", TensorProto.UINT8)]
    return models.model(nodes, [("x", TensorProto.FLOAT, [1, 4, 8, 8])], outputs, weights, opset=21)


class Shifted(reference.REFERENCES["reference"]):
    """A reference that is off by one quantised number."""

    def run(self, names, inputs):
        return [value + np.uint8(1) if value.dtype == np.uint8 else value for value in super().run(names, inputs)]


def test_quantised_numbers_may_be_levels_apart_but_not_in_strict_mode(monkeypatch):
    monkeypatch.setitem(reference.REFERENCES, "reference", Shifted)
    assert verify(quantised_model(), against="reference", bisect=False)["ok"]
    report = verify(quantised_model(), against="reference", fp="strict", bisect=False)
    assert not report["ok"] and not report["outputs"][1]["ok"] and report["outputs"][0]["ok"]


def test_strict_quantised_layers_are_exact():
    report = verify(quantised_model(), against="reference", fp="strict", layers=True)
    assert report["ok"]
    layers = {layer["node"]: layer for layer in report["layers"]}
    for name in ("first", "second"):
        assert layers[name]["dtype"] == "uint8" and layers[name]["bound"] == 0 and layers[name]["units"] == 0
    assert layers["sigmoid"]["ok"] and layers["conv"]["bound"] > 2**-23


def test_bounds_follow_types_and_depth():
    def bounds(proto, strict=False):
        return Bounds(proto, declared_types(proto), strict)

    loose, strict = bounds(quantised_model()), bounds(quantised_model(), True)
    assert loose.of("xq") == pytest.approx(4 / 255) and strict.of("xq") == 0
    assert loose.levels("xq") >= 1 and loose.levels("cq") > loose.levels("xq") and strict.levels("cq") == 0
    assert loose.of("cd") > loose.of("c") > loose.of("xd") > 0 and strict.of("cd") < 1e-4

    def product(depth, dtype):
        declared = [("x", dtype, [3, depth]), ("w", dtype, [depth, 5])]
        return bounds(models.model([node("MatMul", "x w", "y")], declared, [("y", dtype, [3, 5])])).of("y")

    assert product(64, TensorProto.FLOAT) == pytest.approx(4 * 8 * 2**-23)
    assert product(256, TensorProto.FLOAT) == pytest.approx(2 * product(64, TensorProto.FLOAT))
    assert product(64, TensorProto.FLOAT16) == pytest.approx(2**13 * product(64, TensorProto.FLOAT))


def test_layers_name_what_differs(monkeypatch):
    """The reference's convolution is off by far, and what is behind it."""

    class Wrong(reference.REFERENCES["reference"]):
        def run(self, names, inputs):
            return [value * 1.1 if name == "c" else value for name, value in zip(names, super().run(names, inputs))]

    monkeypatch.setitem(reference.REFERENCES, "reference", Wrong)
    first = verify(quantised_model(), against="reference", fp="strict", layers=True)["layers"][0]
    assert first["node"] == "conv" and not first["ok"] and first["units"] > 100


def test_a_difference_where_nothing_is_tolerated():
    """It is no multiple of anything, and JSON has no infinity."""
    compared = compare("y", np.array([1, 2]), np.array([1, 3]), 1e-3, 1e-4)
    assert compared.units is None and not compared.ok
    assert compare("y", np.array([1, 2]), np.array([1, 3]), 0, 0, levels=2).units == 0.5
    assert compare("y", f32(1, 1.5), f32(1, 1), 0.25, 0).units == pytest.approx(2)
