"""The tool, and small models to break."""

import os
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
TOOL = os.environ.get("FATHOM_BIN", str(ROOT / "build" / "bin" / "fathom"))


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def expect(self, exit_code, *texts):
        """The exit code and pieces of what is on stderr. Every failure names its code in the same form."""
        assert self.code == exit_code, f"exit code {self.code}, stderr:\n{self.err}"
        for text in texts:
            assert text in self.err, f"'{text}' is not in:\n{self.err}"
        if exit_code:
            assert "error: [F" in self.err
        return self


def make_model(nodes, inputs, outputs, initializers=(), opset=21):
    graph = helper.make_graph(nodes, "test", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def relu_model():
    return make_model([helper.make_node("Relu", ["x"], ["y"], name="relu")], [value("x", [2, 3])], [value("y", [2, 3])])


def add_model():
    """A model with a weight, for what concerns weights."""
    weight = numpy_helper.from_array(np.arange(1024, dtype=np.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], name="add")]
    return make_model(nodes, [value("x", [2, 1024])], [value("y", [2, 1024])], [weight])
