"""Large graphs: code as long as the ops are many, however often values are used; no depth, width or number of kernels is too much."""
import re
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close, compare
from support.models import model_of, value
from support.plans import round_trip

TARGETS = ["neoverse-v1", "x86-64-v3"]


def swish(count):
    nodes, x = [], "x"
    for i in range(count):
        last = "y" if i + 1 == count else f"s{i}"
        nodes += [helper.make_node("Sigmoid", [x], [f"g{i}"]), helper.make_node("Mul", [x, f"g{i}"], [last])]
        x = last
    return nodes


def doublings(count):
    names = ["x"] + [f"d{i}" for i in range(1, count)] + ["y"]
    return [helper.make_node("Add", [a, a], [b]) for a, b in zip(names, names[1:])]


def newton(count):
    """Steps x (2 - a x) towards 1 / a."""
    nodes, x = [], "x"
    for i in range(count):
        last = "y" if i + 1 == count else f"x{i}"
        nodes.append(helper.make_node("Mul", ["a", x], [f"p{i}"]))
        nodes.append(helper.make_node("Sub", ["two", f"p{i}"], [f"q{i}"]))
        nodes.append(helper.make_node("Mul", [x, f"q{i}"], [last]))
        x = last
    return nodes


def ladder(count):
    """Two values, each made of both of the step before; both leave."""
    nodes, a, b = [], "x", "a"
    for i in range(count):
        following = ("y", "z") if i + 1 == count else (f"m{i}", f"s{i}")
        nodes += [helper.make_node("Max", [a, b], [following[0]]), helper.make_node("Sub", [a, b], [following[1]])]
        a, b = following
    return nodes


def chain(count):
    names = ["x"] + [f"c{i}" for i in range(1, count)] + ["y"]
    return [helper.make_node(("Tanh", "Neg", "Abs")[i % 3], [a], [b]) for i, (a, b) in enumerate(zip(names, names[1:]))]


SHAPES = {"swish": (swish, ["y"]), "doublings": (doublings, ["y"]), "newton": (newton, ["y"]), "ladder": (ladder, ["y", "z"])}


def made(shape, count, sizes=(3, 37)):
    make, outputs = SHAPES[shape]
    inputs = {name: np.zeros(sizes, np.float32) for name in (("x", "a") if shape in ("newton", "ladder") else ("x",))}
    return model_of(make(count), inputs, {"two": np.array(2, np.float32)}, outputs)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_code_is_as_long_as_the_ops(shape, target):
    """Also where the ops go beyond a kernel. The host's code, which comes last, has some for each kernel."""
    texts = [fathom.compile(made(shape, count), emit="loops", target=target) for count in (8, 16, 32, 64)]
    lengths = [text[: text.rindex("\nmodule")].count("\n") for text in texts]
    steps = np.diff(lengths) / [8, 16, 32]
    assert steps.max() <= 1.25 * steps[0] + 2, lengths


@pytest.mark.parametrize("sizes", [(5, 33), (1, 1), (7, 1), (0, 3), (2, 3, 17)])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_with_several_uses(shape, sizes, random):
    for count in (3, 20, 90):
        make, outputs = SHAPES[shape]
        # Nothing is left of smaller numbers after so many products with their own sigmoids.
        low, high = (6, 9) if shape == "swish" else (0.2, 0.9)
        inputs = {"x": random.uniform(low, high, sizes).astype(np.float32)}
        if shape in ("newton", "ladder"):
            inputs["a"] = random.uniform(0.5, 1.5, sizes).astype(np.float32)
        compare(make(count), inputs, {"two": np.array(2, np.float32)}, outputs, family="convolution")


def test_values_with_several_uses_behind_movement(random):
    """Elements of a shared value are asked for at the same and at other indices, in branches and outside of them. What becomes tiny, multiplied
    with itself twelve times, doubles its relative error as often."""
    nodes, x = [], "x"
    for i in range(12):
        nodes.append(helper.make_node("Transpose", [x], [f"t{i}"], perm=[1, 0]))
        nodes.append(helper.make_node("Pad", [x, "pads"], [f"p{i}"]))
        nodes.append(helper.make_node("Slice", [f"p{i}", "first", "last"], [f"c{i}"]))
        nodes.append(helper.make_node("Add", [f"t{i}", f"c{i}"], [f"a{i}"]))
        nodes.append(helper.make_node("Mul", [f"a{i}", x], [f"m{i}"]))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"n{i}" if i < 11 else "y"]))
        x = f"n{i}"
    integers = {"pads": [1, 0, 0, 1], "first": [0, 1], "last": [9, 10]}
    compare(nodes, {"x": random.standard_normal((9, 9)).astype(np.float32)}, {name: np.array(v, np.int64) for name, v in integers.items()}, family="convolution", data=1e-6)


def test_a_long_chain(random):
    x = random.standard_normal((2, 19)).astype(np.float32)
    artifact = fathom.compile(model_of(chain(20000), {"x": x}, {}))
    want = x.astype(np.float64)
    for i in range(20000):
        want = (np.tanh, np.negative, np.abs)[i % 3](want)
    assert_close(fathom.Session(artifact).run(None, {"x": x})[0], want, "convolution")


def test_a_long_chain_in_a_branch(random):
    """What a branch takes from around it is looked for once, not anew for each of its nodes."""
    x = random.standard_normal((2, 19)).astype(np.float32)
    bodies = [helper.make_graph(part, "body", [], [value("y", [2, 19])]) for part in (chain(20000), [helper.make_node("Neg", ["x"], ["y"])])]
    choose = helper.make_node("If", ["c"], ["z"], then_branch=bodies[0], else_branch=bodies[1])
    session = fathom.Session(fathom.compile(model_of([choose], {"x": x, "c": np.array(True)}, {}, ["z"])))
    long = x.astype(np.float64)
    for i in range(20000):
        long = (np.tanh, np.negative, np.abs)[i % 3](long)
    for taken, want in ((True, long), (False, -x)):
        assert_close(session.run(None, {"x": x, "c": np.array(taken)})[0], want, "convolution")


@pytest.mark.parametrize("first", ["x", "w"])
def test_a_long_chain_of_views(first, random):
    """Of an input and of a weight: none of them asks all of those before it."""
    names = [first] + [f"v{i}" for i in range(20000)]
    nodes = [helper.make_node("Reshape", [a, ("tall", "flat")[i % 2]], [b]) for i, (a, b) in enumerate(zip(names, names[1:]))]
    nodes.append(helper.make_node("Add", ["x", names[-1]], ["y"]))
    x, w = random.standard_normal((2, 6)).astype(np.float32)
    weights = {"tall": np.array([3, 2]), "flat": np.array([6]), **({"w": w} if first == "w" else {})}
    [got] = fathom.Session(fathom.compile(model_of(nodes, {"x": x}, weights))).run(None, {"x": x})
    np.testing.assert_array_equal(got, x + (w if first == "w" else x))


def in_small_thread(call):
    """What the call returns in a thread with a stack of 256 KiB."""
    results = []

    def work():
        try:
            results.append(call())
        except Exception as error:  # pylint: disable=broad-except
            results.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert not isinstance(results[0], Exception), results[0]
    return results[0]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_thread_with_a_small_stack(jobs, random):
    """The chain, and a convolution and constants that are folded."""
    x = random.standard_normal((1, 3, 9, 11)).astype(np.float32)
    weights = {"w": random.standard_normal((4, 3, 3, 3)).astype(np.float32), "b": random.standard_normal(4).astype(np.float32)}
    nodes = [
        helper.make_node("Tanh", ["w"], ["t"]),
        helper.make_node("Conv", ["x", "t", "b"], ["c"], pads=[1, 1, 1, 1]),
        *[helper.make_node("Tanh", [f"h{i}" if i else "c"], [f"h{i + 1}" if i < 999 else "y"]) for i in range(1000)],
    ]
    model = model_of(nodes, {"x": x}, weights)
    artifact = in_small_thread(lambda: fathom.compile(model, jobs=jobs))
    expected = fathom.Session(fathom.compile(model)).run(None, {"x": x})[0]
    assert fathom.Session(artifact).run(None, {"x": x})[0].tobytes() == expected.tobytes()
    problems = in_small_thread(lambda: fathom.check(model_of(chain(1000), {"x": x}, {})))
    assert not problems


@pytest.mark.parametrize("axis", [0, 1])
def test_a_wide_concatenation(axis, random, tmp_path):
    """Of more operands than a kernel has; along the last axis each is too short to be written in place."""
    x = random.standard_normal((3, 4)).astype(np.float32)
    weights = {f"w{i}": np.array(0.5 + i / 400, np.float32) for i in range(400)}
    nodes = [helper.make_node("Mul", ["x", f"w{i}"], [f"p{i}"]) for i in range(400)]
    nodes.append(helper.make_node("Concat", [f"p{i}" for i in range(400)], ["y"], axis=axis))
    compare(nodes, {"x": x}, weights)
    round_trip(model_of(nodes, {"x": x}, weights), tmp_path)


def test_a_wide_concatenation_of_symbolic_size(random):
    nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Concat", ["x", "s"] * 150, ["y"], axis=1)]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    opset = [helper.make_opsetid("", 17)]
    artifact = fathom.compile(helper.make_model(helper.make_graph(nodes, "g", [given], [result]), opset_imports=opset, ir_version=8))
    for sizes in ((1, 1), (3, 5), (17, 8)):
        x = random.standard_normal(sizes).astype(np.float32)
        got = fathom.Session(artifact, threads=2).run(None, {"x": x})[0]
        assert_close(got, np.concatenate([x, np.sin(x)] * 150, axis=1), "sum")


def codes(model, **options):
    return len(re.findall(r"func\.func @\S+\.task\(", fathom.compile(model, emit="loops", **options)))


def test_kernels_that_differ_in_a_number_share_code(random):
    """Where there are many of them."""

    def model(count):
        nodes, x = [], "x"
        for i in range(count):
            nodes += [helper.make_node("Mul", [x, f"w{i}"], [f"m{i}"]), helper.make_node("Softmax", [f"m{i}"], [f"s{i}"])]
            x = f"x{i}" if i + 1 < count else "y"
            nodes.append(helper.make_node("Add", [f"s{i}", "x"], [x]))
        return nodes, {f"w{i}": np.array(1 + i / count, np.float32) for i in range(count)}

    x = random.standard_normal((5, 13)).astype(np.float32)
    assert codes(model_of(model(8)[0], {"x": x}, model(8)[1])) >= 8
    assert codes(model_of(model(100)[0], {"x": x}, model(100)[1])) < 8
    compare(model(100)[0], {"x": x}, model(100)[1])


@pytest.mark.parametrize("rows", [7, "rows"])
def test_many_kernels(rows, random):
    """So many that the host's code comes in parts, with sizes that are known and that are not."""
    weight = np.linalg.qr(random.standard_normal((11, 11)))[0].astype(np.float32)
    nodes, x = [], "x"
    for i in range(700):
        nodes.append(helper.make_node("MatMul", [x, "w"], [f"p{i}" if i < 699 else "y"]))
        x = f"p{i}"
        if i in (200, 201):
            nodes.append(helper.make_node("Concat", [x, x], [f"c{i}"], axis=0))
            x = f"c{i}"
    model = model_of(nodes, {"x": np.zeros((7, 11), np.float32)}, {"w": weight})
    if rows == "rows":
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = rows
    artifact = fathom.compile(model)
    x = random.standard_normal((7, 11)).astype(np.float32)
    want = np.concatenate([x] * 4).astype(np.float64) @ np.linalg.matrix_power(weight.astype(np.float64), 700)
    for threads in (1, 2):
        got = fathom.Session(artifact, threads=threads).run(None, {"x": x})[0]
        assert_close(got, want, "convolution")


def rolls(x, count, prefix):
    """A buffer that loses its first row and gets others behind, again and again: nodes, and the last one's result."""
    nodes = []
    for i in range(count):
        nodes.append(helper.make_node("Slice", [x, "one", "end", "axis"], [f"{prefix}s{i}"]))
        x = f"{prefix}v{i}"
        nodes.append(helper.make_node("Concat", [f"{prefix}s{i}", "more"], [x], axis=0))
    return nodes, x


def of_rolls(nodes, result):
    """The model of such nodes: sizes that only the run knows."""
    constants = {"one": np.array([1]), "end": np.array([2**31 - 1]), "axis": np.array([0]), "five": np.array(5), "three": np.array(3)}
    model = model_of(nodes, {name: np.zeros((3, 2), np.float32) for name in ("x", "more")}, constants, [result])
    for given, name in zip(model.graph.input, ("rows", "others")):
        given.type.tensor_type.shape.dim[0].dim_param = name
    return model


def rolled(x, more, count):
    for _ in range(count):
        x = np.concatenate([x[1:], more])
    return x


def test_sizes_that_only_the_run_knows(random):
    """More kernels than the host's code has in one function; sizes and addresses pass from one function to the next."""
    artifact = fathom.compile(of_rolls(*rolls("x", 300, "")))
    for rows, others in ((5, 1), (1, 1), (3, 2)):
        x, more = (random.standard_normal((size, 2)).astype(np.float32) for size in (rows, others))
        for threads in (1, 2):
            got = fathom.Session(artifact, threads=threads).run(None, {"x": x, "more": more})[0]
            np.testing.assert_array_equal(got, rolled(x, more, 300))


def test_branches_among_many_launches(random):
    """A branch and a loop between functions that pass sizes on: they read some and decide others."""
    tensor = helper.make_tensor_value_info("", TensorProto.FLOAT, ["?", 2])

    def named(name, info=tensor):
        result = type(info)()
        result.CopyFrom(info)
        result.name = name
        return result

    before, a = rolls("x", 100, "a")
    grown = helper.make_graph([helper.make_node("Concat", [a, "more"], ["grown"], axis=0)], "grown", [], [named("grown")])
    halved = helper.make_graph([helper.make_node("Slice", [a, "one", "end", "axis"], ["cut"])], "cut", [], [named("cut")])
    choice = [helper.make_node("Size", ["x"], ["size"]), helper.make_node("Greater", ["size", "five"], ["isLarge"]),
              helper.make_node("If", ["isLarge"], ["chosen"], then_branch=halved, else_branch=grown)]
    between, b = rolls("chosen", 100, "b")
    scalars = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Concat", ["state", "more"], ["next"], axis=0)], "body",
        [*scalars, named("state")], [helper.make_tensor_value_info("on", TensorProto.BOOL, []), named("next")])
    loop = helper.make_node("Loop", ["three", "", b], ["looped"], body=body)
    after, c = rolls("looped", 100, "c")
    artifact = fathom.compile(of_rolls([*before, *choice, *between, loop, *after], c))
    for rows, others in ((5, 1), (2, 1), (3, 2)):
        x, more = (random.standard_normal((size, 2)).astype(np.float32) for size in (rows, others))
        want = rolled(x, more, 100)
        want = rolled(want[1:] if x.size > 5 else np.concatenate([want, more]), more, 100)
        want = rolled(np.concatenate([want, more, more, more]), more, 100)
        for threads in (1, 2):
            got = fathom.Session(artifact, threads=threads).run(None, {"x": x, "more": more})[0]
            np.testing.assert_array_equal(got, want)


def test_host_functions_stay_short():
    """Their number grows with the model, and not their length."""

    def functions(count):
        text = fathom.compile(of_rolls(*rolls("x", count, "")), emit="llvm", target="neoverse-v1")
        found = re.findall(r"^define [^\n]*@fathom_run[.\d]*\(.*?^}", text, re.M | re.S)
        return len(found), max(body.count("\n") for body in found)

    (few, short), (many, longest) = functions(200), functions(400)
    assert many > 1.5 * few
    assert longest <= 1.1 * short


def test_many_tensors_that_live_together(random):
    """More than are placed with regard to all others."""
    count = 2300
    x = random.standard_normal((2, 9)).astype(np.float32)
    weights = {f"w{i}": np.array(0.5 + i / count, np.float32) for i in range(count)}
    nodes = []
    for i in range(count):
        nodes += [helper.make_node("Mul", ["x", f"w{i}"], [f"m{i}"]), helper.make_node("Softmax", [f"m{i}"], [f"s{i}"])]
    total = f"s{count - 1}"
    for i in reversed(range(count - 1)):
        nodes.append(helper.make_node("Sub", [f"s{i}", total], [f"a{i}" if i else "y"]))
        total = f"a{i}"
    scaled = x.astype(np.float64) * np.array([weights[f"w{i}"] for i in range(count)], np.float64)[:, None, None]
    exponentials = np.exp(scaled)
    parts = exponentials / exponentials.sum(-1, keepdims=True)
    want = np.tensordot((-1.0) ** np.arange(count), parts, 1)
    artifact = fathom.compile(model_of(nodes, {"x": x}, weights))
    assert_close(fathom.Session(artifact).run(None, {"x": x})[0], want, "convolution")


@pytest.mark.parametrize("target", TARGETS)
def test_a_plan_of_too_large_a_kernel_is_refused(target, tmp_path):
    nodes = [helper.make_node("Exp", [f"e{i}" if i else "x"], [f"e{i + 1}" if i < 59 else "y"], name=f"n{i}") for i in range(60)]
    model = model_of(nodes, {"x": np.zeros((4, 5), np.float32)}, {})
    text = fathom.compile(model, emit="plan", target=target)
    first, second = re.findall(r"ops:\n((?: +- .*\n)+)", text)
    kernels = text[: text.index("  - kernel:")], text[text.rindex("  - kernel:") :]
    plan = tmp_path / "plan"
    plan.write_text(kernels[0] + kernels[1].replace(second, first + second))
    with pytest.raises(fathom.Error, match="than a kernel may have"):
        fathom.compile(model, plan=str(plan), target=target)


def test_a_plan_whose_code_would_be_exponential_is_refused(tmp_path):
    """Every value is asked for at two indices, of which each asks for the value before at two in turn."""
    nodes, x = [], "x"
    for i in range(16):
        nodes.append(helper.make_node("Gather", [x, "there"], [f"a{i}"]))
        nodes.append(helper.make_node("Gather", [x, "elsewhere"], [f"b{i}"]))
        nodes.append(helper.make_node("Mul", [f"a{i}", f"b{i}"], [f"m{i}" if i < 15 else "y"]))
        x = f"m{i}"
    indices = {"there": np.arange(32)[::-1].copy(), "elsewhere": np.arange(32) // 2}
    model = model_of(nodes, {"x": np.zeros(32, np.float32)}, indices)
    text = fathom.compile(model, emit="plan")
    ops = re.findall(r"^ +- ('?[\w.]+'?)$", "".join(re.findall(r"ops:\n((?: +- .*\n)+)", text)), re.M)
    last = text[text.rindex("  - kernel:") :]
    listed = re.search(r"ops:\n((?: +- .*\n)+)", last).group(1)
    plan = tmp_path / "plan"
    head = text[: text.index("  - kernel:")]
    plan.write_text(head + last.replace(listed, "".join(f"      - {op}\n" for op in ops)))
    with pytest.raises(fathom.Error, match="than a kernel may have"):
        fathom.compile(model, plan=str(plan))


def test_many_ways_to_the_weights_of_a_convolution(random):
    """More than a compiler can follow, through few nodes."""
    count = 48
    nodes = [helper.make_node("Add", [f"w{i}"] * 2, [f"w{i + 1}"]) for i in range(count)]
    nodes += [helper.make_node("Conv", ["x", f"w{count}"], ["c"]), helper.make_node("Mul", ["c", "scale"], ["y"])]
    weights = {"w0": (random.standard_normal((3, 2, 1, 1)) * 2.0**-count).astype(np.float32), "scale": np.float32(3)}
    compare(nodes, {"x": random.standard_normal((1, 2, 5, 5)).astype(np.float32)}, weights)
