"""Where ONNX Runtime is not what ONNX's text says; its results are no reference there."""
import numpy as np

from values import UNSIGNED


def runtime_is_wrong(node, values):
    """Whether ONNX's reference evaluator is to be asked at once."""
    operands = [values[name] for name in node.input if name]
    # Of no elements its reductions have other shapes than others.
    if node.op_type.startswith("Reduce"):
        return not operands[0].size
    # One element is its own mean; the difference is 0, not a rounding of it divided by a small number.
    if node.op_type == "InstanceNormalization":
        return operands[0].size == operands[0].shape[0] * operands[0].shape[1]
    # A product of no terms is 0, and C is scaled as beside any other. Of a matrix and a vector it writes the first number only.
    if node.op_type in ("Gemm", "MatMul"):
        return 0 in operands[0].shape
    # It casts -lambd to the numbers' type.
    return node.op_type == "Shrink" and operands[0].dtype in UNSIGNED


def lrn(node, values):
    """ONNX Runtime moves its sum of squares along the channels, so that a large one leaves its roundings; the evaluator leaves the last channel out."""
    attributes = {attribute.name: attribute.i or attribute.f for attribute in node.attribute}
    size, x = attributes["size"], values[node.input[0]]
    squares = np.pad(x.astype(np.float64) ** 2, [(0, 0), ((size - 1) // 2, size // 2)] + [(0, 0)] * (x.ndim - 2))
    sums = sum(squares[:, start : start + x.shape[1]] for start in range(size))
    scaled = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return [np.asarray(x / scaled ** attributes.get("beta", 0.75), x.dtype)]


# What neither of the references has right.
BY_NUMPY = {"LRN": lrn}
