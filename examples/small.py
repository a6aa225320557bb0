"""Writes small.onnx, the network that docs/dev/architecture.md follows through the compiler."""
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

TEXT = """
<ir_version: 10, opset_import: ["" : 22]>
small (float[1, 3, 32, 32] image) => (float[1, 10] scores) {
  features = Conv<pads = [1, 1, 1, 1]>(image, filters, bias)
  positive = Relu(features)
  pooled = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(positive)
  flat = Flatten(pooled)
  scores = MatMul(flat, weights)
}
"""


def model():
    made = parser.parse_model(TEXT)
    random = np.random.default_rng(1)
    for name, shape in {"filters": (16, 3, 3, 3), "bias": (16,), "weights": (4096, 10)}.items():
        made.graph.initializer.append(numpy_helper.from_array(random.standard_normal(shape, np.float32), name))
    return made


if __name__ == "__main__":
    onnx.save(model(), sys.argv[1] if len(sys.argv) > 1 else "small.onnx")
