"""Session against ONNX Runtime: values, shapes, types, memory and threads."""

import ctypes
import pickle
import struct
import threading
import time

import fathom
import numpy as np
import pytest
from support.compare import assert_close, reference
from support.models import make_model, value
from support.networks import perceptron
from onnx import TensorProto, helper, numpy_helper


def check(model, inputs, **options):
    results = fathom.Session(fathom.compile(model, **options)).run(None, inputs)
    for got, want in zip(results, reference(model)(inputs), strict=True):
        assert got.dtype == want.dtype
        assert_close(got, want, "network")
    return results


def randn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("seed", range(8))
def test_random_elementwise_chains(seed):
    """Random chains of operators over one another's results."""
    random = np.random.default_rng(seed)
    shape = [int(n) for n in random.integers(1, 9, random.integers(1, 5))]
    nodes, names = [], ["x", "z"]
    for i in range(8):
        op = str(random.choice(["Add", "Sub", "Mul", "Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Max"]))
        operands = [str(random.choice(names)) for _ in range(2 if op in ("Add", "Sub", "Mul", "Max") else 1)]
        nodes.append(helper.make_node(op, operands, [f"v{i}"], name=f"node{i}"))
        names.append(f"v{i}")
    outputs = [value("v7", shape), value("v3", shape)]
    model = make_model(nodes, [value("x", shape), value("z", shape)], outputs)
    check(model, {"x": randn(*shape, seed=seed), "z": randn(*shape, seed=seed + 100)})


def test_shapes_that_were_there_before():
    """What a run need not check again is no less right, and what it must is checked."""
    nodes = [helper.make_node("Mul", ["x", "z"], ["y"]), helper.make_node("Neg", ["y"], ["m"])]
    model = make_model(nodes, [value("x", ["n", 3]), value("z", [3])], [value("y", ["n", 3]), value("m", ["n", 3])])
    session = fathom.Session(fathom.compile(model))
    z, results = randn(3), []
    for i, n in enumerate((2, 2, 5, 2, 5)):
        x = randn(n, 3, seed=i)
        results.append((x * z, *session.run(None, {"x": x, "z": z})))
    for want, y, m in results:  # each run has its own arrays
        np.testing.assert_allclose(y, want, rtol=1e-6)
        np.testing.assert_array_equal(m, -y)
    x = randn(2, 3)
    [m, y] = session.run(["m", "y"], {"z": z, "x": x})
    np.testing.assert_array_equal(m, -y)
    strided = randn(2, 6)[:, ::2]
    np.testing.assert_allclose(session.run(["y"], {"x": strided, "z": z})[0], strided * z, rtol=1e-6)
    np.testing.assert_allclose(session.run(["y"], {"x": np.asfortranarray(x), "z": z})[0], x * z, rtol=1e-6)
    for wrong, message in (
        ({"x": x.astype(np.float64), "z": z}, "is float32, the array is float64"),
        ({"x": x, "z": randn(4)}, "has shape"),
        ({"x": x}, "'z' is missing"),
        ({"x": x, "q": z}, "no input 'q'"),
    ):
        with pytest.raises(fathom.Error, match=message):
            session.run(None, wrong)
    with pytest.raises(fathom.Error, match="no output 'q'"):
        session.run(["q"], {"x": x, "z": z})


@pytest.mark.parametrize("groups", [1, 2, 8])
def test_convolution(groups):
    weight = numpy_helper.from_array(randn(16, 8 // groups, 3, 3), "w")
    bias = numpy_helper.from_array(randn(16), "b")
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], group=groups, pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    check(
        make_model(nodes, [value("x", [2, 8, 13, 13])], [value("y", [2, 16, 7, 7])], [weight, bias]),
        {"x": randn(2, 8, 13, 13)},
    )


def test_dynamic_batch(model):
    session = fathom.Session(fathom.compile(model))
    for batch in (1, 2, 3, 5, 16, 1):
        inputs = {"x": randn(batch, 16, seed=batch)}
        for got, want in zip(session.run(None, inputs), reference(model)(inputs), strict=True):
            assert_close(got, want, "network")


def test_fixed_dimension(model):
    session = fathom.Session(fathom.compile(model, dim={"batch": 4}))
    assert session.inputs[0].shape == (4, 16) and session.symbols == []
    session.run(None, {"x": randn(4, 16)})
    with pytest.raises(fathom.Error) as caught:
        session.run(None, {"x": randn(5, 16)})
    assert caught.value.code == "F1012"


def test_nodes_of_a_run_that_is_refused():
    """Those of the kernel; told once, also after a trip through a pickle."""
    nodes = [helper.make_node("Gather", ["x", "i"], ["g"], name="look"), helper.make_node("Relu", ["g"], ["y"], name="clamp")]
    proto = make_model(nodes, [value("x", [3, 2]), value("i", [4], TensorProto.INT64)], [value("y", None)])
    with pytest.raises(fathom.Error) as caught:
        fathom.Session(fathom.compile(proto)).run(None, {"x": randn(3, 2), "i": np.array([0, 1, 2, 3])})
    assert caught.value.node == "look,clamp"
    assert str(caught.value).count("look,clamp") == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.node) == (str(caught.value), caught.value.node)


def test_dimension_range(model):
    session = fathom.Session(fathom.compile(model, dim={"batch": (2, 4)}))
    assert session.symbols == [("batch", 2, 4)]
    session.run(None, {"x": randn(3, 16)})
    for batch in (1, 5):
        with pytest.raises(fathom.Error):
            session.run(None, {"x": randn(batch, 16)})


def test_description(model):
    session = fathom.Session(fathom.compile(model))
    assert [(info.name, info.dtype, info.shape) for info in session.inputs] == [("x", np.float32, ("batch", 16))]
    assert [(info.name, info.shape) for info in session.outputs] == [("y", ("batch", 8)), ("r", ("batch", 24))]
    assert session.symbols[0][0] == "batch"
    assert session.manifest["fathom"] == fathom.__version__
    assert "x: float32[batch,16]" in repr(session)


def test_names_of_outputs(model):
    session = fathom.Session(fathom.compile(model))
    inputs = {"x": randn(2, 16)}
    both = session.run(None, inputs)
    (second,) = session.run(["r"], inputs)
    np.testing.assert_array_equal(second, both[1])
    with pytest.raises(fathom.Error, match="no output 'q'"):
        session.run(["q"], inputs)


def test_results_are_the_callers(model):
    """A later run does not change what an earlier one returned."""
    session = fathom.Session(fathom.compile(model))
    first = session.run(None, {"x": randn(2, 16, seed=1)})
    copy = [array.copy() for array in first]
    session.run(None, {"x": randn(2, 16, seed=2)})
    for array, saved in zip(first, copy, strict=True):
        np.testing.assert_array_equal(array, saved)
        assert array.flags.writeable


def test_contiguous_inputs_are_not_copied(model):
    session = fathom.Session(fathom.compile(model))
    array = randn(2, 16)
    assert session._arrange({"x": array})[0] is array
    array.flags.writeable = False
    assert session._arrange({"x": array})[0] is array
    session.run(None, {"x": array})


def test_strided_inputs(model):
    session = fathom.Session(fathom.compile(model))
    array = randn(16, 4)
    np.testing.assert_array_equal(
        session.run(None, {"x": array.T})[0], session.run(None, {"x": np.ascontiguousarray(array.T)})[0]
    )
    wide = randn(4, 32)[:, ::2]
    np.testing.assert_array_equal(session.run(None, {"x": wide})[0], session.run(None, {"x": wide.copy()})[0])


@pytest.mark.parametrize(
    "dtype, onnx_dtype",
    [
        (np.float64, TensorProto.DOUBLE),
        (np.int64, TensorProto.INT64),
        (np.int32, TensorProto.INT32),
        (np.int8, TensorProto.INT8),
        (np.uint8, TensorProto.UINT8),
    ],
)
def test_types(dtype, onnx_dtype):
    model = make_model(
        [helper.make_node("Add", ["x", "z"], ["y"])],
        [value("x", [5], onnx_dtype), value("z", [5], onnx_dtype)],
        [value("y", [5], onnx_dtype)],
    )
    inputs = {"x": np.arange(5).astype(dtype), "z": np.arange(5, 10).astype(dtype)}
    (got,) = fathom.Session(fathom.compile(model)).run(None, inputs)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, inputs["x"] + inputs["z"])


def test_scalars():
    model = make_model([helper.make_node("Add", ["x", "x"], ["y"])], [value("x", [])], [value("y", [])])
    (got,) = fathom.Session(fathom.compile(model)).run(None, {"x": np.float32(3)})
    assert got.shape == () and got == 6


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_results(threads):
    model = perceptron(batch=256, width=256)
    artifact = fathom.compile(model)
    inputs = {"x": randn(256, 16)}
    session = fathom.Session(artifact, threads=threads)
    assert session.threads == threads
    for got, want in zip(session.run(None, inputs), fathom.Session(artifact, threads=1).run(None, inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("names", ["y", "logits", b"y", ""])
def test_a_name_is_no_list_of_names(model, names):
    session = fathom.Session(fathom.compile(model))
    inputs = {"x": randn(2, 16)}
    for _ in range(2):  # also where the sizes were there before
        with pytest.raises(fathom.Error, match="F1012.*expected a list of names(.|\n)*hint: run\\(\\["):
            session.run(names, inputs)
        session.run(None, inputs)


@pytest.mark.parametrize("threads", [-1, 10**6, 2**31, 2**40])
def test_impossible_numbers_of_threads(model, threads):
    with pytest.raises(fathom.Error, match=f"F1012.*threads is {threads}:"):
        fathom.Session(fathom.compile(model), threads=threads)


def test_a_damaged_manifest(model, tmp_path):
    path = tmp_path / "model.fathom"
    fathom.compile(model).save(path)
    data = path.read_bytes()
    assert b'{"arena_bytes"' in data
    path.write_bytes(data.replace(b'{"arena_bytes"', b'["arena_bytes"'))
    with pytest.raises(fathom.Error, match="F1011.*model.fathom.*headers and tables"):
        fathom.Session(path)


def test_flipped_bits(model, tmp_path, random):
    """The system's loader and the runtime believe what they read, so that nothing of it may differ when they do."""
    path = tmp_path / "model.fathom"
    fathom.compile(model).save(path)
    data = path.read_bytes()
    first, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    places = [*range(64)]
    for i in range(count):
        kind, flags, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, first + 56 * i)
        if kind == 2 or kind == 1 and flags & 2:  # the dynamic section, and tables that are relocated
            places += range(offset, offset + size)
        elif kind == 1 and offset == 0:
            places += random.integers(0, size, 400).tolist()
    for place in random.permutation(places)[:600].tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << random.integers(8)]) + data[place + 1 :])
        with pytest.raises(fathom.Error):
            fathom.Session(path)
    path.write_bytes(data)
    fathom.Session(path)


def test_runs_from_many_threads(model):
    session = fathom.Session(fathom.compile(model), threads=2)
    inputs = [{"x": randn(batch, 16, seed=batch)} for batch in range(1, 9)]
    expected = [session.run(None, each)[0] for each in inputs]
    problems = []

    def work(index):
        for _ in range(50):
            if not np.array_equal(session.run(None, inputs[index])[0], expected[index]):
                problems.append(index)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert problems == []


def test_gil_is_released():
    """Another thread goes on while a model runs."""
    shape = [1024, 1024]
    nodes = [helper.make_node("MatMul", ["x", "x" if i == 0 else f"v{i - 1}"], [f"v{i}"]) for i in range(8)]
    session = fathom.Session(fathom.compile(make_model(nodes, [value("x", shape)], [value("v7", shape)])), threads=1)
    array = randn(*shape) / 32
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    session.run(None, {"x": array})
    end = time.perf_counter()
    done.set()
    ticker.join()
    # Were the GIL held, no tick would fall into the run.
    assert sum(start < at < end for at in ticks) > 2


def test_dlpack(model):
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = fathom.Session(fathom.compile(model))
    array = randn(2, 16)
    np.testing.assert_array_equal(session.run(None, {"x": Foreign(array)})[0], session.run(None, {"x": array})[0])


def test_session_outlives_the_artifact(model):
    import gc

    artifact, x = fathom.compile(model), randn(2, 16)
    want = fathom.Session(artifact).run(None, {"x": x})[0]
    session = fathom.Session(fathom.compile(model))
    del artifact
    gc.collect()
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], want)


def test_random_inputs_are_those_of_the_tool(model, tmp_path):
    import os
    import subprocess

    from support.tool import ROOT
    from fathom.inputs import random_inputs

    path = fathom.compile(model, tmp_path / "m.fathom")
    session = fathom.Session(path)
    tool = os.environ.get("FATHOM_BIN", str(ROOT / "build" / "bin" / "fathom"))
    subprocess.run(
        [tool, "run", path, "--seed", "7", "--dim", "batch=3", "--output-dir", tmp_path / "out"],
        check=True,
        capture_output=True,
    )
    expected = session.run(None, random_inputs(session, 7, {"batch": 3}))
    for info, array in zip(session.outputs, expected, strict=True):
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{info.name}.npy"), array)


def test_an_output_that_does_not_fit_into_memory_is_an_error():
    session = fathom.Session(fathom.compile(make_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["n"])], [value("y", ["n"])], [])))
    # More than any address space has: what a machine would lend is its own affair.
    with pytest.raises(fathom.Error, match=r"\[F5001\] output 'y' of sizes \[70368744177664\] does not fit into memory"):
        fathom.session._room([1 << 46], session._results[0])


class Elsewhere:
    """An array that says that it lies in a GPU's memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        capsule = self.array.__dlpack__()
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(address(capsule, b"dltensor") + 8).value = 2  # behind the data's address
        return capsule

    def __dlpack_device__(self):
        return (2, 0)


def test_arrays_to_run_into(model):
    session = fathom.Session(fathom.compile(model))
    x, y, r = randn(3, 16), np.empty((3, 8), np.float32), np.empty((3, 24), np.float32)
    session.run_into({"x": x}, {"y": y, "r": r})
    for got, want in zip((y, r), session.run(None, {"x": x})):
        np.testing.assert_array_equal(got, want)
    fixed = np.empty_like(y)
    fixed.flags.writeable = False
    for wrong in (
        {"x": x.view(np.int32)},  # of the same size
        {"x": np.asfortranarray(x)},
        {"x": Elsewhere(x)},
        {"y": np.empty((3, 16), np.float32)[:, ::2]},
        {"y": np.empty((8, 3), np.float32).T},
        {"y": y.view(np.uint32)},
        {"y": Elsewhere(y)},
        {"y": fixed},
    ):
        given = {"x": x, "y": y, "r": r, **wrong}
        with pytest.raises(fathom.Error, match="F1012.*not contiguous"):
            session.run_into({"x": given["x"]}, {"y": given["y"], "r": given["r"]})
