"""Reshapes whose last size is what remains of the input, beside sizes that are only known when the model runs."""
import numpy as np
import onnxruntime
import pytest
from onnx import parser

import fathom

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g'
CONSTANTS = "<int64[1] seven = {7}, int64[1] rest = {-1}, int64[1] four = {4}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}>"
SIZES = "s = Shape(x) h = Gather(s, one) w = Gather(s, two)"
CASES = {
    # Windows of an image, with the number of images left open, as swin transformers and bigbird have it.
    "windows": (f"(float[b, h, w, 4] x) => (float[] y) {CONSTANTS} {{ {SIZES} down = Div(h, seven) across = Div(w, seven) "
                "t = Concat<axis = 0>(rest, down, seven, across, seven, four) y = Reshape(x, t) }",
                [(2, 14, 21, 4), (1, 7, 7, 4), (3, 7, 14, 4)], [(1, 8, 7, 4), (1, 7, 20, 4)]),
    # Of a halved image, whose width is rounded down and has nothing to do with the windows.
    "halved": (f"(float[b, 4, h, w] x) => (float[] y) {CONSTANTS} {{ q = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) "
               "s = Shape(q) h = Gather(s, two) down = Div(h, seven) t = Concat<axis = 0>(rest, down, seven) y = Reshape(q, t) }",
               [(2, 4, 14, 6), (1, 4, 28, 7)], [(1, 4, 18, 7)]),
    # Half of the rows, each of two or of any other number of which the rest is one.
    "halves": (f"(float[b, h, c] x) => (float[] y) {CONSTANTS} {{ s = Shape(x) b = Gather(s, zero) h = Gather(s, one) half = Div(h, two) "
               "t = Concat<axis = 0>(b, half, rest) y = Reshape(x, t) }",
               [(2, 14, 3), (3, 3, 5), (2, 5, 4), (1, 9, 8), (1, 2, 1)], [(2, 5, 3), (1, 7, 4), (1, 1, 3)]),
    # The other size may be 0, so that the rest is no quotient of sizes.
    "less": (f"(float[b, h, 4] x) => (float[] y) {CONSTANTS} {{ s = Shape(x) h = Gather(s, one) less = Sub(h, seven) "
             "t = Concat<axis = 0>(rest, less) y = Reshape(x, t) }",
             [(2, 14, 4), (1, 8, 4), (1, 9, 4)], [(1, 12, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rest(name, random):
    text, good, bad = CASES[name]
    model = parser.parse_model(HEAD + text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    session = fathom.Session(fathom.compile(model))
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in good:
        x = random.standard_normal(shape, np.float32)
        want, got = reference.run(None, {"x": x})[0], session.run(None, {"x": x})[0]
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    for shape in bad:
        with pytest.raises(fathom.Error):
            session.run(None, {"x": np.zeros(shape, np.float32)})
