"""fathom explain: the nodes of kernels, their work, and what it refuses."""
import json
import platform
import re
import sqlite3

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models import make_model, value


def explained(fathom, *words):
    result = fathom("explain", *words, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def gemm_model(batch):
    """Two products with an activation each, a reshape, and something to fold."""
    weights = [numpy_helper.from_array(np.ones((5, 7), np.float32), "w"), numpy_helper.from_array(np.ones((7, 3), np.float32), "v")]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="rectify"),
        helper.make_node("Exp", ["v"], ["u"], name="constant"),
        helper.make_node("MatMul", ["b", "u"], ["c"], name="second"),
        helper.make_node("Flatten", ["c"], ["y"], name="flat"),
    ]
    return make_model(nodes, [value("x", [batch, 5])], [value("y", None)], weights)


@pytest.fixture
def save(tmp_path):
    def write(model):
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        return str(path)

    return write


@pytest.mark.usefixtures("both")
def test_every_node_is_explained(fathom, save):
    report = explained(fathom, save(gemm_model(4)))
    found = {op["node"]: op["why"] for kernel in report["kernels"] for op in kernel["ops"]}
    found |= {node["node"]: node["why"] for node in report["other_nodes"]}
    assert found["first"] == "decides the kernel's loops"
    assert found["rectify"].startswith("fused: applied to the result of MatMul")
    assert found["constant"].startswith("folded")
    assert {"second", "flat"} <= set(found)
    first, second = report["kernels"][:2]
    assert first["flop"] == 2 * 4 * 5 * 7 + 4 * 7
    # The weight's columns are padded to whole panels.
    assert 4 * (4 * 5 + 5 * 7 + 4 * 7) <= first["bytes"] <= 4 * (4 * 5 + 5 * 64 + 4 * 7)
    assert second["apart"] == [{"kernel": first["result"], "why": "MatMul and MatMul need loops of their own"}]
    assert "ms" not in first


@pytest.mark.parametrize("cpu, levels", [("neoverse-v1", 3), ("x86-64-v3", 3)])
def test_estimates_say_where_cycles_go(fathom, save, cpu, levels):
    path = save(gemm_model(40))
    fathom("compile", path, "--target", cpu, "-o", "m.fathom").expect(0)
    for kernel in explained(fathom, "m.fathom")["kernels"]:
        estimate = kernel["estimate"]
        assert estimate["threads"] > 1
        for name in "one_thread", "all_threads":
            parts = dict(estimate[name])
            total = parts.pop("total")
            assert total > 0 and min(parts.values()) >= 0
            assert abs(sum(parts.values()) - total) <= len(parts)
            assert {f"from_l{level}" for level in range(2, levels + 1)} | {"from_memory", "arithmetic", "tails"} <= set(parts)
        assert estimate["one_thread"]["imbalance"] == estimate["one_thread"]["spreading"] == 0
    text = fathom("explain", "m.fathom").expect(0).out
    assert re.search(r"^     estimate: one thread [0-9.]+ k?cycles: [a-z0-9 ]+ [0-9]+ %", text, re.M)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("queries", [1, 128])
def test_attention_is_explained(fathom, save, queries):
    """One kernel or three, and what either was estimated to take."""
    nodes = [helper.make_node(op, inputs, [name], name=name)
             for op, inputs, name in [("MatMul", ["q", "k"], "scores"), ("Softmax", ["scores"], "weights"), ("MatMul", ["weights", "v"], "y")]]
    sizes = {"q": [12, queries, 64], "k": [12, 64, 256], "v": [12, 256, 64]}
    report = explained(fathom, save(make_model(nodes, [value(name, shape) for name, shape in sizes.items()], [value("y", None)])))
    kernels = {kernel["result"]: kernel for kernel in report["kernels"]}
    estimated = r"one kernel is estimated at (\d+) cycles, three at (\d+)$"
    if queries == 1:
        apart = [note["why"] for name in ("weights", "y") for note in kernels[name]["apart"] if "attention" in note["why"]]
        assert len(apart) == 2 and all(why.startswith("the attention is three kernels: ") for why in apart)
        one, three = map(int, re.search(estimated, apart[0]).groups())
        assert one > three
    else:
        assert set(kernels) == {"k.packed", "v.packed", "y"}
        why = next(op["why"] for op in kernels["y"]["ops"] if op["node"] == "y")
        one, three = map(int, re.search(estimated, why).groups())
        assert why.startswith("decides the kernel's loops for the whole attention: ") and one <= three


def test_symbolic_sizes(fathom, save):
    path = save(gemm_model("batch"))
    assert explained(fathom, path)["kernels"][0]["flop"] is None
    assert explained(fathom, path, "--dim", "batch=4")["kernels"][0]["flop"] == 2 * 4 * 5 * 7 + 4 * 7


def test_run_tells_times(fathom, save, tmp_path):
    artifact = str(tmp_path / "model.fathom")
    assert fathom("compile", save(gemm_model("batch")), "-o", artifact, "-q").code == 0
    report = explained(fathom, artifact, "--run", "--dim", "batch=16", "--threads", "1")
    assert report["peak"]["gflop_per_second"] > 0 and report["peak"]["gb_per_second"] > 0 and report["peak"]["threads"] == 1
    assert [kernel["launches"] for kernel in report["kernels"]] == [1] * len(report["kernels"])
    assert all(kernel["ms"] > 0 for kernel in report["kernels"])
    assert report["kernels"][0]["flop"] == 2 * 16 * 5 * 7 + 16 * 7
    text = fathom("explain", artifact, "--run", "--dim", "batch=16").out
    assert "roofline of this machine" in text and "first (MatMul): decides the kernel's loops" in text


def test_control_flow_is_host_code(fathom, save):
    branches = [helper.make_graph([helper.make_node(op, ["x"], ["r"], name=op)], op, [], [value("r", None)]) for op in ("Relu", "Neg")]
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1], name="choose")]
    model = make_model(nodes, [value("x", [3]), value("c", [], TensorProto.BOOL)], [value("y", None)])
    report = explained(fathom, save(model))
    assert {"op": "If", "node": "choose", "why": "host code around kernels", "type": "float32, as in the model"} in report["other_nodes"]


@pytest.mark.usefixtures("both")
def test_algorithm_and_stages(fathom, save):
    kernel = explained(fathom, save(gemm_model(4)))["kernels"][0]
    assert kernel["algorithm"] == "matrix products and convolutions" and kernel["stages"] == ["MatMul", "Relu"]
    weight = numpy_helper.from_array(np.ones((8, 8, 3, 3), np.float32), "w")
    model = make_model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], [value("x", [1, 8, 32, 32])], [value("y", None)], [weight])
    algorithms = {}
    for algorithm in ("contract", "winograd2", "winograd4"):
        report = explained(fathom, save(model), "--conv-algorithm", algorithm, "--max-weight-growth", "1000")
        algorithms[algorithm] = [k["algorithm"] for k in report["kernels"] if "Conv" in " ".join(k["stages"])]
    assert algorithms["contract"] == ["a matrix product of windows, read in place, and weights"]
    assert algorithms["winograd2"][0].startswith("Winograd's F(2,3)") and algorithms["winograd4"][0].startswith("Winograd's F(4,3)")


def types_of(report):
    return {op["node"]: op["type"] for part in [*(k["ops"] for k in report["kernels"]), report["other_nodes"]] for op in part}


def test_types_are_explained(fathom, save):
    nodes = [
        helper.make_node("Exp", ["d"], ["e"], name="double"),
        helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT, name="convert"),
        helper.make_node("Add", ["n", "n"], ["m"], name="count"),
        helper.make_node("Tanh", ["h"], ["t"], name="half"),
        helper.make_node("Less", ["f", "f"], ["l"], name="compare"),
        helper.make_node("ArgMax", ["d"], ["a"], name="where"),
        helper.make_node("Sqrt", ["f"], ["s"], name="single"),
    ]
    inputs = [value("d", [3], TensorProto.DOUBLE), value("n", [3], TensorProto.INT64), value("h", [3], TensorProto.FLOAT16)]
    kinds = {"e": TensorProto.DOUBLE, "m": TensorProto.INT64, "t": TensorProto.FLOAT16, "l": TensorProto.BOOL, "a": TensorProto.INT64, "s": TensorProto.FLOAT}
    types = types_of(explained(fathom, save(make_model(nodes, inputs, [value(name, None, kind) for name, kind in kinds.items()]))))
    assert types["double"].startswith("float64 kept") and types["count"].startswith("int64 kept")
    assert types["convert"] == "int64 becomes float32, as the node says"
    assert types["half"].startswith("float16 in memory, float32 in registers")
    assert types["compare"] == "bool from float32, as the operator says"
    assert types["where"] == "int64 from float64, as the operator says"
    assert types["single"] == "float32, as in the model"


def test_small_weights_are_explained(fathom, save):
    weights = [numpy_helper.from_array(np.zeros((4, 2, 16), np.uint8), "w"), numpy_helper.from_array(np.ones(8, np.float32), "s")]
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], name="product", domain="com.microsoft", K=64, N=4, bits=4, block_size=32)
    model = make_model([node], [value("x", [2, 64])], [value("y", None)], weights)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert types_of(explained(fathom, save(model)))["product"].startswith("weights stay in 4 bits with a scale for every 32")


def test_nodes_without_code(fathom, save):
    """Every node of the model is named, with what really became of it."""
    weights = [numpy_helper.from_array(np.ones((2, 3), np.float32), "w"), numpy_helper.from_array(np.array([0]), "zero")]
    inner = helper.make_graph([helper.make_node("Neg", ["x"], ["r"], name="never")], "other", [], [value("r", None)])
    taken = helper.make_graph([helper.make_node("Abs", ["x"], ["q"], name="always")], "taken", [], [value("q", None)])
    nodes = [
        helper.make_node("Exp", ["w"], ["e"], name="fold"),
        helper.make_node("Sin", ["x"], ["u"], name="unused"),
        helper.make_node("Cos", ["u"], ["v"], name="unused too"),
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "zero"], ["n"], name="size"),
        helper.make_node("Identity", ["x"], ["i"], name="same"),
        helper.make_node("Constant", [], ["c"], name="yes", value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["c"], ["k"], name="choose", then_branch=taken, else_branch=inner),
        helper.make_node("Add", ["i", "e"], ["a"], name="add"),
        helper.make_node("Expand", ["a", "s"], ["b"], name="expand"),
        helper.make_node("Mul", ["b", "k"], ["y"], name="mul"),
    ]
    report = explained(fathom, save(make_model(nodes, [value("x", ["rows", 3])], [value("y", None)], weights)), "--dim", "rows=2")
    why = {node["node"]: node["why"] for node in report["other_nodes"]}
    assert why["fold"] == "folded: computed once, when the model is compiled"
    assert why["unused"] == why["unused too"] == "unused: no output depends on it"
    assert why["shape"] == "arithmetic on sizes, done where it is needed"
    assert why["choose/else/never"].startswith("needs no code")
    assert why["same"] == "passes its input on"
    in_kernels = {op["node"] for kernel in report["kernels"] for op in kernel["ops"]}
    assert {"add", "mul", "choose/then/always"} <= in_kernels
    assert in_kernels | why.keys() >= {node.name for node in nodes}


def test_bad_uses(fathom, save, tmp_path):
    artifact = str(tmp_path / "model.fathom")
    assert fathom("compile", save(gemm_model("batch")), "-o", artifact, "-q").code == 0
    fathom("explain", artifact, "--fp", "strict").expect(2, "F2001", "compiled already")
    fathom("explain").expect(2, "F2001", "MODEL is missing")
    fathom("explain", str(tmp_path / "absent.fathom")).expect(1, "F100")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    "group, algorithm, said",
    [
        (1, "gemm", "by the algorithm gemm"),
        (1, "direct", "by the algorithm direct"),
        (1, "spatial_pack", "by the algorithm spatial_pack"),
        (4, "grouped_spatial_pack", "by the algorithm grouped_spatial_pack"),
        (1, "winograd4", "by the algorithm winograd4"),
        (4, "gemm", "by the algorithm direct instead of gemm: with groups"),
        (1, "grouped_spatial_pack", "instead of grouped_spatial_pack: it is for convolutions of 32-bit floats with groups"),
        (4, "winograd2", "by the algorithm winograd2"),
        (1, "strassen", "instead of strassen: it is for constant windows of one pixel"),
        (16, "gemm", "by the algorithm depthwise instead of gemm: every channel is a group of its own"),
    ],
)
def test_the_algorithm_of_a_convolution(fathom, save, group, algorithm, said):
    weights = [numpy_helper.from_array(np.ones((16, 16 // group, 3, 3), np.float32), "w")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", group=group)]
    path = save(make_model(nodes, [value("x", [1, 16, 10, 10])], [value("y", None)], weights))
    report = explained(fathom, path, "--conv-algorithm", algorithm, "--fp", "fastest")
    assert said in next(op["why"] for kernel in report["kernels"] for op in kernel["ops"] if op["node"] == "conv")


@pytest.mark.usefixtures("both")
def test_windows_that_are_not_for_tiles(fathom, save):
    weights = [numpy_helper.from_array(np.ones((16, 16, 3, 3), np.float32), "w")]
    path = save(make_model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv", strides=[2, 2])], [value("x", [1, 16, 10, 10])], [value("y", None)], weights))
    report = explained(fathom, path, "--conv-algorithm", "winograd2")
    said = "instead of winograd2: it is for constant windows of 3 x 3"
    assert said in next(op["why"] for kernel in report["kernels"] for op in kernel["ops"] if op["node"] == "conv")


def test_inspect_keeps_classes_and_symbols_apart(fathom, save, tmp_path):
    weights = [numpy_helper.from_array(np.ones((16, 4, 3, 3), np.float32), "w")]
    path = save(make_model([helper.make_node("Conv", ["x", "w"], ["y"], group=4)], [value("x", [1, 16, 10, 10])], [value("y", None)], weights))
    artifact = str(tmp_path / "model.fathom")
    fathom("compile", path, "-o", artifact, "-q", "--conv-algorithm", "grouped_spatial_pack").expect(0)
    assert "spatial_pack" in [word for line in fathom("inspect", artifact).expect(0).out.splitlines() for word in line.split()]


def test_what_is_sequential_says_why(fathom, save):
    """No kernel of the sequential class, and none of a single task, goes without a reason."""
    inputs = [value("x", [6, 50]), value("i", [2, 50], TensorProto.INT64), value("p", [4, 2], TensorProto.INT64), value("u", [4]), value("axis", [], TensorProto.INT64)]
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], ["a"]),
        helper.make_node("CumSum", ["x", "columns"], ["b"]),
        helper.make_node("ScatterElements", ["x", "i", "x2"], ["c"], axis=0),
        helper.make_node("ScatterND", ["x", "p", "u"], ["d"]),
        helper.make_node("TopK", ["x", "k"], ["e", "f"]),
        helper.make_node("NonZero", ["x"], ["g"]),
        helper.make_node("Unique", ["x"], ["h"]),
        helper.make_node("Relu", ["x"], ["j"]),
    ]
    constants = {"columns": np.array(1), "k": np.array([3]), "x2": np.ones((2, 50), np.float32)}
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    outputs = [value(name, None) for name in "abcde"] + [value("f", None, TensorProto.INT64), value("g", None, TensorProto.INT64), value("h", None), value("j", None)]
    path = save(make_model(nodes, inputs, outputs, weights))
    kernels = explained(fathom, path)["kernels"]
    reasons = {kernel["ops"][-1]["op"]: kernel["sequential"] for kernel in kernels if kernel["class"] == "sequential"}
    assert {"CumSum", "ScatterElements", "ScatterND", "TopK", "NonZero", "Unique"} <= set(reasons) and all(reasons.values())
    assert all("too small" in kernel["sequential"] for kernel in kernels if kernel["ops"][-1]["op"] == "Relu")
    assert "sequential because where an index goes depends on how many" in fathom("explain", path).out
    large = make_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [4000, 4000])], [value("y", None)], [])
    assert [kernel["sequential"] for kernel in explained(fathom, save(large))["kernels"]] == [""]


def test_the_phases_of_a_transposed_convolution(fathom, save, tmp_path):
    weights = [numpy_helper.from_array(np.ones((20, 24, 3, 4), np.float32), "w"), numpy_helper.from_array(np.ones((24, 1, 2, 2), np.float32), "v")]
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["a"], strides=[2, 2]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("ConvTranspose", ["b", "v"], ["y"], strides=[2, 2], group=24)]
    path = save(make_model(nodes, [value("x", [1, 20, 5, 6])], [value("y", None)], weights))
    artifact = str(tmp_path / "model.fathom")
    assert fathom("compile", path, "-o", artifact, "--target", "neoverse-n1").code == 0
    kernels = [kernel for kernel in explained(fathom, artifact)["kernels"] if kernel["class"] == "transposed"]
    assert [kernel["algorithm"] for kernel in kernels] == [
        "4 phases of 2 to 4 taps, each a matrix product of pixels, read in place, and weights",
        "4 phases of 1 tap, each matrix products by groups of pixels, read in place, and weights",
    ]
    assert any("applied to the result of ConvTranspose while it is in registers" in op["why"] for op in kernels[0]["ops"])


def test_a_kernels_cost_is_told_beside_its_time(fathom, save):
    path = save(gemm_model(40))
    told = fathom("explain", path, "--cost", "b", "--run", "--db", "none").expect(0).out
    predicted, source, *tree, measured = told.strip().splitlines()[1:]
    shares = re.findall(r"([a-z-]+) (\d+) %", predicted)
    assert predicted.startswith("predicted: ") and 90 <= sum(int(share) for _, share in shares) <= 105
    assert source.startswith("by ") and any("multiply-adds" in line for line in tree)
    assert re.fullmatch(r"measured: [\d.]+ us, quartiles [\d.]+ and [\d.]+, of [1-9]\d* runs with one thread, .*", measured)


def test_a_cost_is_measured_on_its_own_architecture_alone(fathom, save):
    other = "x86-64-v3" if platform.machine() == "aarch64" else "neoverse-n1"
    path = save(gemm_model(40))
    fathom("explain", path, "--cost", "b", "--target", other, "--db", "none").expect(0)
    fathom("explain", path, "--cost", "b", "--run", "--target", other, "--db", "none").expect(1, "[F1010]", "another architecture")


def test_a_cost_by_a_machines_own_calibration(fathom, save, tmp_path):
    (tmp_path / "c.yaml").write_text(
        "fathom-calibration: 1\ntarget: a\nscore: { source: a test, nanoseconds: 2, coefficients: { multiply-adds: 3 } }\n"
    )
    told = fathom("explain", save(gemm_model(40)), "--cost", "b", "--calibration", "c.yaml", "--db", "none").expect(0).out
    assert re.search(r"predicted: \d+ cycles, [\d.]+ us: multiply-adds 100 %\nby a test\n", told)


def page_data(path):
    """What a page's script draws, of a page that needs nothing else."""
    page = path.read_text()
    assert not re.search(r"(src|href)=|@import|url\(", page)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(data)


def test_a_page_for_a_browser(fathom, save, tmp_path):
    path = save(gemm_model(40))
    fathom("tune", path, "--tune", "measure:8", "--apart", "--db", "x.db", "-q").expect(0)
    # The slowest schedule becomes the best, so that something is changed for certain.
    with sqlite3.connect(tmp_path / "x.db") as database:
        (table,) = (name for (name,) in database.execute("select name from sqlite_master where type = 'table'") if "entr" in name)
        database.execute(f"update {table} set nanoseconds = 1e12 - nanoseconds")
    fathom("explain", path, "--run", "--db", "x.db", "--html", "page.html", "-q").expect(0)
    told, kernels = page_data(tmp_path / "page.html"), explained(fathom, path, "--db", "x.db")["kernels"]
    assert told["model"] == "model.onnx" and told["peak"]["gflop_per_second"] > 0
    assert [kernel["schedule"] for kernel in told["kernels"]] == [kernel["schedule"] for kernel in kernels]
    assert all(kernel["ms"] > 0 for kernel in told["kernels"] + told["draft"])
    assert [kernel["schedule"] for kernel in told["draft"]] != [kernel["schedule"] for kernel in kernels]
    # A run is all its launches, one behind the other.
    assert sorted(launch["kernel"] for launch in told["launches"]) == list(range(len(kernels)))
    ends = [0, *(launch["end_us"] for launch in told["launches"])]
    assert all(end <= launch["start_us"] < launch["end_us"] for end, launch in zip(ends, told["launches"], strict=False))
    # Without a run and a database there are estimates alone.
    fathom("explain", path, "--db", "none", "--html", "page.html", "-q").expect(0)
    told = page_data(tmp_path / "page.html")
    assert {"launches", "peak", "draft"}.isdisjoint(told) and len(told["kernels"]) == len(kernels)
    fathom("explain", path, "--db", "none", "--html", "missing/page.html").expect(1, "[F1014]", "missing/page.html")


def test_what_is_joined_in_place_is_read(fathom, save):
    """Kernels that write parts of what another one reads are told with it: the graph of kernels has no gaps."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Neg", ["x"], ["b"], name="second"),
        helper.make_node("Concat", ["a", "b"], ["c"], name="joined", axis=0),
        helper.make_node("Softmax", ["c"], ["y"], name="both", axis=1),
    ]
    report = explained(fathom, save(make_model(nodes, [value("x", [6, 96])], [value("c", None), value("y", None)])), "--db", "none")
    readers = {kernel["result"]: {other["kernel"]: other["why"] for other in kernel["apart"]} for kernel in report["kernels"]}
    assert readers["y"] == {"a": "its result is a part of what is read in one", "b": "its result is a part of what is read in one"}


def test_names_end_no_script(fathom, save, tmp_path):
    name = "</script><script>alert(1)</script>"
    path = save(make_model([helper.make_node("Relu", ["x"], ["y"], name)], [value("x", [4])], [value("y", [4])]))
    fathom("explain", path, "--db", "none", "--html", "page.html", "-q").expect(0)
    assert page_data(tmp_path / "page.html")["kernels"][0]["ops"][0]["node"] == name
