"""Elements that change their order, transposed in squares: exact copies, and what is computed on the way."""
import re

import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close, compare
from support.models import model_of
from support.plans import round_trip

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65, 100, 131]
TYPES = {
    np.float32: TensorProto.FLOAT,
    np.float64: TensorProto.DOUBLE,
    np.float16: TensorProto.FLOAT16,
    np.int64: TensorProto.INT64,
    np.int32: TensorProto.INT32,
    np.int16: TensorProto.INT16,
    np.int8: TensorProto.INT8,
    np.uint8: TensorProto.UINT8,
    np.bool_: TensorProto.BOOL,
}


def transposition(perm, dims, dtype=np.float32):
    """A model that is one Transpose."""
    info = [helper.make_tensor_value_info(name, TYPES[dtype], shape) for name, shape in (("x", dims), ("y", None))]
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"], perm=perm)], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def array(random, shape, dtype=np.float32):
    return random.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)


def assert_transposes(artifact, x, perm):
    one, two = (fathom.Session(artifact, threads=threads).run(None, {"x": x})[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, x.transpose(perm))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("perm", [(1, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0), (0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2)])
def test_any_size(perm, random):
    for _ in range(5):
        shape = tuple(int(random.choice(SIZES if len(perm) < 4 else SIZES[:10])) for _ in perm)
        assert_transposes(fathom.compile(transposition(perm, shape)), array(random, shape), perm)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_any_type(dtype, random):
    for shape in ((2, 19, 37), (1, 4, 8), (1, 3, 50)):
        assert_transposes(fathom.compile(transposition((0, 2, 1), shape, dtype)), array(random, shape, dtype), (0, 2, 1))


@pytest.mark.parametrize("perm", [(0, 2, 1), (0, 2, 3, 1), (0, 3, 1, 2)])
def test_sizes_known_when_it_runs(perm, random):
    artifact = fathom.compile(transposition(perm, [f"d{i}" for i in range(len(perm))]))
    for sizes in ([1] * len(perm), [3] * len(perm), *(random.choice(SIZES[:12], len(perm)) for _ in range(6))):
        assert_transposes(artifact, array(random, tuple(int(size) for size in sizes)), perm)


def images(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 24, 10, 10), (1, 5, 7, 9), (3, 17, 1, 33), (1, 64, 4, 4)])
def test_what_is_computed_on_the_way(shape, random):
    """Operands in both orders, spread ones, and two results."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Add", ["t", "z"], ["sum"]),
        helper.make_node("Mul", ["sum", "scale"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["y"]),
    ]
    n, c, h, w = shape
    inputs = {"x": images(random, n, h, w, c), "z": images(random, *shape), "scale": images(random, c, 1, 1)}
    compare(nodes, inputs, {}, ("a", "y"))


@pytest.mark.parametrize("pads", [0, 1])
def test_both_borders_of_a_convolution(pads, random):
    for c, k, h, w in ((24, 20, 12, 12), (5, 9, 7, 13), (33, 4, 5, 5)):
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[pads] * 4)]
        compare(nodes, {"x": images(random, 2, c, h, w)}, {"w": images(random, k, c, 3, 3)})


@pytest.mark.parametrize("rows,columns", [(64, 65536), (32, 12544), (1024, 49), (2048, 2048)])
def test_runs_leave_room_for_streams(rows, columns):
    """Lines that wait for the squares that complete them have a quarter of the first-level cache, or as much of its sets as they can reach."""
    plan = fathom.compile(transposition((0, 2, 1), (1, rows, columns)), emit="plan", target="neoverse-n1")
    assert int(re.search(r"run: +(\d+)", plan)[1]) <= 256


@pytest.mark.parametrize("tile,run,inner,grain", [(2, 2, 0, 1), (4, 4, 1, 3), (4, 64, 0, 1), (8, 8, 0, 2), (16, 48, 1, 1), (8, 1000, 1, 1000)])
def test_any_schedule(tile, run, inner, grain, tmp_path, random):
    perm = (0, 2, 3, 1)
    for shape in ((2, 37, 9, 11), (1, 5, 3, 7)):
        model = transposition(perm, shape)
        plan, _ = round_trip(model, tmp_path)
        text = plan.read_text()
        for knob, value in (("tile", tile), ("run", run), ("along_inner", inner), ("grain", grain)):
            text, count = re.subn(rf"{knob}: +\d+", f"{knob}: {value}", text)
            assert count == 1
        plan.write_text(text)
        assert_transposes(fathom.compile(model, plan=str(plan)), array(random, shape), perm)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("knob,value,reason", [("tile", 6, "power of two"), ("tile", 64, "at least tile"), ("run", 1, "outside")])
def test_an_illegal_schedule_is_refused(knob, value, reason, tmp_path):
    model = transposition((1, 0), (40, 50))
    plan, _ = round_trip(model, tmp_path)
    plan.write_text(re.sub(rf"{knob}: +\d+", f"{knob}: {value}", re.sub(r"run: +\d+", "run: 32", plan.read_text())))
    with pytest.raises(fathom.Error, match=reason):
        fathom.compile(model, plan=str(plan))


@pytest.mark.usefixtures("both")
def test_what_is_a_reordering(tmp_path):
    """Both borders of a convolution are; three channels of an image, which are stored interleaved, and a mere copy are not."""

    def classes(model):
        plan, _ = round_trip(model, tmp_path)
        return re.findall(r"class: +(\w+)", plan.read_text())

    conv = [helper.make_node("Conv", ["x", "w"], ["y"])]
    model = model_of(conv, {"x": np.zeros((1, 16, 9, 9), np.float32)}, {"w": np.zeros((8, 16, 3, 3), np.float32)})
    assert [name for name in classes(model) if name in ("map", "reorder")] == ["reorder", "reorder"]
    assert classes(transposition((0, 2, 1), (1, 3, 50))) == ["map"]
    assert classes(transposition((0, 2, 1, 3), (1, 8, 9, 50))) == ["map"]


def test_a_step_of_training(random, tmp_path):
    """Weights whose gradient lies in another order, by a rate that is a constant of the kernel: dimensions still act as one."""
    shape = (32, 24, 3, 3)
    g, w = random.standard_normal((24, 3, 3, 32)).astype(np.float32), random.standard_normal(shape).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["g"], ["t"], perm=[3, 0, 1, 2]),
        helper.make_node("Mul", ["t", "rate"], ["s"]),
        helper.make_node("Sub", ["w", "s"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("g", g.shape), ("w", shape), ("y", None))]
    graph = helper.make_graph(nodes, "g", infos[:2], infos[2:], [helper.make_tensor("rate", TensorProto.FLOAT, [], [0.25])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for target in ("neoverse-n1", "x86-64-v3"):
        plan = fathom.compile(model, target=target, emit="plan")
        assert re.findall(r"class: +(\w+)", plan) == ["reorder"]
    [y] = fathom.Session(fathom.compile(model)).run(None, {"g": g, "w": w})
    assert_close(y, w - np.float32(0.25) * g.transpose(3, 0, 1, 2), "arithmetic")
