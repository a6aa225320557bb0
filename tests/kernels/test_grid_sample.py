"""Cubic GridSample, where it differs from others: volumes, which ONNX Runtime has not, and 16 or 64 pixels a point.
tests/kernels/test_composed.py has all modes of images."""
import re

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import assert_close
from support.models import model


def results(padding, inputs):
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="cubic", padding_mode=padding)
    declared = model(
        [node],
        [(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in inputs.items()],
        [("y", helper.np_dtype_to_tensor_dtype(inputs["x"].dtype))],
        opset=20,
    )
    return fathom.Session(fathom.compile(declared)).run(None, inputs)[0], declared


@pytest.mark.parametrize("types", [("f4", "f4"), ("f8", "f8"), ("f8", "f4"), ("f4", "f8")])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_volumes(padding, types, random):
    # The evaluator moves points to the border first, where ONNX Runtime and Fathom move each pixel around them.
    reach = 0.75 if padding == "border" else 1.4
    inputs = {
        "x": random.standard_normal((2, 3, 4, 5, 6)).astype(types[0]),
        "grid": random.uniform(-reach, reach, (2, 2, 1, 3, 3)).astype(types[1]),
    }
    got, declared = results(padding, inputs)
    want = ReferenceEvaluator(declared).run(None, inputs)[0]
    assert got.dtype == inputs["x"].dtype and np.abs(want).max() > 0.1
    # The evaluator rounds places to 32 bits.
    assert_close(got.astype(np.float32), want, "product", data=1.0)


def test_what_lies_outside_is_not_read(random):
    """Next to the border, whose pixels are infinite, but not in reach: zeros and nothing else."""
    x = np.full((1, 2, 3, 4, 5), np.inf, np.float32)
    grid = np.full((1, 1, 2, 1, 3), -4, np.float32)
    assert np.all(results("zeros", {"x": x, "grid": grid})[0] == 0)
    assert not np.any(np.isfinite(results("border", {"x": x, "grid": grid})[0]))


@pytest.mark.parametrize("rank", [2, 3])
def test_pixels_are_a_loop(rank):
    """16 or 64 of them are no copies of the code of one."""
    spatial, points = ([f"{letter}{d}" for d in range(rank)] for letter in "sp")
    declared = [("x", TensorProto.FLOAT, ["n", "c", *spatial]), ("grid", TensorProto.FLOAT, ["n", *points, rank])]
    lines = {}
    for mode in ("linear", "cubic"):
        node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode="reflection")
        sample = model([node], declared, [("y", TensorProto.FLOAT)], opset=20)
        text = fathom.compile(sample, emit="loops", target="x86-64-v3")
        lines[mode] = sum(len(body.splitlines()) for body in re.findall(r"func\.func @\S+\.task\(.*?\n  }\n", text, re.S))
    assert 0 < lines["cubic"] <= 1.5 * lines["linear"]
