"""Scatters and running sums along every axis: vectors, their rests, rows that tasks divide, repeated and missing indices."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom

TYPES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16, np.int64: TensorProto.INT64, np.int8: TensorProto.INT8, np.bool_: TensorProto.BOOL}
SHAPES = [(7, 19, 33), (1, 37, 1), (5, 0, 3), (2, 3, 64), (40,)]


def values(random, dtype, shape):
    numbers = random.integers(0, 2, shape) if dtype is np.bool_ else random.integers(-9, 10, shape)
    return numbers.astype(dtype)  # sums of them are exact in every order


def run(op, inputs, symbolic, **attributes):
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype.type], [None] * array.ndim if symbolic and name != "axis" else array.shape) for name, array in inputs.items()]
    if op == "ScatterND":
        infos[1].type.tensor_type.shape.dim[-1].dim_value = inputs["i"].shape[-1]
    if symbolic:  # sizes that the op takes to be the same have one name
        for info in infos:
            for d, dim in enumerate(info.type.tensor_type.shape.dim):
                if info.name == "x":
                    dim.dim_param = f"x{d}"
    result = helper.make_tensor_value_info("y", infos[0].type.tensor_type.elem_type, None)
    node = helper.make_node(op, list(inputs), ["y"], **attributes)
    model = helper.make_model(helper.make_graph([node], "g", infos, [result]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    artifact = fathom.compile(model, dim={f"x{d}": (0, 1000) for d in range(inputs["x"].ndim)} if symbolic and op == "CumSum" else {})
    one, two = (fathom.Session(artifact, threads=threads).run(None, inputs)[0] for threads in (1, 2))
    assert one.tobytes() == two.tobytes()
    return one


def reduced(old, new, reduction):
    if reduction == "add" and old.dtype == bool:
        return old | new
    return {"none": new, "add": old + new, "mul": old * new, "max": max(old, new), "min": min(old, new)}[reduction]


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("dtype, reduction", [(np.float32, "none"), (np.float32, "max"), (np.float16, "add"), (np.int8, "none"), (np.int64, "add"), (np.bool_, "none")], ids=str)
def test_scatter_nd(dtype, reduction, symbolic, random):
    for shape, depth in [((7, 19, 33), 1), ((7, 19, 33), 3), ((2, 3, 64), 2), ((40,), 1)]:
        x = values(random, dtype, shape)
        indices = np.stack([random.integers(-size, size, (4, 3)) for size in shape[:depth]], -1)
        updates = values(random, dtype, (4, 3, *shape[depth:]))
        want = x.copy()
        for at in np.ndindex(4, 3):
            place = tuple(indices[at])
            old, new = want[place], updates[at]
            want[place] = reduced(old, new, reduction) if old.ndim == 0 else {"none": lambda: new, "add": lambda: old + new, "max": lambda: np.maximum(old, new)}[reduction]()
        got = run("ScatterND", {"x": x, "i": indices, "u": updates}, symbolic, reduction=reduction)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype, reduction", [(np.float32, "none"), (np.float32, "mul"), (np.float16, "min"), (np.int64, "add"), (np.bool_, "none")], ids=str)
def test_scatter_elements(dtype, reduction, random):
    for shape, axis in [((7, 19, 33), 0), ((7, 19, 33), 1), ((7, 19, 33), 2), ((1, 37, 1), 1), ((40,), 0), ((5, 23, 3, 31), 1)]:
        x = values(random, dtype, shape)
        smaller = tuple(max(1, size - int(random.integers(0, 3))) for size in shape)
        indices = random.integers(-shape[axis], shape[axis], smaller)
        updates = values(random, dtype, smaller)
        want = x.copy()
        for at in np.ndindex(smaller):
            place = (*at[:axis], indices[at], *at[axis + 1 :])
            want[place] = reduced(want[place], updates[at], reduction)
        got = run("ScatterElements", {"x": x, "i": indices, "u": updates}, False, axis=axis, reduction=reduction)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
def test_scatter_elements_of_many_rows(symbolic, random):
    """Tasks cut rows that lie side by side, and begin and end within them; some of the data have no updates."""
    for shape, given, axis in [((29, 37, 50, 7), (23, 37, 50, 7), 0), ((3, 29, 37, 50), (3, 31, 37, 50), 1), ((3, 29, 37, 50), (2, 31, 36, 49), 1), ((0, 5, 6), (0, 5, 6), 1)]:
        if symbolic and 0 in shape:
            continue  # sizes without a range are 1 or more
        x, updates = values(random, np.float32, shape), values(random, np.float32, given)
        indices = random.integers(-shape[axis], shape[axis], given)
        want = x.copy()
        part = want[tuple(slice(None) if d == axis else slice(size) for d, size in enumerate(given))]
        for i in range(given[axis]):  # in their order: the last of equal indices counts
            np.put_along_axis(part, np.take(indices, [i], axis), np.take(updates, [i], axis), axis)
        got = run("ScatterElements", {"x": x, "i": indices, "u": updates}, symbolic, axis=axis)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_running_sums(dtype, symbolic, random):
    """The axis comes with the data: code for every axis is there."""
    for shape in SHAPES:
        x = values(random, dtype, shape)
        for axis in range(len(shape)):
            got = run("CumSum", {"x": x, "axis": np.array(axis)}, symbolic)
            np.testing.assert_array_equal(got, np.cumsum(x, axis, dtype=dtype))


@pytest.mark.parametrize("exclusive, reverse", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_running_sums_along_a_known_axis(exclusive, reverse, random):
    x = values(random, np.float32, (7, 19, 33))
    for axis in range(3):
        node = helper.make_node("CumSum", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
        graph = helper.make_graph([node], "g", infos[:1], infos[1:], [helper.make_tensor("a", TensorProto.INT64, [], [axis])])
        artifact = fathom.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
        data = np.flip(x, axis) if reverse else x
        want = np.cumsum(data, axis) - (data if exclusive else 0)
        for threads in (1, 2):
            got = fathom.Session(artifact, threads=threads).run(None, {"x": x})[0]
            np.testing.assert_array_equal(got, np.flip(want, axis) if reverse else want)
