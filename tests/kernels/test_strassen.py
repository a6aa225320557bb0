"""Products by Strassen's method, forced on awkward sizes, against ONNX Runtime and double precision."""
import numpy as np
import pytest
from onnx import helper

import fathom
from support.compare import compare
from support.models import model_of
from support.plans import Plan, round_trip

FASTEST = {"fp": "fastest"}
FORCED = {"matmul_algorithm": "strassen", "conv_algorithm": "strassen"} | FASTEST


def scaled(random, *shape):
    """Weights whose products are about as large as what they are multiplied with."""
    return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def rows(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def classes(model, **options):
    return Plan.of(model, **options).classes


def product(name="m"):
    return helper.make_node("MatMul", ["x", "w"], [name], name="product")


@pytest.mark.parametrize("depth", [2, 6, 34, 222])
@pytest.mark.parametrize("columns", [2, 26, 48, 134])
@pytest.mark.parametrize("count", [1, 2, 7, 16, 37])
def test_awkward_matrices(count, columns, depth, random):
    inputs, weights = {"x": rows(random, count, depth)}, {"w": scaled(random, depth, columns)}
    assert "strassen" in classes(model_of([product("y")], inputs, weights), **FORCED)
    compare([product("y")], inputs, weights, **FORCED)


@pytest.mark.parametrize("shape", [(3, 5, 20), (2, 1, 3, 20), (1, 9, 20)])
def test_what_is_fused_behind(shape, random):
    """A bias, a function, and a residual that is read from memory."""
    inputs = {"x": rows(random, *shape), "r": rows(random, *shape[:-1], 50)}
    weights = {"w": scaled(random, 20, 50), "b": rows(random, 50)}
    nodes = [
        product(),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Tanh", ["a"], ["t"]),
        helper.make_node("Add", ["t", "r"], ["y"]),
    ]
    compare(nodes, inputs, weights, **FORCED)


def test_what_is_fused_before(random):
    """Rows that are computed while their quarters are added up."""
    inputs, weights = {"x": rows(random, 2, 11, 24)}, {"w": scaled(random, 24, 30), "s": rows(random, 24)}
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["p"]),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("MatMul", ["q", "w"], ["y"], name="product"),
    ]
    compare(nodes, inputs, weights, **FORCED)


def test_a_transposed_result(random):
    """Heads of an attention: the result is stored the way the transpose wants it."""
    inputs, weights = {"x": rows(random, 1, 10, 24)}, {"w": scaled(random, 24, 24), "s": np.array([1, 10, 4, 6])}
    nodes = [
        product(),
        helper.make_node("Reshape", ["m", "s"], ["h"]),
        helper.make_node("Transpose", ["h"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Relu", ["t"], ["y"]),
    ]
    compare(nodes, inputs, weights, **FORCED)


@pytest.mark.parametrize("images, size", [(1, (5, 7)), (2, (3, 3)), (3, (4, 6)), (1, (1,)), (2, (2, 3, 5))])
def test_windows_of_one_pixel(images, size, random):
    inputs = {"x": rows(random, images, 34, *size)}
    ones = [1] * len(size)
    weights = {"w": scaled(random, 34, 38).T.reshape(38, 34, *ones).copy(), "b": rows(random, 38)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv"), helper.make_node("Relu", ["c"], ["y"])]
    assert "strassen" in classes(model_of(nodes, inputs, weights), **FORCED)
    compare(nodes, inputs, weights, **FORCED)


def test_between_other_windows(random):
    """A bottleneck: halos on both sides, a residual, pieces of a concatenation."""
    inputs = {"x": rows(random, 1, 16, 9, 9)}
    weights = {name: scaled(random, 9 * 16, 16).T.reshape(16, 16, 3, 3).copy() for name in ("u", "v")}
    weights |= {name: scaled(random, 16, 16).reshape(16, 16, 1, 1) for name in ("p", "q")}
    conv = lambda x, w, y, pads=0: helper.make_node("Conv", [x, w], [y], pads=[pads] * 4)  # noqa: E731
    nodes = [
        conv("x", "u", "a", 1),
        conv("a", "p", "b"),
        conv("b", "v", "c", 1),
        conv("c", "q", "d"),
        helper.make_node("Add", ["d", "x"], ["e"]),
        helper.make_node("Concat", ["e", "b"], ["y"], axis=1),
    ]
    compare(nodes, inputs, weights, **FORCED)


def edited(model, folder, change):
    """The plan of Strassen's method with other knobs, as a file."""
    return Plan.of(model, **FORCED).with_knobs(change).save(folder)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize(
    "change",
    [
        {"unroll_k": 4},
        {"tile_n": 8},
        {"tile_m": 3, "tile_n": 16, "load_ahead": 0, "task_m": 6},
        {"tile_m": 4, "tile_n": 16, "load_ahead": 0, "task_m": 8, "task_n": 1},
        {"fetch_ahead": 0},
        {"load_ahead": 0},
        {"stored": 4},
        {"stored": 5, "tile_n": 8},
        {"stored": 6, "tile_m": 4, "tile_n": 16, "load_ahead": 0, "task_m": 8, "task_n": 1, "unroll_k": 16},
    ],
)
def test_other_schedules(change, random, tmp_path):
    inputs, weights = {"x": rows(random, 45, 102)}, {"w": scaled(random, 102, 150)}
    plan = edited(model_of([product("y")], inputs, weights), tmp_path, change)
    compare([product("y")], inputs, weights, plan=plan, **FASTEST)


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("stored", [4, 7])
def test_error_against_double_precision(stored, tmp_path):
    """About as large as that of rows by columns: at most 1e-5 of the largest output, on twenty seeds."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        x, w = rows(random, 64, 768), scaled(random, 768, 256)
        want = x.astype(np.float64) @ w.astype(np.float64)
        model = model_of([product("y")], {"x": x}, {"w": w})
        plan = edited(model, tmp_path, {"stored": stored})
        got = fathom.Session(fathom.compile(model, plan=plan, **FASTEST)).run(None, {"x": x})[0]
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), f"seed {seed}"


def transformer_layer(*shape):
    random = np.random.default_rng(0)
    return model_of([product("y")], {"x": rows(random, *shape, 768)}, {"w": scaled(random, 768, 768)})


# A machine that reads weights quickly, compared with how it multiplies.
FREE = {"target": "cortex-a72", "max_weight_growth": 100} | FASTEST


def stored(model, **options):
    """How many factors of its weights each product has."""
    return Plan.of(model, **options).values("stored")


def test_chosen_where_it_pays():
    assert "strassen" in classes(transformer_layer(1, 128), **FREE)
    assert "strassen" not in classes(transformer_layer(1, 4), **FREE)
    assert "strassen" not in classes(transformer_layer(1, 128), target="sapphirerapids", max_weight_growth=100, **FASTEST)


def test_weights_grow_within_the_budget():
    """Each of the seven factors is a quarter as large as the weights, and four are enough."""
    for growth, most in ((0, 4), (20, 4), (80, 7)):
        assert stored(transformer_layer(1, 128), target="cortex-a72", max_weight_growth=growth, **FASTEST) == [most]


def test_samples_stay_apart():
    """Rows that may be of different samples are not computed together, unless one asks for it."""
    for shape in ((128,), (2, 128), (128, 2)):
        assert "strassen" not in classes(transformer_layer(*shape), **FREE)
        assert "strassen" in classes(transformer_layer(*shape), **FORCED)


def test_a_nan_stays_in_its_pair_of_rows(random):
    x, w = rows(random, 1, 12, 32), scaled(random, 32, 32)
    x[0, 5, 3] = np.nan
    model = model_of([product("y")], {"x": x}, {"w": w})
    got = fathom.Session(fathom.compile(model, **FORCED)).run(None, {"x": x})[0]
    assert np.isnan(got[0, 5]).all() and np.isfinite(np.delete(got[0], [4, 5], axis=0)).all()


@pytest.mark.usefixtures("both")
def test_other_products_stay_as_they_are(random):
    odd = model_of([product("y")], {"x": rows(random, 8, 9)}, {"w": scaled(random, 9, 8)})
    both = model_of([product("y")], {"x": rows(random, 8, 8), "w": scaled(random, 8, 8)}, {})
    empty = model_of([product("y")], {"x": rows(random, 0, 8)}, {"w": scaled(random, 8, 8)})
    strided = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2])
    pixels = model_of([strided], {"x": rows(random, 1, 8, 6, 6)}, {"w": rows(random, 8, 8, 1, 1)})
    for model in (odd, both, empty, pixels):
        assert "strassen" not in classes(model, **FORCED)


@pytest.mark.parametrize("fp", ["strict", "fast"])
def test_only_the_fastest_mode_has_it(fp, tmp_path):
    model = transformer_layer(1, 128)
    assert "strassen" not in classes(model, **FREE | {"fp": fp})
    for option in ("matmul_algorithm", "conv_algorithm"):
        with pytest.raises(fathom.Error, match=f"does not go with --fp {fp}(.|\\n)*needs --fp fastest"):
            fathom.compile(model, fp=fp, **{option: "strassen"})
    plan = tmp_path / "plan"
    fathom.compile(model, output=str(plan), emit="plan", **FORCED)
    with pytest.raises(fathom.Error, match="class 'strassen' is for(.|\\n)*needs --fp fastest"):
        fathom.compile(model, fp=fp, plan=str(plan))


def test_the_default_mode_has_none_of_it():
    model = transformer_layer(1, 128)
    assert "strassen" not in classes(model, target="cortex-a72", max_weight_growth=100)


@pytest.mark.usefixtures("both")
def test_a_plan_says_which_algorithm(tmp_path):
    for algorithm in ("contract", "strassen"):
        folder = tmp_path / algorithm
        folder.mkdir()
        round_trip(transformer_layer(1, 128), folder, matmul_algorithm=algorithm, **FASTEST)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "change, reason",
    [
        (("task_m:", "task_m:          7 #"), "multiple of tile_m"),
        (("task_m:", "task_m:          10000000 #"), "bytes of scratch"),
        (("tile_m:", "tile_m:          32 #"), "vector registers"),
        (("stored:", "stored:          3 #"), "stored = 3"),
        (("stored:", "stored:          8 #"), "stored = 8"),
    ],
)
def test_impossible_plans_are_refused(tmp_path, change, reason):
    model = transformer_layer(1, 128)
    plan = fathom.compile(model, emit="plan", **FORCED)
    path = tmp_path / "edited.plan"
    path.write_text(plan.replace(*change, 1))
    with pytest.raises(fathom.Error, match=reason):
        fathom.compile(model, plan=str(path), **FASTEST)


@pytest.mark.usefixtures("both")
def test_a_plan_for_another_product_is_refused(random, tmp_path):
    even, odd = ({"x": rows(random, 8, n)} for n in (8, 9))
    plan = tmp_path / "even.plan"
    fathom.compile(model_of([product("y")], even, {"w": scaled(random, 8, 8)}), output=str(plan), emit="plan", **FORCED)
    with pytest.raises(fathom.Error, match="class 'strassen' is for"):
        fathom.compile(model_of([product("y")], odd, {"w": scaled(random, 9, 8)}), plan=str(plan), **FASTEST)
