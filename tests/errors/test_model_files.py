"""Files that are no models, or broken ones: each has its message and exit code, and none of them crashes."""

import os
import re

import numpy as np
import onnx
import pytest
from support.models import make_model, value
from support.networks import add_model, relu_model
from support.tool import ROOT
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(params=["compile", "check", "bench"])
def refuse(request, fathom):
    """Every command that reads a model refuses it in the same way."""

    def run(path, exit_code, code, *texts):
        words = {"compile": ["-o", "out.fathom"], "check": [], "bench": []}[request.param]
        result = fathom(request.param, path, *words)
        assert result.code == exit_code, result.err
        message = result.out if request.param == "check" else result.err
        for text in (f"[{code}]", *texts):
            assert text in message, f"'{text}' is not in:\n{message}"
        assert not os.path.exists(os.path.join(os.path.dirname(path), "out.fathom"))
        return message

    return run


def test_missing(refuse, tmp_path):
    refuse(tmp_path / "nowhere.onnx", 1, "F1001", "nowhere.onnx", "No such file")


def test_folder(refuse, tmp_path):
    refuse(tmp_path, 1, "F1001", "not a regular file")


def test_empty(refuse, save):
    refuse(save(b""), 1, "F1002", "the model is empty")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated(refuse, save, share):
    data = add_model().SerializeToString()
    message = refuse(save(data[: int(len(data) * share)]), 1, "F1002", "not an ONNX model", "hint: export or download it again")
    assert "node" not in message.split("[F1002]")[1]


@pytest.mark.parametrize("data", [b"hello, world\n", b"\0" * 100, bytes(range(256)) * 8])
def test_not_onnx(refuse, save, data):
    refuse(save(data), 1, "F1002", "not an ONNX model")


def test_other_formats_have_hints(refuse, save):
    refuse(save(b"PK\x03\x04 and so on"), 1, "F1002", "torch.onnx.export")
    refuse(save(b"version https://git-lfs.github.com/spec/v1\n"), 1, "F1002", "git lfs pull")


def test_random_bytes_of_a_model(fathom, save):
    """Flipped bytes give an error or a model, never a crash."""
    data = add_model().SerializeToString()
    for seed in range(40):
        random = np.random.default_rng(seed)
        broken = bytearray(data)
        for place in random.integers(0, 120, 3):
            broken[place] = random.integers(0, 256)
        result = fathom("check", save(bytes(broken)))
        assert result.code in (0, 1, 3), f"seed {seed}: {result.err}"


def test_cyclic(refuse, save):
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
    ]
    model = make_model(nodes, [value("x", [2])], [value("b", [2])])
    refuse(save(model), 1, "F1003", "cycl")


def test_undefined_input(refuse, save):
    model = make_model(
        [helper.make_node("Relu", ["nothing"], ["y"], name="relu")], [value("x", [2])], [value("y", [2])]
    )
    refuse(save(model), 1, "F1003", "'nothing'", "relu")


def test_wrong_type(refuse, save):
    """Adding a float to an integer: ONNX does not allow it."""
    nodes = [helper.make_node("Add", ["x", "i"], ["y"], name="sum")]
    model = make_model(nodes, [value("x", [2]), value("i", [2], TensorProto.INT64)], [value("y", [2])])
    refuse(save(model), 1, "F1007", "node 'sum'")


def test_inputs_left_out(refuse, save):
    """An input that the operator needs and that the model leaves empty."""
    x, ints = value("x", [1, 1, 4, 4]), value("i", [4], TensorProto.INT64)
    for op, inputs, attributes, code, text in (
        ("TopK", ["x", ""], {}, "F1003", "TopK has no k"),
        ("Pad", ["x", "", "", "i"], {}, "F1003", "input 1 of Pad is missing"),
        ("Resize", ["x", "", "", "i"], {"coordinate_transformation_mode": "tf_crop_and_resize"}, "F1003", "needs a roi"),
    ):
        outputs = ["y", "z"] if op == "TopK" else ["y"]
        model = make_model([helper.make_node(op, inputs, outputs, name="n", **attributes)], [x, ints], [value("y", None)])
        refuse(save(model), 1, code, "node 'n'", text)


def test_bools_as_sizes(refuse, save):
    nodes = [helper.make_node("CenterCropPad", ["x", "s"], ["y"], name="crop")]
    model = make_model(nodes, [value("x", [4, 4]), value("s", [2], TensorProto.BOOL)], [value("y", None)])
    refuse(save(model), 3, "F3004", "node 'crop'", "bool[2] cannot decide about sizes")


@pytest.mark.parametrize("wide", [0, 1])
def test_deformed_by_huge_sizes(refuse, save, wide):
    """A declared size alone takes no memory."""
    shapes = [[1, 1, 3, 3], [1, 1, 2, 2], [1, 8, 2, 2]]
    shapes[wide] = [2**31 - 1] * 4
    inputs = [value(name, shape) for name, shape in zip("xwo", shapes)]
    model = make_model([helper.make_node("DeformConv", ["x", "w", "o"], ["y"], name="bent")], inputs, [value("y", None)])
    refuse(save(model), 3 if wide else 1, "F3004", "node 'bent'")


def test_wrong_attribute(refuse, save):
    nodes = [helper.make_node("Transpose", ["x"], ["y"], name="turn", perm=[0, 0])]
    refuse(save(make_model(nodes, [value("x", [2, 3])], [value("y", [2, 3])])), 1, "F1006", "node 'turn'", "axis 0")


def test_wrong_shape(refuse, save):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    weight = numpy_helper.from_array(np.zeros((5, 4), np.float32), "w")
    refuse(save(make_model(nodes, [value("x", [2, 3])], [value("y", [2, 4])], [weight])), 1, "F1008", "node 'product'")


def test_tensor_of_wrong_size(refuse, save):
    model = add_model()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    refuse(save(model), 1, "F1004", "w")


def test_constant_index_out_of_range(refuse, save):
    """Folding meets it before any run does; it is the model's fault all the same."""
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["c"], name="look up"),
        helper.make_node("Add", ["x", "c"], ["y"], name="add"),
    ]
    weights = [
        numpy_helper.from_array(np.ones((40, 4), np.float32), "w"),
        numpy_helper.from_array(np.full(2000, 9999, np.int64), "i"),
    ]
    path = save(make_model(nodes, [value("x", [1])], [value("y", [2000, 4])], weights))
    refuse(path, 1, "F1004", "node 'look up'", "index")


def test_names_cannot_steer_the_terminal(fathom, save):
    """A node's name appears in one line, whatever is in it."""
    name = "\x1b[31mred\x9b1m\nerror: [F0000] fake"
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name=name)]
    path = save(make_model(nodes, [value("x", [2])], [value("y", [2])]))
    spelt = "node '\\x1b[31mred\\x9b1m\\nerror: [F0000] fake'"
    result = fathom("compile", path, "-o", "x.fathom").expect(3, spelt)
    first, hint = result.err.splitlines()
    assert spelt in first and hint.startswith("hint: ")
    assert spelt in fathom("check", path).out
    assert "\x1b" not in fathom("verify", path).expect(3).err


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_names_of_outputs_cannot_steer_the_terminal(fathom, save, command):
    name = "a\rb\x1b[2J"
    nodes = [helper.make_node("Relu", ["x"], [name], name=name)]
    fathom("compile", save(make_model(nodes, [value("x", [2])], [value(name, [2])])), "-o", "x.fathom").expect(0)
    out = fathom(command, "x.fathom").expect(0).out
    assert "\x1b" not in out and "\r" not in out and "a\\x0db\\x1b[2J" in out


def test_lrn_speaks_of_itself(refuse, save):
    for size in (0, 2**62):
        nodes = [helper.make_node("LRN", ["x"], ["y"], name="norm", size=size)]
        model = make_model(nodes, [value("x", [1, 3, 5, 5])], [value("y", [1, 3, 5, 5])])
        message = refuse(save(model), 1, "F1006", "node 'norm'", "LRN: size")
        assert "AveragePool" not in message


def external(model, **entries):
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    return model


def test_external_data_missing(refuse, save):
    refuse(save(external(add_model(), location="weights.bin")), 1, "F1005", "weights.bin")


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "folder/../../weights.bin"])
def test_external_data_outside(refuse, save, tmp_path, location):
    (tmp_path / "folder").mkdir()
    refuse(save(external(add_model(), location=location)), 1, "F1005", location)


def test_external_data_through_a_link(refuse, save, tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    refuse(save(external(add_model(), location="link/passwd")), 1, "F1005", "link/passwd")


@pytest.mark.parametrize(
    "entries", [{"offset": "4096"}, {"length": "999999"}, {"offset": "-1"}, {"offset": str(2**63)}]
)
def test_external_data_past_the_end(refuse, save, tmp_path, entries):
    (tmp_path / "weights.bin").write_bytes(bytes(4096))
    refuse(save(external(add_model(), location="weights.bin", **entries)), 1, "F1005", "w")


def test_unknown_operator(refuse, save):
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="odd")]
    refuse(save(make_model(nodes, [value("x", [2])], [value("y", [2])])), 3, "F3001", "node 'odd'", "Frobnicate")


# Declared as the dialect's own, whichever those are.
INTERNAL = re.findall(r'"(\w+)", \[[^]]*Graph_Internal', "".join(p.read_text() for p in (ROOT / "compiler/graph").glob("*.td")))


@pytest.mark.parametrize("name", sorted(INTERNAL))
def test_operator_of_the_compilers_own(fathom, save, name):
    nodes = [helper.make_node(name, ["x"], ["y"], name="odd")]
    path = save(make_model(nodes, [value("x", [2])], [value("y", [2])]))
    fathom("compile", path, "-o", "out.fathom").expect(3, "[F3001]", "node 'odd'", name)


def test_operators_of_the_compilers_own():
    assert {"WinogradConv", "Strassen", "Relayout", "Pin", "Packed"} <= set(INTERNAL)


def test_documented_example(fathom, save):
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="odd")]
    path = save(make_model(nodes, [value("x", [2])], [value("y", [2])]))
    message = fathom("compile", path, "-o", "x.fathom").expect(3).err
    assert f"```\n{message}```\n" in (ROOT / "docs" / "user" / "errors.md").read_text()


def test_documented_operator_sets(fathom, save):
    first, last = re.search(r"operator sets (\d+) to (\d+)", (ROOT / "README.md").read_text()).groups()
    for version, code in ((int(first), 0), (int(last), 0), (int(last) + 1, 3)):
        nodes = [helper.make_node("Identity", ["x"], ["y"])]
        model = make_model(nodes, [value("x", [2])], [value("y", [2])], opset=version)
        assert fathom("check", save(model)).code == code


def test_unknown_domain(refuse, save):
    nodes = [helper.make_node("FusedThing", ["x"], ["y"], name="odd", domain="com.example")]
    model = make_model(nodes, [value("x", [2])], [value("y", [2])])
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    refuse(save(model), 3, "F3001", "node 'odd'", "com.example")


def test_no_opset(refuse, save):
    model = relu_model()
    del model.opset_import[:]
    refuse(save(model), 1, "F1003", "opset")


def test_opset_of_the_future(refuse, save):
    model = relu_model()
    model.opset_import[0].version = 1000
    message = refuse(save(model), 3, "F3001", "1000")
    assert "node" not in message.split(": ")[0]


def test_check_lists_everything(fathom, save):
    """Several unsupported nodes show at once, with --json as data."""
    import json

    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="fine"),
        helper.make_node("Transmogrify", ["x"], ["c"], name="second"),
        helper.make_node("Add", ["b", "c"], ["y"], name="last"),
    ]
    path = save(make_model(nodes, [value("x", [2])], [value("y", [2])]))
    result = fathom("check", path)
    assert result.code == 3
    assert "node 'first'" in result.out and "node 'second'" in result.out
    described = json.loads(fathom("check", path, "--json").out)
    assert not described["supported"]
    assert {problem["node"] for problem in described["problems"]} >= {"first", "second"}
    assert {problem["code"] for problem in described["problems"]} == {"F3001"}


def test_check_names_no_node_for_the_whole_model(fathom, save):
    import json

    model = relu_model()
    model.opset_import[0].version = 1000
    described = json.loads(fathom("check", save(model), "--json").out)
    assert [problem["node"] for problem in described["problems"]] == [""]


def test_check_of_a_supported_model(fathom, save):
    result = fathom("check", save(relu_model()))
    assert (result.code, result.out) == (0, "supported\n")


def test_models_survive_a_round_trip():
    """The models above are broken only where they say so."""
    for model in (relu_model(), add_model()):
        onnx.checker.check_model(model)
        assert onnx.ModelProto.FromString(model.SerializeToString()) == model
