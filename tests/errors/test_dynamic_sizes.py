"""What is said about sizes that only the run knows: ranges that a model does not fill, and what needs a size to be known."""

import json

import numpy as np
import onnx
import pytest
from support.models import make_model, value
from onnx import TensorProto, helper, numpy_helper

INT64, BOOL = TensorProto.INT64, TensorProto.BOOL


def array(name, *shape):
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def one_node(op, inputs, weights=(), outputs=1, **attributes):
    names = [each.name for each in (*inputs, *weights)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, name="it", **attributes)
    return make_model([node], inputs, [value(name, None) for name in results], weights, opset=23)


def test_narrowed_ranges_are_told(fathom, save):
    model = one_node("MatMul", [value("x", [2, "n"])], [array("w", 5, 3)])
    result = fathom("compile", save(model), "-o", "m.fathom", "--dim", "n=1..8")
    result.expect(0, "warning", "node 'it'", "dimension 'n' was to range from 1 to 8, but the model runs with 5 only")
    assert "warning" not in fathom("compile", save(model), "-o", "m.fathom").expect(0).err
    assert "warning" not in fathom("compile", save(model), "-o", "m.fathom", "--dim", "n=5").expect(0).err
    outside = fathom("compile", save(model), "-o", "m.fathom", "--dim", "n=6..8")
    outside.expect(1, "[F1008] node 'it'", "dimension 'n' would have to be 5, outside its range of 6 to 8")


def test_ranges_that_must_be_the_same(fathom, save):
    model = one_node("Concat", [value("x", ["n", 2]), value("y", ["m", 3])], axis=1)
    result = fathom("compile", save(model), "-o", "m.fathom", "--dim", "n=1..8", "--dim", "m=4..9")
    result.expect(0, "dimension 'n' was to range from 1 to 8, but the model runs with 4 to 8",
                  "dimension 'm' was to range from 4 to 9, but the model runs with 4 to 8", "node 'it'")
    result = fathom("compile", save(model), "-o", "m.fathom", "--dim", "n=1..3", "--dim", "m=4..9")
    result.expect(1, "[F1008] node 'it'", "dimensions 'n' and 'm' must be the same, but range from 1 to 3 and from 4 to 9")


def test_windows_that_do_not_fit_are_told(fathom, save):
    model = one_node("MaxPool", [value("x", ["n", 3, "h", 8])], kernel_shape=[3, 3])
    result = fathom("compile", save(model), "-o", "m.fathom", "--dim", "h=0..20", "--dim", "n=0..4")
    result.expect(0, "dimension 'h' was to range from 0 to 20, but the model runs with 3 to 20")
    assert "dimension 'n'" not in result.err


def test_empty_ranges(fathom, save):
    path = save(one_node("Relu", [value("x", ["b", "c"])]))
    for command in ("compile", "check", "run", "bench", "verify"):
        fathom(command, path, "--dim", "b=8..1").expect(2, "[F2001]", "the range 8..1 of 'b' is empty, its minimum is above its maximum")
    result = fathom("compile", path, "-o", "m.fathom", "--shape", "x:1..4x7..3")
    result.expect(2, "[F2001]", "the range 7..3 of 'x' is empty, its minimum is above its maximum")


def test_likely_size_outside_the_range(fathom, save):
    path = save(one_node("Relu", [value("x", ["b", "c"])]))
    for text, range in [("b=1..8,opt=9", "1..8"), ("b=2..8,opt=1", "2..8"), ("b=3,opt=4", "3")]:
        result = fathom("compile", path, "-o", "m.fathom", "--dim", text)
        result.expect(2, "[F2001]", f"opt={text[-1]} to be good at lies outside the range {range} of 'b'")


def test_input_without_a_rank(fathom, save):
    path = save(one_node("Relu", [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]))
    for command in ("compile", "check"):
        result = fathom(command, path, *(["-o", "m.fathom"] if command == "compile" else []))
        assert result.code == 3 and "the model does not say how many dimensions input 'x' has" in result.out + result.err
        assert "--shape x:1..8x3" in result.out + result.err
    for shape in ("2x3", "1..8x3", "0..4", ""):
        fathom("compile", path, "-o", "m.fathom", "--shape", f"x:{shape}").expect(0)
        fathom("check", path, "--shape", f"x:{shape}").expect(0)
    for shape in ("2x3", ""):
        fathom("verify", path, "--shape", f"x:{shape}").expect(0)
    fathom("compile", path, "-o", "m.fathom", "--shape", "x").expect(2, "[F2001]", "INPUT:SIZExMIN..MAXx")
    fathom("compile", path, "-o", "m.fathom", "--shape", "x:" + "x".join("1" * 17)).expect(1, "[F1013]", "rank 17")


def test_a_scalar_by_its_shape(fathom, save):
    """An empty list of sizes is no dimension, where the model does not say how many there are."""
    path = save(one_node("Relu", [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]))
    fathom("compile", path, "-o", "m.fathom", "--shape", "x:").expect(0)
    result = fathom("inspect", "m.fathom", "--json")
    assert [each["shape"] for each in json.loads(result.out)["inputs"]] == [[]]
    path = save(one_node("Relu", [value("x", ["n"])]))
    fathom("compile", path, "-o", "m.fathom", "--shape", "x:").expect(1, "[F1012]", "input 'x' has 1 dimensions, not 0")


def test_one_dimension_of_an_input_without_a_rank(fathom, save):
    unranked = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    path = save(one_node("Relu", [unranked]))
    for command in (["compile", path, "-o", "m.fathom"], ["check", path]):
        result = fathom(*command, "--dim", "x.1=2")
        text = result.out + result.err
        assert result.code == 1 and "[F1012]" in text, text
        assert "dimension 1 of input 'x' cannot be given alone: the model does not say how many the input has" in text
        assert "hint: " in text and "--shape x:1..8x3" in text
    fathom("compile", path, "-o", "m.fathom", "--dim", "n=2").expect(1, "no dynamic dimension 'n'", "--shape x:1..8x3")
    result = fathom("compile", save(one_node("Add", [unranked, value("y", ["n"])])), "-o", "m.fathom", "--dim", "m=2")
    result.expect(1, "no dynamic dimension 'm'", "hint: it has n")


@pytest.mark.parametrize("op", ["Reshape", "Expand", "ConstantOfShape"])
def test_lengths_that_decide_a_rank(fathom, save, op):
    inputs = [value("x", ["n", 2])] * (op != "ConstantOfShape") + [value("s", ["r"], INT64)]
    words = "int64[r] decides about sizes, but how many it has is only known when the model runs"
    path = save(one_node(op, inputs))
    fathom("compile", path, "-o", "m.fathom").expect(3, "[F3004] node 'it'", words, "--dim r=2")
    fathom("compile", path, "-o", "m.fathom", "--dim", "r=2").expect(0)
    names = [each.name for each in inputs[:-1]]
    nodes = [helper.make_node("Compress", ["s", "c"], ["some"], axis=0), helper.make_node(op, names + ["some"], ["y"], name="it")]
    path = save(make_model(nodes, [*inputs, value("c", ["r"], BOOL)], [value("y", None)], opset=23))
    result = fathom("compile", path, "-o", "m.fathom").expect(3, words.replace("[r]", "[?]"), "hint: give the tensor a fixed length")
    assert "--dim" not in result.err


@pytest.mark.parametrize("option, algorithm, needed", [("conv", "winograd4", "fast"), ("conv", "strassen", "fastest"), ("matmul", "strassen", "fastest")])
def test_other_roundings_need_their_mode(fathom, save, option, algorithm, needed):
    path = save(one_node("Relu", [value("x", [3])]))
    command = ["compile", path, "-o", "m.fathom", f"--{option}-algorithm", algorithm]
    for mode in ["strict", "fast"][: 1 if needed == "fast" else 2]:
        said = f"--{option}-algorithm {algorithm} does not go with --fp {mode}"
        fathom(*command, "--fp", mode).expect(2, "[F2001]", said, f"needs --fp {needed}")
    fathom(*command, "--fp", needed).expect(0)


UNKNOWN = {
    "Attention": (one_node("Attention", [value(name, ["b", "s", "d"]) for name in "qkv"], q_num_heads=2, kv_num_heads=2),
                  ["float32[b, s, d]", "2 heads"]),
    "Attention of heads": (one_node("Attention", [value(name, ["b", 2, "s", "d"]) for name in "qkv"]),
                           ["float32[b, 2, s, d]"]),
    "AffineGrid": (one_node("AffineGrid", [value("theta", ["n", "r", "c"]), value("size", ["k"], INT64)]),
                   ["float32[n, r, c]", "int64[k]"]),
    "RotaryEmbedding": (one_node("RotaryEmbedding", [value("x", ["b", 2, "s", 8]), value("cos", [50, "h"]),
                                                     value("sin", [50, "h"]), value("ids", ["b", "s"], INT64)]),
                        ["float32[b, 2, s, 8]", "float32[50, h]"]),
    "GroupNormalization": (one_node("GroupNormalization", [value("x", ["n", "c", 4]), value("s", ["c"]), value("b", ["c"])],
                                    num_groups=2), ["num_groups 2", "[n, c, 4]"]),
    "Expand": (one_node("Expand", [value("x", ["n", 3]), value("shape", ["k"], INT64)]), ["int64[k]"]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_sizes_that_must_be_known(fathom, save, name):
    """Valid models that need a size at compile time: not supported, in the user's words."""
    model, words = UNKNOWN[name]
    result = fathom("compile", save(model), "-o", "m.fathom").expect(3, "[F3004] node 'it'", *words)
    assert "hint: " in result.err
    assert "tensor<" not in result.err and "graph.encoding" not in result.err and "f32" not in result.err


def test_sizes_that_another_input_gives(fathom, save):
    """The channels are known from the scale."""
    model = one_node("GroupNormalization", [value("x", ["n", "c", 4])], [array("s", 6), array("b", 6)], num_groups=2)
    fathom("compile", save(model), "-o", "m.fathom").expect(0)


def branch(name, op):
    node = helper.make_node(op, ["x"], [f"{name}_y"], name=f"{name}_odd", domain="" if op == "Relu" else "com.example")
    return helper.make_graph([node], name, [], [value(f"{name}_y", [3])])


def control_model():
    """Operators that nobody knows, in both branches, in a loop, and in a loop behind what fails."""
    body_inputs = [value("i", [], INT64), value("go", [], BOOL), value("s", [3])]
    nodes = [helper.make_node("Oddest", ["s"], ["t"], name="inner_odd", domain="com.example"), helper.make_node("Identity", ["go"], ["on"])]
    body = helper.make_graph(nodes, "body", body_inputs, [value("on", [], BOOL), value("t", [3])])
    graph_nodes = [
        helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch("then", "Odd"), else_branch=branch("else", "Odder")),
        helper.make_node("Loop", ["trip", "", "y"], ["z"], name="again", body=body),
    ]
    model = make_model(graph_nodes, [value("x", [3]), value("c", [], BOOL), value("trip", [], INT64)], [value("z", [3])])
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return model


def test_check_lists_all_branches_and_bodies(fathom, save):
    result = fathom("check", save(control_model()))
    assert result.code == 3
    for text in ("choice/then/then_odd", "choice/else/else_odd", "again/inner_odd", "Odd ", "Odder", "Oddest"):
        assert text in result.out, result.out
    assert result.out.count("Oddest") == 1


def test_check_lists_functions_behind_a_failure(fathom, save):
    model = make_model(
        [helper.make_node("Odd", ["x"], ["a"], name="first", domain="com.example"),
         helper.make_node("Twice", ["a"], ["y"], name="call", domain="local")],
        [value("x", [3])], [value("y", [3])])
    function = helper.make_function("local", "Twice", ["i"], ["o"],
                                    [helper.make_node("Odder", ["i"], ["o"], name="inside", domain="com.example")],
                                    [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)])
    model.functions.append(function)
    model.opset_import.extend([helper.make_opsetid("com.example", 1), helper.make_opsetid("local", 1)])
    result = fathom("check", save(model))
    assert result.code == 3 and "'first'" in result.out and "call/inside" in result.out, result.out
