"""Element types of a byte or less (float8, float4, int4, int2 and those without a sign), against ONNX's reference, bit by bit."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_cast import cast_to

import fathom
from support.compare import assert_close

FLOATS = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"]
INTEGERS = ["int4", "uint4", "int2", "uint2"]
ALL = [*FLOATS, "float8_e8m0fnu", *INTEGERS]


@pytest.fixture
def random(seed):
    return np.random.default_rng(seed)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def kind_of(name):
    return helper.np_dtype_to_tensor_dtype(dtype_of(name))


def codes_of(name):
    """All that the type can hold."""
    if name in INTEGERS:
        info = ml_dtypes.iinfo(dtype_of(name))
        return np.arange(info.min, info.max + 1).astype(dtype_of(name))
    return np.arange(16 if name == "float4_e2m1fn" else 256, dtype=np.uint8).view(dtype_of(name))


def model_of(nodes, inputs, output, weights=(), opset=25, shape=None):
    info = helper.make_tensor_value_info
    infos = [info(name, kind_of(array.dtype.name), shape or array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [info("y", kind_of(output), None)], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)


def run(model, inputs):
    return fathom.Session(fathom.compile(model)).run(None, inputs)[0]


def same(got, want):
    """The same type and bits; whatever is no number is as good as another of the kind."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    size = f"u{got.dtype.itemsize}"
    wrong = got.view(size) != want.view(size)
    if got.dtype.name not in INTEGERS and got.dtype.kind not in "iub":
        wrong &= ~(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
    where = np.argwhere(wrong)[:3]
    assert not wrong.any(), [(tuple(at), got[tuple(at)], want[tuple(at)]) for at in where]


def cast(x, to, **attributes):
    node = helper.make_node("Cast", ["x"], ["y"], to=kind_of(to), **attributes)
    return run(model_of([node], {"x": x}, to, shape=["n"]), {"x": x})


@pytest.mark.parametrize("name", ALL)
def test_every_code_becomes_its_number(name):
    codes = codes_of(name)
    for to in ("float32", "float16", "float64", "bfloat16"):
        with np.errstate(all="ignore"):
            same(cast(codes, to), codes.astype(dtype_of(to)))
    if name in INTEGERS:
        same(cast(codes, "int32"), codes.astype(np.int32))


def interesting(name, random, wide):
    """Random bits, all numbers of the type, what lies half-way between neighbours and the next to that, and the ends."""
    bits = random.integers(0, 2**32, 4000, dtype=np.uint64) << np.uint64(32) | random.integers(0, 2**32, 4000, dtype=np.uint64)
    size = f"u{np.dtype(wide).itemsize}"
    anything = bits.astype(size).view(wide)
    with np.errstate(all="ignore"):
        numbers = codes_of(name).astype(wide)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    middles = (numbers[1:] + numbers[:-1]) / 2
    top = numbers[-1]
    beyond = np.array([top * 1.03125, top * 1.0625, top * 1.09375, top * 1.25, top * 2], wide)
    near = np.concatenate([numbers, middles, beyond, -beyond])
    near = np.concatenate([near, np.nextafter(near, np.inf, dtype=wide), np.nextafter(near, -np.inf, dtype=wide)])
    tiny = np.finfo(wide).smallest_subnormal
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, np.finfo(wide).max, -np.finfo(wide).max], wide)
    return np.concatenate([anything, random.standard_normal(1000).astype(wide), near.astype(wide), ends])


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_rounded_to_small_ones(name, wide, saturate, random):
    x = interesting(name, random, wide)
    if name == "float4_e2m1fn":
        x = x[~np.isnan(x)]  # for which it has no code
    with np.errstate(all="ignore"):
        want = cast_to(x, kind_of(name), bool(saturate))
    same(cast(x, name, saturate=saturate), want)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2fnuz"])
def test_every_half_is_rounded_to_small_floats(name):
    x = np.arange(1 << 16, dtype=np.uint16)
    for saturate in (1, 0):
        for wide in ("float16", "bfloat16"):
            with np.errstate(all="ignore"):
                want = cast_to(x.view(dtype_of(wide)), kind_of(name), bool(saturate))
            same(cast(x.view(dtype_of(wide)), name, saturate=saturate), want)


def test_floats_are_rounded_to_bf16(random):
    """All its numbers, denormals too, what lies half-way between neighbours and the next to that, and random bits."""
    codes = np.arange(1 << 16, dtype=np.uint32) << 16
    anything = random.integers(0, 1 << 32, 5000, dtype=np.uint32)
    x = np.concatenate([codes, codes | 0x8000, codes | 0x7FFF, codes | 0x8001, anything]).view(np.float32)
    with np.errstate(all="ignore"):
        same(cast(x, "bfloat16"), x.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("n", [1, 9, 17, 64, 83])
def test_choosing_and_adding_bf16(n, random):
    a, b = random.standard_normal((2, 5, n)).astype(ml_dtypes.bfloat16)
    nodes = [helper.make_node("Less", ["a", "b"], ["c"]), helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Where", ["c", "s", "b"], ["y"])]
    got = run(model_of(nodes, {"a": a, "b": b}, "bfloat16"), {"a": a, "b": b})
    same(got, np.where(a.astype(np.float32) < b.astype(np.float32), (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype), b))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [1, 0])
def test_exponents(mode, saturate, random):
    x = interesting("float8_e8m0fnu", random, "float32")
    same(cast(x, "float8_e8m0fnu", saturate=saturate, round_mode=mode), cast_to(x, TensorProto.FLOAT8E8M0, bool(saturate), mode))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap(name, random):
    for wide in ("float32", "float64", "int8", "uint8", "int32", "int64"):
        low = 0 if wide.startswith("u") else -100
        x = (random.uniform(low, 100, 500) if wide.startswith("f") else random.integers(low, 100, 500)).astype(wide)
        same(cast(x, name), x.astype(dtype_of(name)))


@pytest.mark.parametrize("pair", [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "int4"), ("uint4", "float4_e2m1fn"), ("int2", "uint2")], ids=str)
def test_from_one_small_type_to_another(pair):
    codes = codes_of(pair[0])
    codes = codes[np.isfinite(codes.astype(np.float32)) & (np.abs(codes.astype(np.float32)) < 1e9)]
    same(cast(codes, pair[1]), cast_to(codes.astype(np.float32), kind_of(pair[1]), True))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("constant", [False, True], ids=["input", "constant"])
def test_moving(name, constant, random):
    """Constants share bytes in a model, also where their number does not fill the last one."""
    codes = codes_of(name)
    x = codes[random.integers(0, len(codes), (3, 5, 7))]
    make = helper.make_node
    nodes = [
        make("Transpose", ["x"], ["t"], perm=[2, 0, 1]),
        make("Reshape", ["t", "shape"], ["r"]),
        make("Identity", ["r"], ["i"]),
        make("Gather", ["i", "places"], ["g"], axis=0),
        make("Concat", ["g", "i"], ["y"], axis=0),
    ]
    places = np.array([4, -1, 0])
    weights = [numpy_helper.from_array(np.array([21, 5]), "shape"), numpy_helper.from_array(places, "places")]
    inputs = {} if constant else {"x": x}
    if constant:
        weights.append(numpy_helper.from_array(x, "x"))
    want = np.ascontiguousarray(x.transpose(2, 0, 1)).reshape(21, 5)
    same(run(model_of(nodes, inputs, name, weights), inputs), np.concatenate([want[places], want]))


@pytest.mark.parametrize("name", INTEGERS)
def test_constants_in_fields_of_integers(name):
    """Bytes that several elements share may stand in int32_data."""
    x = codes_of(name)[np.array([1, 0, 3, 2, 1])]
    tensor = helper.make_tensor("x", kind_of(name), [5], x.astype(np.int32))
    packed = numpy_helper.from_array(x, "x").raw_data
    tensor.ClearField("raw_data")
    tensor.ClearField("int32_data")
    tensor.int32_data.extend(packed)
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    same(run(model_of([node], {}, "float32", [tensor]), {}), x.astype(np.float32))


@pytest.mark.parametrize("block", [0, 2], ids=["axis", "blocks"])
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_quantizing(name, block, random):
    x = (random.standard_normal((3, 4, 5)) * 10).astype(np.float32)
    scale = random.uniform(0.5, 3, (3, 2, 5) if block else (4,)).astype(np.float32)
    codes = codes_of(name)
    zero = np.zeros(scale.shape, np.uint8).view(dtype_of(name)) if name in FLOATS else codes[random.integers(0, len(codes), scale.shape)]
    inputs = {"x": x, "scale": scale, "zero": zero}
    for saturate in (1, 0):
        nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"], axis=1, block_size=block, saturate=saturate)]
        model = model_of(nodes, inputs, name)
        same(run(model, inputs), ReferenceEvaluator(model).run(None, inputs)[0])
    finite = codes[np.isfinite(codes.astype(np.float32))]
    inputs["x"] = finite[random.integers(0, len(finite), x.shape)]
    for given in ("input", "constant"):
        nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["y"], axis=1, block_size=block)]
        weights = [numpy_helper.from_array(inputs["x"], "x")] if given == "constant" else []
        feeds = {key: array for key, array in inputs.items() if key != "x" or given == "input"}
        model = model_of(nodes, feeds, "float32", weights)
        assert_close(run(model, feeds), ReferenceEvaluator(model).run(None, feeds)[0], "arithmetic")


def test_types_of_scales_and_results(random):
    """A scale that is a power of two, and a result of another type than the scale."""
    x = codes_of("float8_e4m3fn")[random.integers(0, 100, 12)]
    scale = np.array(2.0).astype(ml_dtypes.float8_e8m0fnu)
    for to in ("float32", "float16"):
        node = helper.make_node("DequantizeLinear", ["x", "scale"], ["y"], output_dtype=kind_of(to))
        inputs = {"x": x, "scale": scale}
        same(run(model_of([node], inputs, to), inputs), (x.astype(np.float32) * 2).astype(to))
        integers = {"x": random.integers(-99, 99, 12).astype(np.int8), "scale": np.array(0.3, np.float32)}
        want = (integers["x"] * np.float32(0.3)).astype(to)
        same(run(model_of([node], integers, to), integers), want)


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_numbers_that_are_no_halves(to):
    """Larger, or longer, than halves are, of which the scale makes some."""
    inputs = {"x": np.array([100000, -(2**24), 65537, 257, 7], np.int32), "scale": np.array(2.0**-10).astype(dtype_of(to))}
    node = helper.make_node("DequantizeLinear", ["x", "scale"], ["y"])
    same(run(model_of([node], inputs, to), inputs), (inputs["x"].astype(np.float32) * np.float32(2.0**-10)).astype(dtype_of(to)))


@pytest.mark.parametrize(
    "pair", [("float32", "int32"), ("uint64", "float64"), ("float16", "int16"), ("bfloat16", "uint16"), ("int8", "float8_e5m2"), ("float8_e4m3fn", "uint8")], ids=str
)
def test_bits_as_another_type(pair, random):
    size = dtype_of(pair[0]).itemsize
    x = random.integers(0, 256, 37 * size, dtype=np.uint8).view(dtype_of(pair[0]))
    node = helper.make_node("BitCast", ["x"], ["y"], to=kind_of(pair[1]))
    for shape in (None, ["n"]):
        got = run(model_of([node], {"x": x}, pair[1], opset=26, shape=shape), {"x": x})
        assert got.dtype == dtype_of(pair[1])
        np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))


def test_codes_of_4_bits_as_other_ones():
    for source, target in (("int4", "uint4"), ("uint4", "int4"), ("float4_e2m1fn", "int4"), ("int4", "float4_e2m1fn")):
        x = codes_of(source)
        node = helper.make_node("BitCast", ["x"], ["y"], to=kind_of(target))
        got = run(model_of([node], {"x": x}, target, opset=26), {"x": x})
        np.testing.assert_array_equal(got.view(np.uint8) & 15, x.view(np.uint8) & 15)
        assert got.dtype == dtype_of(target)


def test_in_branches_and_loops(random):
    """Small types cross the borders of graphs within the model."""
    x = codes_of("float8_e4m3fn")[random.integers(0, 100, 6)]
    info = helper.make_tensor_value_info
    branches = {
        f"{which}_branch": helper.make_graph([helper.make_node(*node)], which, [], [info(f"{which}_y", TensorProto.FLOAT8E4M3FN, None)])
        for which, node in {"then": ("Identity", ["x"], ["then_y"]), "else": ("Concat", ["x", "x"], ["else_y"])}.items()
    }
    branches["else_branch"].node[0].attribute.append(helper.make_attribute("axis", 0))
    nodes = [helper.make_node("If", ["flag"], ["y"], **branches)]
    for flag in (True, False):
        inputs = {"x": x, "flag": np.array(flag)}
        same(run(model_of(nodes, inputs, "float8_e4m3fn"), inputs), x if flag else np.concatenate([x, x]))


def test_arithmetic_is_refused():
    x = codes_of("float8_e4m3fn")
    with pytest.raises(fathom.Error, match="Add of float8_e4m3fn is not supported") as caught:
        fathom.compile(model_of([helper.make_node("Add", ["x", "x"], ["y"])], {"x": x}, "float8_e4m3fn"))
    assert caught.value.code == "F3003" and "Cast or DequantizeLinear" in caught.value.hint
    with pytest.raises(fathom.Error, match="another number of bits"):
        node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.FLOAT)
        fathom.compile(model_of([node], {"x": x}, "float32", opset=26))
