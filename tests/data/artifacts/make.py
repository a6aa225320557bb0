"""Makes the artifacts of this folder: `python tests/data/artifacts/make.py VERSION`, the build's FATHOM_ABI_VERSION, before it is raised.

One for each architecture and version of the format, of a network whose weights follow from formulas, so that the tests can compute its results.
"""
import lzma
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent
# Version 9 is that of artifacts for several CPUs.
TARGETS = {"x86_64": "x86_64:x86-64-v2", "aarch64": "aarch64:cortex-a53"}
SEVERAL = {"x86_64": "x86_64:x86-64-v2,x86_64:x86-64-v3", "aarch64": "aarch64:cortex-a53,aarch64:neoverse-n1"}


def weights():
    return {
        "w": (np.arange(35) % 11 - 5).reshape(5, 7).astype(np.float32) / 8,
        "b": np.linspace(-1, 1, 7, dtype=np.float32),
        "zero": np.zeros([], np.float32),
    }


def expected(x):
    """Of the network, in 64-bit floats: y, and the places where it is positive."""
    given = {name: value.astype(np.float64) for name, value in weights().items()}
    y = x.astype(np.float64) @ given["w"] + given["b"]
    return y, np.maximum(y, 0).sum(axis=1)


def network():
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("Add", ["xw", "b"], ["y"]),
        helper.make_node("Relu", ["y"], ["r"]),
        helper.make_node("ReduceSum", ["r", "axis"], ["s"], keepdims=0),
        helper.make_node("Greater", ["y", "zero"], ["p"]),
        helper.make_node("NonZero", ["p"], ["at"]),
    ]
    declared = helper.make_tensor_value_info
    inputs = [declared("x", TensorProto.FLOAT, ["rows", 5])]
    outputs = [declared("y", TensorProto.FLOAT, None), declared("s", TensorProto.FLOAT, None), declared("at", TensorProto.INT64, None)]
    constants = weights() | {"axis": np.array([1], np.int64)}
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "kept", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    import fathom

    version = sys.argv[1]
    for architecture, target in (TARGETS if int(version) < 9 else SEVERAL).items():
        artifact = fathom.compile(network(), target=target, dim={"rows": (0, 1000)}, db="none")
        path = FOLDER / f"v{version}.{architecture}.fathom.xz"
        # Segments lie at multiples of large pages, with zeros between them.
        path.write_bytes(lzma.compress(pathlib.Path(artifact.path).read_bytes()))
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
