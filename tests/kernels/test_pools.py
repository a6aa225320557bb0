"""Pooling windows on random sizes, also those that lie in the padding, with sizes known and not known before it runs."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close


def random_pool(random):
    """An operator's attributes and an input's shape for which ONNX Runtime and ONNX agree about what the result's size is."""
    op = str(random.choice(["AveragePool", "MaxPool", "LpPool"]))
    spatial = int(random.integers(1, 4))
    kernel = random.integers(1, 5, spatial)
    dilations = random.integers(1, 4, spatial) if op != "LpPool" else np.ones(spatial, int)
    pads = [int(random.integers(0, k)) for k in (*kernel, *kernel)]
    attributes = {"kernel_shape": kernel.tolist(), "strides": random.integers(1, 5, spatial).tolist(), "pads": pads,
                  "dilations": dilations.tolist(), "ceil_mode": int(random.integers(2))}  # fmt: skip
    if op == "AveragePool":
        attributes["count_include_pad"] = int(random.integers(2))
    reach = (kernel - 1) * dilations + 1 - np.array(pads[:spatial]) - np.array(pads[spatial:])
    shape = [2, int(random.choice([1, 3, 4])), *(max(1, least) + int(random.integers(0, 6)) for least in reach.tolist())]
    return op, attributes, shape


def run_both(op, attributes, x, shape):
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("x", TensorProto.FLOAT, shape)], [info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    return fathom.Session(fathom.compile(model), threads=2).run(None, {"x": x})[0], expected[0]


def test_random_pools(random):
    for _ in range(40):
        op, attributes, shape = random_pool(random)
        x = random.standard_normal(shape, np.float32)
        for given in (shape, [f"d{i}" for i in range(len(shape))]):
            got, want = run_both(op, attributes, x, given)
            assert got.shape == want.shape, (op, attributes, given)
            # The largest of no elements, where a window lies in the padding, is ONNX Runtime's lowest number.
            want[want == np.finfo(np.float32).min] = -np.inf
            assert_close(got, want, "sum", str((op, attributes, given)))


@pytest.mark.parametrize("include", [0, 1])
def test_average_of_padding_is_zero(include, random):
    """One window: its two taps lie before and after the one element there is."""
    attributes = {"kernel_shape": [2], "dilations": [2], "pads": [1, 1], "count_include_pad": include}
    x = random.standard_normal((1, 2, 1), np.float32)
    for shape in ((1, 2, 1), (1, 2, "n")):
        got, want = run_both("AveragePool", attributes, x, shape)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, 0)
        np.testing.assert_array_equal(want, 0)


def test_what_is_computed_from_indices(random):
    """The kernel gives no indices by themselves, only what follows from them."""
    nodes = [helper.make_node("MaxPool", ["x"], ["", "i"], kernel_shape=[2, 2], strides=[2, 1]), helper.make_node("Neg", ["i"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [2, 3, 6, 5])], [info("y", TensorProto.INT64, None)])
    x = random.standard_normal((2, 3, 6, 5), np.float32)
    [got] = fathom.Session(fathom.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10))).run(None, {"x": x})
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2].reshape(2, 3, 3, 4, 4)
    row, column = np.divmod(windows.argmax(-1), 2)
    rows, columns = row + 2 * np.arange(3)[:, None], column + np.arange(4)
    plane = np.arange(6).reshape(2, 3, 1, 1) * 30
    np.testing.assert_array_equal(got, -(plane + rows * 5 + columns))
