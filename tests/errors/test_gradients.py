"""Requests for gradients that make no sense, or cannot be met: each is refused with a reason."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom


@pytest.fixture(name="model")
def one_layer():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("ReduceSum", ["y"], ["total"], keepdims=0),
             helper.make_node("ArgMax", ["y"], ["best"])]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("y", TensorProto.FLOAT), ("total", TensorProto.FLOAT), ("best", TensorProto.INT64))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]), helper.make_tensor_value_info("k", TensorProto.INT64, [5])],
                              outputs, [numpy_helper.from_array(np.ones((3, 4), np.float32), "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize("options, code, message", [
    ({"loss": "z"}, "F1012", "the model has no output 'z'"),
    ({"loss": "sum:"}, "F2001", "the output's name is missing"),
    ({"loss": "mse:y"}, "F2001", "OUTPUT:INPUT"),
    ({"loss": "y"}, "F1008", "the loss 'y' is not one number"),
    ({"loss": "best"}, "F1007", "output 'best' has no floating-point numbers"),
    ({"loss": "mse:y:k"}, "F1008", "input 'k' is int64[5] and cannot be compared with output 'y', which needs float32[2, 4]"),
    ({"loss": "cross-entropy:total:labels"}, "F1008", "output 'total' has no axis 1 of classes"),
    ({"loss": "total", "wrt": "x,v"}, "F1012", "the model has no input or weight 'v'"),
    ({"loss": "total", "wrt": "k"}, "F1007", "'k' has no floating-point numbers"),
    ({"wrt": "x"}, "F2001", "option --wrt needs --loss"),
    ({"train": "sgd:lr=1"}, "F2001", "option --train needs --loss"),
    ({"memory_budget": 1}, "F2001", "option --memory-budget needs --loss"),
    ({"loss": "total", "train": "sgd:lr=1", "curvature": True}, "F2001", "do not go together"),
    ({"loss": "total", "train": "lion:lr=1"}, "F2001", "there is no optimizer 'lion'"),
    ({"loss": "total", "train": "sgd"}, "F2001", "lr=RATE or lr=input is missing"),
    ({"loss": "total", "train": "sgd:lr=-1"}, "F2001", "'lr=-1' is nothing that sgd takes"),
    ({"loss": "total", "train": "sgd:lr=1,momentum=1"}, "F2001", "'momentum=1' is nothing that sgd takes"),
    ({"loss": "total", "train": "adam:lr=1,momentum=0.5"}, "F2001", "'momentum=0.5' is nothing that adam takes"),
    ({"loss": "total", "train": "sgd:lr=1,nesterov"}, "F2001", "nesterov needs momentum="),
], ids=str)
def test_requests_that_make_no_sense(model, options, code, message):
    with pytest.raises(fathom.Error) as error:
        fathom.compile(model, **options)
    assert error.value.code == code and message in str(error.value)


def flat():
    nodes = [helper.make_node("Floor", ["x"], ["f"]), helper.make_node("ReduceSum", ["f"], ["s"], keepdims=0), helper.make_node("Mul", ["s", "z"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("z", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def test_a_loss_that_does_not_change():
    with pytest.warns(UserWarning, match="the loss does not change with 'x'"):
        session = fathom.Session(fathom.compile(flat(), loss="y", wrt="x"))
    np.testing.assert_array_equal(session.run(None, {"x": np.ones(3, np.float32), "z": np.float32(2).reshape(())})[1], np.zeros(3))
