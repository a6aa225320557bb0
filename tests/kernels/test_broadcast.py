"""Broadcasting of sizes that are only known when the model runs, of which either may be 1, against ONNX Runtime."""
import numpy as np
import onnx
import pytest

import fathom
from support.compare import agree
from support.models import BOOL, FLOAT, INT64, PRIMES, floats, model, node

ROUNDS = 10


def pairs(random):
    """Pairs of sizes that broadcast: equal, the first 1, the second 1, both 1."""
    result = [(1, 1), (7, 7), (1, 13), (31, 1)]
    for _ in range(ROUNDS):
        size = int(random.choice(PRIMES))
        result.append([(size, size), (1, size), (size, 1)][random.integers(3)])
    return result


@pytest.mark.parametrize("inner", ["a", 3, 64], ids=str)
def test_two_sizes(inner, random):
    # The dimension in question is the last one, before a short one or before a vectorised one.
    def shape(name):
        return [name] if inner == "a" else [name, inner]

    proto = model([node("Add", "x y", "s"), node("Tanh", "s", "z")],
                  [("x", FLOAT, shape("m")), ("y", FLOAT, shape("n"))], [("z", FLOAT)])
    rest = [] if inner == "a" else [inner]
    agree(proto, [{"x": floats(random, a, *rest), "y": floats(random, b, *rest)} for a, b in pairs(random)])


def test_sizes_that_disagree(random):
    proto = model([node("Add", "x y", "z")], [("x", FLOAT, ["m", 4]), ("y", FLOAT, ["n", 4])], [("z", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    for a, b in [(2, 3), (5, 7), (3, 2)]:
        with pytest.raises(fathom.Error, match="Add"):
            session.run(None, {"x": floats(random, a, 4), "y": floats(random, b, 4)})
    x, y = floats(random, 5, 4), floats(random, 1, 4)
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": y})[0], x + y)


def test_sizes_of_zero(random):
    proto = model([node("Add", "x y", "z")], [("x", FLOAT, ["m", 4]), ("y", FLOAT, ["n", 4])], [("z", FLOAT)])
    feeds = [{"x": floats(random, a, 4), "y": floats(random, b, 4)} for a, b in [(0, 1), (1, 0), (0, 0), (1, 1), (3, 1)]]
    agree(proto, feeds, dim={"m": (0, 100), "n": (0, 100)})


def test_three_sizes_in_all_dimensions(random):
    nodes = [node("Mul", "x y", "p"), node("Add", "p w", "s"), node("Add", "s x", "t"), node("Relu", "t", "z"),
             node("Sub", "z y", "u")]
    inputs = [("x", FLOAT, ["a", "b", "c"]), ("y", FLOAT, ["d", "e", "f"]), ("w", FLOAT, ["g", "h"])]
    proto = model(nodes, inputs, [("z", FLOAT), ("u", FLOAT)])
    feeds = []
    for _ in range(2 * ROUNDS):
        sizes = [int(random.choice(PRIMES)) for _ in range(3)]

        def some(count):
            return [size if random.random() < 0.6 else 1 for size in sizes[3 - count:]]

        feeds.append({"x": floats(random, *some(3)), "y": floats(random, *some(3)), "w": floats(random, *some(2))})
    agree(proto, feeds)


def test_where(random):
    inputs = [("c", BOOL, ["a", "b"]), ("x", FLOAT, ["d", "e"]), ("y", FLOAT, ["f"])]
    proto = model([node("Where", "c x y", "z")], inputs, [("z", FLOAT)])
    feeds = []
    for _ in range(2 * ROUNDS):
        m, n = (int(random.choice(PRIMES)) for _ in range(2))

        def some(size):
            return size if random.random() < 0.6 else 1

        feeds.append({"c": random.random((some(m), some(n))) < 0.5, "x": floats(random, some(m), some(n)),
                      "y": floats(random, some(n))})
    agree(proto, feeds)


def test_batches_of_products(random):
    proto = model([node("MatMul", "x y", "z")], [("x", FLOAT, ["m", "q", "r", 5]), ("y", FLOAT, ["n", "p", 5, 3])],
                  [("z", FLOAT)])
    feeds = []
    for a, b in pairs(random):
        c, d = pairs(random)[-1]
        feeds.append({"x": floats(random, a, c, 4, 5), "y": floats(random, b, d, 5, 3)})
    agree(proto, feeds)


@pytest.mark.parametrize("transposed", [0, 1])
def test_gemm_bias(transposed, random):
    proto = model([node("Gemm", "x y c", "z", transA=transposed, alpha=0.5, beta=2.0)],
                  [("x", FLOAT, ["k", "m"] if transposed else ["m", "k"]), ("y", FLOAT, ["k", "n"]), ("c", FLOAT, ["p", "q"])],
                  [("z", FLOAT)])
    feeds = []
    for _ in range(ROUNDS):
        m, k, n = (int(random.choice(PRIMES)) for _ in range(3))
        c = (m if random.random() < 0.5 else 1, n if random.random() < 0.5 else 1)
        x = floats(random, k, m) if transposed else floats(random, m, k)
        feeds.append({"x": x, "y": floats(random, k, n), "c": floats(random, *c)})
    agree(proto, feeds)


K = 5
CONSTANT = [  # nodes, inputs with the size n that meets K, constants
    ([node("Add", "x c", "z")], [("x", ["n", 3])], {"c": (K, 3)}),
    ([node("Sub", "c x", "z")], [("x", [2, "n", 1])], {"c": (K, 3)}),
    ([node("Mul", "x c", "p"), node("Cos", "x", "q"), node("Mul", "p q", "z")], [("x", ["n"])], {"c": (K,)}),
    ([node("Max", "x c y", "z")], [("x", [3, "n"]), ("y", ["n"])], {"c": (K,)}),
    ([node("PRelu", "c x", "z")], [("x", ["n", 3])], {"c": (K, 3)}),
    ([node("Gemm", "a b x", "z")], [("x", ["n", 3])], {"a": (K, 4), "b": (4, 3)}),
    ([node("MatMul", "x c", "z")], [("x", ["n", 2, 4])], {"c": (K, 4, 3)}),
    ([node("MatMul", "c x", "z")], [("x", ["n", 4, 7])], {"c": (2, K, 3, 4)}),
    ([node("LayerNormalization", "c x", "z")], [("x", ["n"])], {"c": (2, 3, K)}),
]


@pytest.mark.parametrize("nodes, inputs, constants", CONSTANT, ids=[case[0][0].op_type for case in CONSTANT])
@pytest.mark.parametrize("fixed", [False, True])
def test_symbol_meets_constant(nodes, inputs, constants, fixed, random):
    """It is that constant or 1, whether the other is a weight or an input of fixed size; all else is refused."""
    arrays = {name: floats(random, *shape) for name, shape in constants.items()}
    given = [(name, FLOAT, shape) for name, shape in inputs]
    given += [(name, FLOAT, shape) for name, shape in constants.items() if fixed]
    proto = model(nodes, given, [("z", FLOAT)], {} if fixed else arrays)

    def feed(n):
        values = {name: floats(random, *(n if size == "n" else size for size in shape)) for name, shape in inputs}
        return values | (arrays if fixed else {})

    feeds = [feed(n) for n in (1, K, 1, K)]
    agree(proto, feeds)
    agree(proto, feeds, dim={"n": (1, 8)})
    session = fathom.Session(fathom.compile(proto, dim={"n": (0, 8)}))
    for n in (0, 2, 4, 6):
        with pytest.raises(fathom.Error, match="neither 1 nor"):
            session.run(None, feed(n))


def test_symbol_meets_constant_that_something_else_needs(random):
    """A product needs the size to be the constant: what was expanded before is not any more."""
    proto = model([node("Add", "x c", "s"), node("MatMul", "x w", "p"), node("ReduceSum", "s", "t"), node("Add", "t p", "z")],
                  [("x", FLOAT, [3, "n"])], [("z", FLOAT)], {"c": floats(random, K), "w": floats(random, K, 2)})
    session = fathom.Session(fathom.compile(proto))
    with pytest.raises(fathom.Error, match=r"has shape \[3,5\]"):
        session.run(None, {"x": floats(random, 3, 1)})
    agree(proto, [{"x": floats(random, 3, K)} for _ in range(2)])


@pytest.mark.parametrize("count", [5, 6, 8])
@pytest.mark.parametrize("other", [36, "n"])
def test_products_of_many_sizes(count, other, random):
    """They have no canonical square, and yet may be 1."""
    inputs = [("x", FLOAT, list("abcdefgh"[:count])), ("y", FLOAT, [other])]
    proto = model([node("Reshape", "x flat", "r"), node("Add", "r y", "z")], inputs, [("z", FLOAT)], {"flat": np.array([-1])})
    rest = [1] * (count - 5)
    shapes = [(2, 3, 1, 6, 1), (1, 1, 4, 3, 3), (1, 1, 1, 1, 1)]
    feeds = [{"x": floats(random, *shape, *rest), "y": floats(random, 36)} for shape in shapes]
    if other == "n":
        feeds += [{"x": floats(random, *shape, *rest), "y": floats(random, 1)} for shape in shapes]
    agree(proto, feeds)
    with pytest.raises(fathom.Error, match="neither 1 nor"):
        fathom.Session(fathom.compile(proto)).run(None, {"x": floats(random, 1, 1, 1, 1, 2, *rest), "y": floats(random, 36)})


def test_range_without_one_meets_range_with_it(random):
    proto = model([node("Add", "x y", "z")], [("x", FLOAT, ["n", 3]), ("y", FLOAT, ["m", 3])], [("z", FLOAT)])
    feeds = [{"x": floats(random, n, 3), "y": floats(random, m, 3)} for n in (2, 4) for m in (1, n)]
    agree(proto, feeds, dim={"n": (2, 4), "m": (1, 8)})


DERIVED = {  # sizes that cannot be 1, whatever n is
    "twice": ([node("Concat", "x x", "d", axis=0)], 2, 0),
    "one more": ([node("Concat", "x c", "d", axis=0)], 1, 1),
    "padded": ([node("Pad", "x pads", "d")], 1, 3),
}


@pytest.mark.parametrize("op", ["Add", "Where", "MatMul"])
@pytest.mark.parametrize("how", DERIVED)
def test_derived_size_meets_one(how, op, random):
    """The other size is as large or 1, in either order, and everything else is refused."""
    nodes, factor, more = DERIVED[how]
    finish = {"Add": [node("Add", "y d", "z")], "Where": [node("Where", "b y d", "z")],
              "MatMul": [node("Unsqueeze", "d last", "e"), node("Unsqueeze", "y last", "f"), node("Transpose", "f", "g", perm=[0, 2, 1]),
                         node("MatMul", "g e", "z")]}[op]
    constants = {"c": floats(random, 1, 3), "pads": np.array([1, 0, 2, 0]), "b": np.array([True, False, True]), "last": np.array([2])}
    proto = model(nodes + finish, [("x", FLOAT, ["n", 3]), ("y", FLOAT, ["m", 3])], [("z", FLOAT)], constants)
    feeds = [{"x": floats(random, n, 3), "y": floats(random, m, 3)} for n in (1, 2, 5) for m in (1, factor * n + more)]
    agree(proto, feeds)
    agree(proto, feeds, dim={"n": (1, 8), "m": (1, 16)})
    session = fathom.Session(fathom.compile(proto))
    with pytest.raises(fathom.Error, match="neither 1 nor"):
        session.run(None, {"x": floats(random, 3, 3), "y": floats(random, 3, 3)})


def test_expand_to_a_shape_of_data(random):
    # Either side may have the 1, and the shape may have more dimensions.
    proto = model([node("Expand", "x shape", "y"), node("Neg", "y", "z")],
                  [("x", FLOAT, ["a", "b"]), ("shape", INT64, [3])], [("z", FLOAT)])
    feeds = []
    for a, b in pairs(random):
        c, d = pairs(random)[-1]
        feeds.append({"x": floats(random, a, c), "shape": np.array([2, b, d])})
    agree(proto, feeds)


def test_mask_of_one_batch(random):
    """A mask of batch 1 or as many as there are rows, against scores."""
    nodes = [node("MatMul", "q k", "scores"), node("Add", "scores mask", "masked"), node("Softmax", "masked", "p", axis=-1),
             node("MatMul", "p v", "z")]
    inputs = [("q", FLOAT, ["batch", 2, "s", 8]), ("k", FLOAT, ["batch", 2, 8, "t"]), ("v", FLOAT, ["batch", 2, "t", 8]),
              ("mask", FLOAT, ["mask_batch", 1, "mask_rows", "t"])]
    proto = model(nodes, inputs, [("z", FLOAT)])
    feeds = []
    for batch, rows in pairs(random):
        n, s, t = max(batch, 3), max(rows, 2), 6
        feeds.append({"q": floats(random, n, 2, s, 8), "k": floats(random, n, 2, 8, t), "v": floats(random, n, 2, t, 8),
                      "mask": floats(random, n if batch > 1 else 1, 1, s if rows > 1 else 1, t)})
    agree(proto, feeds)


def test_computed_sizes(random):
    """Numbers of elements that data decides meet a dimension of an input."""
    nodes = [node("Compress", "x c", "some", axis=0), node("Add", "some y", "s"), node("Add", "s some", "z")]
    proto = model(nodes, [("x", FLOAT, ["a", 3]), ("c", BOOL, ["a"]), ("y", FLOAT, ["b", 3])], [("z", FLOAT)])
    feeds = []
    for _ in range(2 * ROUNDS):
        a = int(random.choice(PRIMES)) + 1
        chosen = random.random(a) < random.choice([0.2, 0.5, 1.0])
        count = int(chosen.sum())
        b = int(random.choice([1, max(count, 1)]))
        if count == 1:
            b = int(random.choice(PRIMES))
        feeds.append({"x": floats(random, a, 3), "c": chosen, "y": floats(random, b, 3)})
    agree(proto, feeds)


def test_inside_a_branch(random):
    def branch(op):
        return onnx.helper.make_graph([node(op, "x y", f"{op}_z")], op, [],
                                      [onnx.helper.make_tensor_value_info(f"{op}_z", FLOAT, None)])

    proto = model([node("If", "c", "z", then_branch=branch("Add"), else_branch=branch("Mul")), node("Neg", "z", "w")],
                  [("c", BOOL, []), ("x", FLOAT, ["m", 2]), ("y", FLOAT, ["n", 2])], [("w", FLOAT)])
    feeds = [{"c": np.array(bool(random.integers(2))), "x": floats(random, a, 2), "y": floats(random, b, 2)}
             for a, b in pairs(random)]
    agree(proto, feeds)


def test_sizes_forced_equal_stay_equal(random):
    """A product that needs both sizes to be the same makes them one symbol, and nothing is expanded."""
    nodes = [node("Add", "x y", "s"), node("Concat", "x y", "c", axis=1), node("Concat", "s c", "z", axis=1)]
    proto = model(nodes, [("x", FLOAT, ["m", 2]), ("y", FLOAT, ["n", 2])], [("z", FLOAT)])
    session = fathom.Session(fathom.compile(proto))
    x, y = floats(random, 5, 2), floats(random, 5, 2)
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": y})[0], np.hstack([x + y, x, y]))
    with pytest.raises(fathom.Error, match="is 5 from input|got 1"):
        session.run(None, {"x": x, "y": y[:1]})
