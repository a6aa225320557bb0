"""Small models that random graphs (tests/fuzz) once failed on."""
import numpy as np
import pytest
from onnx import TensorProto, helper, parser
from onnx.reference import ReferenceEvaluator

import fathom
from support.compare import agree, assert_close
from support.models import FLOAT, INT64, floats, model, node


def test_a_view_of_sizes_is_in_memory(random):
    """A shape that is given when the model runs makes a view of numbers that are otherwise only known as expressions."""
    proto = model([node("Shape", "x", "s"), node("Reshape", "s t", "y")], [("x", FLOAT, ["a", "b"]), ("t", INT64, [2])], [("y", INT64)])
    agree(proto, [{"x": floats(random, a, b), "t": np.array(target)} for a, b, target in ((4, 5, [1, 2]), (7, 1, [2, 1]), (3, 2, [-1, 1]))])


def test_integers_shrink_by_floats(random):
    """lambd and bias are floats for integers too: 1 - 0.65 is 0.35, and that is 0."""
    proto = model([node("Shrink", "x", "y", lambd=0.775, bias=0.65)], [("x", INT64, ["n"])], [("y", INT64)])
    agree(proto, [{"x": np.arange(-4, 5)}, {"x": random.integers(-99, 99, 37)}])


@pytest.mark.parametrize("kind, statistics", [("float16", "float32"), ("float32", "float64"), ("float64", "float32"), ("float32", "float16")])
def test_statistics_of_another_type(kind, statistics, random):
    types = {"float16": TensorProto.FLOAT16, "float32": FLOAT, "float64": TensorProto.DOUBLE}
    operands = [(name, types[statistics], ["c"]) for name in ("s", "b", "m", "v")]
    proto = model([node("BatchNormalization", "x s b m v", "y")], [("x", types[kind], ["n", "c", 5]), *operands], [("y", types[kind])])
    feed = {name: random.uniform(0.5, 2, 7).astype(statistics) for name in "sbmv"} | {"x": random.standard_normal((3, 7, 5)).astype(kind)}
    (got,), wide = fathom.Session(fathom.compile(proto)).run(None, feed), {name: array.astype(np.float64) for name, array in feed.items()}
    column = {name: wide[name].reshape(7, 1) for name in "sbmv"}
    want = (wide["x"] - column["m"]) / np.sqrt(column["v"] + 1e-5) * column["s"] + column["b"]
    assert got.dtype == kind and ReferenceEvaluator(proto).run(None, feed)[0].shape == got.shape
    # Numbers of 32 bits among those of 64 leave 32.
    assert_close(got.astype(np.float32) if kind == "float64" else got, want, "sum")


@pytest.mark.parametrize("op, shapes, attributes", [
    ("PRelu", [["n", 1], ["s"]], {}),
    ("Gemm", [["n", 4], [4, 1], ["n", "s"]], {}),
    ("LayerNormalization", [["n", 3, 1], [3, "s"], [3, "s"]], {"axis": 1}),
])
def test_a_symbolic_size_beside_one_is_one(op, shapes, attributes, random):
    """What broadcasts to a size of 1 has size 1: another is refused when the model runs."""
    names = [f"i{i}" for i in range(len(shapes))]
    proto = model([node(op, names, "y", **attributes)], [(name, FLOAT, shape) for name, shape in zip(names, shapes, strict=True)], [("y", FLOAT)])

    def feed(n, s):
        return {name: floats(random, *({"n": n, "s": s}.get(size, size) for size in shape)) for name, shape in zip(names, shapes, strict=True)}

    agree(proto, [feed(2, 1), feed(5, 1)])
    with pytest.raises(fathom.Error, match="F1012"):
        fathom.Session(fathom.compile(proto)).run(None, feed(5, 2))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("equation", ["bij,bjd->bid", "ij,kj->i", "ii,i->i"])
def test_products_of_narrow_integers_wrap_around(equation, kind, random):
    shapes = {"bij,bjd->bid": [(2, 3, 5), (2, 5, 7)], "ij,kj->i": [(3, 5), (2, 5)], "ii,i->i": [(5, 5), (5,)]}[equation]
    types = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    proto = model([node("Einsum", "a b", "y", equation=equation)], [("a", types, shapes[0]), ("b", types, shapes[1])], [("y", types)])
    info = np.iinfo(kind)
    a, b = (random.integers(info.min, info.max, shape, kind, endpoint=True) for shape in shapes)
    (got,) = fathom.Session(fathom.compile(proto)).run(None, {"a": a, "b": b})
    want = np.einsum(equation, a.astype(np.int64), b.astype(np.int64)).astype(kind)
    assert got.dtype == want.dtype and (got == want).all() and got.any()


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resized_integers_are_cut_off_and_saturate(mode, kind, random):
    """What ONNX's evaluator has of doubles, without what is behind the point; where that is nearly an integer, either is right."""
    types = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    sizes = {"sizes": np.array([1, 2, 7, 9])}
    proto, wide = (model([node("Resize", ["x", "", "", "sizes"], "y", mode=mode)], [("x", t, [1, 2, 4, 5])], [("y", t)], sizes, opset=19)
                   for t in (types, TensorProto.DOUBLE))
    info = np.iinfo(kind)
    x = random.choice(np.array([info.min, info.max // 3, info.max], kind), (1, 2, 4, 5)) if random.integers(2) else random.integers(0, 100, (1, 2, 4, 5)).astype(kind)
    (got,), (exact,) = fathom.Session(fathom.compile(proto)).run(None, {"x": x}), ReferenceEvaluator(wide).run(None, {"x": x.astype(np.float64)})
    exact = np.clip(exact, info.min, info.max)
    room = 1e-4 + 4e-6 * np.abs(x.astype(np.float64)).max()  # the evaluator's weights are single precision
    wide = got.astype(np.float64)
    assert got.dtype == kind and got.any() and (wide >= np.trunc(exact - room)).all() and (wide <= np.trunc(exact + room)).all()


@pytest.mark.parametrize("product", ["y = MatMul(s, m)", "y = MatMul(t, s)", "r = Unsqueeze(s, zero) y = MatMul(r, m)", 'y = Einsum<equation="i,ij->j">(s, m)'])
def test_products_of_sizes(product, random):
    """Sizes that are known as expressions have no memory, which tiles of a product are read from."""
    proto = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g (float[a, 5, b] x, int64[3, n] m, int64[n, 3] t) => (int64[] y) {{
        zero = Constant<value_ints = [0]>() s = Shape(x) {product} }}""")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    agree(proto, [{"x": floats(random, a, 5, b), "m": random.integers(-9, 9, (3, n)), "t": random.integers(-9, 9, (n, 3))} for a, b, n in ((2, 3, 7), (11, 1, 4))])


def test_zeros_are_quantized_by_one(random):
    proto = model([node("DynamicQuantizeLinear", "x", "y scale zero")], [("x", FLOAT, ["n"])], [("y", TensorProto.UINT8), ("scale", FLOAT), ("zero", TensorProto.UINT8)])
    agree(proto, [{"x": np.zeros(7, np.float32)}, {"x": floats(random, 5)}])


def test_powers_of_short_floats():
    """They leave the range of their type; the root is within it."""
    proto = model([node("GlobalLpPool", "x", "y", p=3)], [("x", TensorProto.FLOAT16, [1, 2, "n"])], [("y", TensorProto.FLOAT16)])
    x = np.array([[[300, -100, 7], [4, 0, -5000]]], np.float16)
    [y] = fathom.Session(fathom.compile(proto)).run(None, {"x": x})
    assert_close(y[..., 0], (np.abs(x.astype(np.float64)) ** 3).sum(-1) ** (1 / 3), "sum")


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scale", [0.5, 0.7, 0.9])
def test_resize_to_one_element(mode, scale):
    """It is the first element, as ONNX's text and ONNX Runtime have it; ONNX's evaluator goes elsewhere."""
    resize = helper.make_node("Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode="pytorch_half_pixel", mode=mode)
    proto = model([resize], [("x", FLOAT, [1, 1, 2, 3])], [("y", FLOAT)], {"s": np.array([1, 1, scale, 1], np.float32)})
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    [y] = fathom.Session(fathom.compile(proto)).run(None, {"x": x})
    assert_close(y, x[:, :, :1], "arithmetic")


@pytest.mark.parametrize("kind, shape", [("float", "100000000, 3, 1"), ("float16", "3, 100000000")])
def test_operands_larger_than_any_scratch(kind, shape, both):
    """A product whose left side is computed on the way packs it in parts, or not at all; it is only compiled."""
    depth = shape.split(", ")[-1]
    proto = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g ({kind}[{shape}] x, {kind}[{depth}, 2] w) => ({kind}[{shape.rsplit(", ", 1)[0]}, 2] y) {{
        z = Relu(x) y = MatMul(z, w) }}""")
    assert "@" in fathom.compile(proto, emit="loops", target=both)


@pytest.mark.parametrize("kind, scale", [("int32", "float"), ("int32", "float16"), ("float", "float16"), ("float16", "float"), ("int32", "int32")])
def test_quantizing_divides_in_the_type_of_the_scale(kind, scale, random):
    proto = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 23]> g ({kind}[n, 3] x, {scale}[3] s, int8[3] z) => (int8[n, 3] y) {{
        y = QuantizeLinear(x, s, z) }}""")
    types = {"int32": np.int32, "float": np.float32, "float16": np.float16}
    feed = {"x": random.uniform(-90, 90, (11, 3)).astype(types[kind]), "s": np.array([1, 2, 4], types[scale]), "z": np.array([0, 3, -7], np.int8)}
    [y] = fathom.Session(fathom.compile(proto)).run(None, feed)
    quotient = feed["x"].astype(types[scale]).astype(np.float64) / feed["s"].astype(np.float64)
    np.testing.assert_array_equal(y, np.clip(np.rint(quotient) + feed["z"], -128, 127))


def test_quantizing_other_types_is_refused():
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 23]> g (int16[n] x, float s, int8 z) => (int8[n] y) {
        y = QuantizeLinear(x, s, z) }""")
    with pytest.raises(fathom.Error, match="F1007.*the input must hold floats, but holds int16"):
        fathom.compile(proto)


def test_groups_of_unknown_channels_are_not_called_wrong(random):
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 23]> g (float[n, c, h] x, float[c, 2, 3] w) => (float[n, 4, h2] y) {
        y = ConvTranspose<group = 2>(x, w) }""")
    with pytest.raises(fathom.Error, match="F3004.*groups need constant channels"):
        fathom.compile(proto)
    agree(proto, [{"x": floats(random, 2, 4, h), "w": floats(random, 4, 2, 3)} for h in (1, 7)], dim=["c=4"])


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
@pytest.mark.parametrize("opset", [13, 18])
def test_means_of_integers_whose_sum_overflows(kind, opset, random):
    axes = "y = ReduceMean<axes = [1]>(x)" if opset < 18 else "a = Constant<value_ints = [1]>() y = ReduceMean(x, a)"
    proto = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : {opset}]> g ({np.dtype(kind).name}[n, k] x) => ({np.dtype(kind).name}[n, 1] y) {{ {axes} }}""")
    x = random.integers(np.iinfo(kind).max // 2, np.iinfo(kind).max, (3, 7)).astype(kind)
    [y] = fathom.Session(fathom.compile(proto)).run(None, {"x": x})
    np.testing.assert_array_equal(y, x.astype(np.int64).sum(1, keepdims=True) // 7)


def test_a_size_beside_its_multiple_is_one(random):
    """Also where it might be none."""
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[n, s] x, float[n, s] b) => (float[n, t] y) {
        r = Constant<value_ints = [1, 3]>() z = Tile(x, r) y = Add(z, b) }""")
    agree(proto, [{"x": floats(random, n, 1), "b": floats(random, n, 1)} for n in (2, 5)], dim=["s=0..100"])
