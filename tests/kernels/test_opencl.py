"""Maps printed as OpenCL C, built and run by PoCL, against numpy. The code of elements is the one that CPUs get: what is tested is the printer and
the seam between them (docs/dev/adding-a-backend.md)."""
import math

import numpy as np
import pytest
from onnx import TensorProto, helper
from opencl import Device
from simt import KERNEL, TYPES, assert_close, check, compile, compute, node, random, save, source_of


@pytest.fixture(scope="module")
def device():
    return Device()


def test_broadcasts(device, tmp_path):
    nodes = [node("Add", ["a", "b"], "s"), node("Mul", ["s", "c"], "y")]
    check(device, tmp_path, nodes, {"a": ("f", [3, 1, 7]), "b": ("f", [5, 1]), "c": ("f", [7])}, {"y": "f"},
          lambda a, b, c: (a.astype("d") + b) * c)


def test_reads_a_transposed_view(device, tmp_path):
    nodes = [node("Transpose", ["x"], "t", perm=[3, 1, 0, 2]), node("Sub", ["t", "z"], "y")]
    check(device, tmp_path, nodes, {"x": ("f", [5, 1, 3, 7]), "z": ("f", [7, 2, 5, 3])}, {"y": "f"},
          lambda x, z: x.astype("d").transpose(3, 1, 0, 2) - z)


erf = np.vectorize(math.erf)


FUNCTIONS = {
    "Exp": np.exp, "Tanh": np.tanh, "Erf": erf, "Sin": np.sin, "Atan": np.arctan, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Floor": np.floor, "Round": np.rint, "Relu": lambda x: np.maximum(x, 0), "Softplus": lambda x: np.log1p(np.exp(x)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "strict"])
def test_computes_functions(device, tmp_path, mode):
    """A program of several kernels."""
    nodes = [node(op, ["x"], op) for op in FUNCTIONS]
    source = source_of(save(tmp_path, nodes, {"x": ("f", [13, 11])}, dict.fromkeys(FUNCTIONS, "f")), "--fp", mode)
    program, kernels = device.build(source), KERNEL.findall(source)
    assert len(kernels) == len(FUNCTIONS)
    x = random().normal(size=(13, 11)).astype("f")
    for op, function in FUNCTIONS.items():
        [kernel] = [name for name in kernels if name.startswith(f"fathom_{op}_")]
        [got], fault = device.run(program, kernel, [x], [np.zeros_like(x)], [], 1)
        assert fault == 0
        assert_close(got, function(x.astype("d")), 4)


def test_chains_functions(device, tmp_path):
    nodes = [node("Abs", ["x"], "a"), node("Sqrt", ["a"], "r"), node("Log", ["r"], "l"), node("Pow", ["r", "e"], "p"), node("Div", ["l", "p"], "y")]

    def expected(x, e):
        r = np.sqrt(np.abs(x.astype("d")))
        return np.log(r) / r**e.astype("d")

    check(device, tmp_path, nodes, {"x": ("f", [101]), "e": ("f", [101])}, {"y": "f"}, expected, ulps=64)


@pytest.mark.parametrize("op, function, sign", [("Max", np.maximum, np.logical_and), ("Min", np.minimum, np.logical_or)])
def test_keeps_nan_and_signs_of_zero(device, tmp_path, op, function, sign):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], "f")
    a, b = np.repeat(special, 6), np.tile(special, 6)
    got, want, _ = compute(device, tmp_path, [node(op, ["a", "b"], "y")], {"a": ("f", [36]), "b": ("f", [36])}, {"y": "f"}, function, given={"a": a, "b": b})
    np.testing.assert_array_equal(got, want)
    zeros = (a == 0) & (b == 0)
    np.testing.assert_array_equal(np.signbit(got)[zeros], sign(np.signbit(a), np.signbit(b))[zeros])


def test_integers_wrap(device, tmp_path):
    given = {"a": np.array([2**31 - 1, -(2**31), 12345, -7, 7], "i"), "b": np.array([5, -3, 654321, 2, -2], "i")}
    nodes = [node("Mul", ["a", "b"], "m"), node("Add", ["m", "a"], "y")]
    with np.errstate(over="ignore"):
        check(device, tmp_path, nodes, {"a": ("i", [5]), "b": ("i", [5])}, {"y": "i"}, lambda a, b: a * b + a, given=given)


def test_divides_and_compares_integers(device, tmp_path):
    nodes = [node("Div", ["a", "b"], "q"), node("Mod", ["a", "b"], "r"), node("Greater", ["q", "r"], "g"), node("Where", ["g", "q", "r"], "y")]

    def expected(a, b):
        q, r = (np.trunc(a / b)).astype("i"), np.mod(a, b)
        return np.where(q > r, q, r)

    given = {"b": np.where(random().random((7, 9)) < 0.5, 3, -5).astype("i")}
    check(device, tmp_path, nodes, {"a": ("i", [7, 9]), "b": ("i", [7, 9])}, {"y": "i"}, expected, given=given)


@pytest.mark.parametrize("source, target", [("f", "i"), ("b", "f"), ("i", "b"), ("?", "i"), ("f", "?"), ("f", "d"), ("B", "l")])
def test_converts(device, tmp_path, source, target):
    check(device, tmp_path, [node("Cast", ["x"], "y", to=TYPES[target])], {"x": (source, [3, 17])}, {"y": target}, lambda x: x.astype(target))


def test_sizes_are_arguments(device, tmp_path):
    nodes = [node("Transpose", ["x"], "t", perm=[2, 1, 0]), node("Mul", ["t", "z"], "y")]
    for n, m in [(5, 3), (1, 1), (31, 64)]:
        check(device, tmp_path, nodes, {"x": ("f", ["n", 1, "m"]), "z": ("f", ["m", 3, "n"])}, {"y": "f"},
              lambda x, z: x.astype("d").transpose(2, 1, 0) * z, sizes={"m": m, "n": n})


def test_one_element_has_no_dimension(device, tmp_path):
    check(device, tmp_path, [node("Neg", ["x"], "y")], {"x": ("f", [])}, {"y": "f"}, lambda x: -x)


def test_loops_over_constants(device, tmp_path):
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 1.5])
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], name="resize", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")]

    def expected(x):
        return x[:, :, np.arange(10) // 2][..., (np.arange(9) / 1.5).astype(int)]

    check(device, tmp_path, nodes, {"x": ("f", [1, 2, 5, 6])}, {"y": "f"}, expected, weights=[scales])


def test_reports_an_index_outside(device, tmp_path):
    nodes = [node("Gather", ["x", "i"], "y", axis=0)]
    inputs, outputs = {"x": ("f", [5, 3]), "i": ("l", [4])}, {"y": "f"}
    take = lambda x, i: x[np.clip(i, -5, 4)]
    check(device, tmp_path, nodes, inputs, outputs, take, given={"i": np.array([4, -5, 0, 2])})
    _, _, fault = compute(device, tmp_path, nodes, inputs, outputs, take, given={"i": np.array([4, 5, 0, 2])})
    assert fault == 1


@pytest.mark.parametrize("target, options, code, message", [
    ("cuda:sm_1", ["--emit", "asm"], 1, "unknown GPU architecture 'sm_1'"),
    ("cuda:", ["--emit", "graph"], 1, "unknown GPU architecture ''"),
])
def test_refuses_what_it_has_not(tmp_path, target, options, code, message):
    nodes = [helper.make_node("TopK", ["a", "k"], ["y", "i"], name="TopK")]
    options = [str(tmp_path / option) if option.endswith(".fathom") else option for option in options]
    result = compile(save(tmp_path, nodes, {"a": ("f", [4, 4]), "k": ("l", [1])}, {"y": "f"}), *options, target=target)
    assert result.returncode == code and message in result.stderr, result.stderr


def test_prints_no_llvm_ir(tmp_path):
    result = compile(save(tmp_path, [node("Neg", ["x"], "y")], {"x": ("f", [4])}, {"y": "f"}), "--emit", "llvm")
    assert result.returncode == 1 and "OpenCL C is printed, not lowered to LLVM IR" in result.stderr, result.stderr
