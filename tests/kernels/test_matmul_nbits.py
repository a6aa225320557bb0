"""Products with packed weights against numpy in double precision, and what is wrong with a node in words."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.plans import Plan


def pack(integers, bits):
    if bits == 8:
        return integers
    if integers.shape[-1] % 2:
        integers = np.concatenate([integers, np.zeros_like(integers[..., :1])], -1)
    return integers[..., 0::2] | (integers[..., 1::2] << 4)


class Product:
    def __init__(self, depth, columns, bits, block, zeros, bias=False, dtype=np.float32, seed=5, flat=False):
        self.random = np.random.default_rng(seed)
        blocks = -(-depth // block)
        integers = self.random.integers(0, 2**bits, (columns, blocks, block)).astype(np.uint8)
        scales = self.random.uniform(0.01, 0.03, (columns, blocks)).astype(dtype)
        points = np.full((columns, blocks), 2.0 ** (bits - 1))
        self.constants = {"weight": pack(integers, bits), "scales": scales}
        if zeros == "packed":
            points = self.random.integers(0, 2**bits, (columns, blocks)).astype(np.uint8)
            self.constants["zeros"] = pack(points, bits)
        elif zeros == "float":
            self.constants["zeros"] = points = self.random.uniform(0, 2**bits, (columns, blocks)).astype(dtype)
        if flat:  # as older exporters write them
            self.constants |= {name: a.reshape(-1) for name, a in self.constants.items() if name != "weight"}
        self.bias = 0
        if bias:
            self.constants["bias"] = self.bias = self.random.standard_normal(columns).astype(dtype)
        self.matrix = (integers - points[..., None].astype(float)) * scales[..., None].astype(float)
        self.matrix = self.matrix.reshape(columns, -1)[:, :depth]
        self.dtype, self.depth = np.dtype(dtype), depth
        self.attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}

    def model(self, shape, **changes):
        names = ["x", "weight", "scales", "zeros", "", "bias"]
        names = [name if name in ("x", *self.constants) else "" for name in names]
        while not names[-1]:
            names.pop()
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            [helper.make_node("MatMulNBits", names, ["y"], "product", domain="com.microsoft", **self.attributes | changes)],
            "product",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y", kind, None)],
            [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def check(self, shape, *leading, **options):
        session = fathom.Session(fathom.compile(self.model(shape), **options))
        for sizes in leading:
            x = self.random.standard_normal((*sizes, self.depth)).astype(self.dtype)
            got, want = session.run(None, {"x": x})[0], x.astype(float) @ self.matrix.T + self.bias
            assert got.shape == want.shape and got.dtype == self.dtype
            rounding = 1e-3 if self.dtype == np.float16 else 2e-6
            assert (np.abs(got - want) <= rounding * (np.abs(x).astype(float) @ np.abs(self.matrix).T) + 1e-6).all()


@pytest.mark.parametrize("zeros", [None, "packed", "float"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(
    "depth, columns, block",
    [(1, 1, 16), (64, 8, 32), (33, 5, 128), (131, 17, 16), (100, 13, 32), (257, 31, 64), (512, 3, 256), (1024, 67, 32)],
)
def test_sizes(depth, columns, block, bits, zeros):
    product = Product(depth, columns, bits, block, zeros)
    product.check([1, depth], (1,))
    product.check(["n", depth], (1,), (4,), (7,), (0,), dim={"n": (0, 9)})


def test_forms():
    Product(96, 7, 4, 16, "packed", bias=True).check(["a", "b", 96], (2, 3), (1, 1), (3, 5))
    Product(96, 7, 4, 32, "packed", flat=True).check([96], ())
    Product(64, 9, 4, 32, "packed", dtype=np.float16).check([3, 64], (3,))
    Product(70, 9, 8, 32, "float", dtype=np.float16).check([5, 70], (5,))


def test_weights_stay_packed():
    product = Product(1024, 1024, 4, 32, "packed")
    report = fathom.compile(product.model([1, 1024])).report
    packed = sum(array.nbytes for array in product.constants.values())
    assert packed <= report["weight_bytes"] <= packed + 4096


@pytest.mark.parametrize(
    "changes, code, words",
    [
        ({"bits": 2}, "F3002", "2 bits"),
        ({"block_size": 24}, "F1006", "power of two"),
        ({"block_size": 0}, "F1006", "power of two"),
        ({"N": -1}, "F1006", "must be positive"),
        ({"N": 9}, "F1008", "9 rows"),
        ({"K": 10**12}, "F1006", "must be positive"),
        ({"weight_prepacked": 1}, "F3002", "prepacked"),
    ],
    ids=str,
)
def test_wrong_nodes_are_named(changes, code, words):
    with pytest.raises(fathom.Error, match=words) as error:
        fathom.compile(Product(64, 8, 4, 32, None).model([1, 64], **changes))
    assert error.value.code == code and error.value.node == "product"


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("depth, block", [(131, 16), (100, 32), (257, 64)])
def test_weights_unpacked_together(depth, block, bits, tmp_path):
    """Chunks of 16 and of 32 weights, and blocks that are shorter."""
    product = Product(depth, 13, bits, block, "packed")
    plan = Plan.of(product.model(["n", depth]))
    for chunk in (16, 32):
        product.check(["n", depth], (1,), (5,), plan=plan.with_knobs({"chunk": chunk}).save(tmp_path))
    with pytest.raises(fathom.Error, match="chunk = 24 must be 16 or 32"):
        fathom.compile(product.model(["n", depth]), plan=plan.with_knobs({"chunk": 24}).save(tmp_path))


@pytest.mark.parametrize("bits", [4, 8])
def test_vectors_of_a_sum(bits, tmp_path):
    """One vector for each sum, several, and more than 16 weights fill."""
    depth = 131
    product = Product(depth, 13, bits, 32, "packed")
    plan = Plan.of(product.model(["n", depth])).with_knobs({"tile_m": 1, "tile_n": 2, "row_n": 2})
    for vectors in (1, 2, 4):
        product.check(["n", depth], (1,), (5,), plan=plan.with_knobs({"vectors": vectors}).save(tmp_path))
    with pytest.raises(fathom.Error, match="vectors = 3 must be a power of two"):
        fathom.compile(product.model(["n", depth]), plan=plan.with_knobs({"vectors": 3}).save(tmp_path))
