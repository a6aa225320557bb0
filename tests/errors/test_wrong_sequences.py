"""Wrong uses of sequences and optionals: at import with a code and the node's name, at run time with an error."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models import make_model, value

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"the_{op}", **attributes)


def tensor_type(dtype=FLOAT, shape=None):
    return helper.make_tensor_type_proto(dtype, shape)


def sequence(name, dtype=FLOAT, shape=None):
    return helper.make_value_info(name, helper.make_sequence_type_proto(tensor_type(dtype, shape)))


def constant(name, number):
    return numpy_helper.from_array(np.array(number), name)


X, Y, ROW = value("x", [2, 3]), value("y", [4, 3]), value("row", [3])
PAIR = node("SequenceConstruct", "x y", "s")
RESULT = [value("r", None)]
MODELS = {
    "position outside": (
        make_model([PAIR, node("SequenceAt", "s p", "r")], [X, Y], RESULT, [constant("p", 2)]),
        1,
        ["F1008", "the_SequenceAt", "position 2 is outside a sequence of 2 elements"],
    ),
    "a body that gives a sequence": (
        make_model(
            [PAIR, node("SequenceMap", "s", "t", body=helper.make_graph([node("SplitToSequence", "e", "f")], "body", [value("e", None)], [value("f", None)])),
             node("ConcatFromSequence", "t", "r", axis=0)],
            [X, Y],
            RESULT,
        ),
        1,
        ["F1007", "the_SequenceMap", "its body must give tensors"],
    ),
    "position before": (
        make_model([PAIR, node("SequenceErase", "s p", "t"), node("ConcatFromSequence", "t", "r", axis=0)], [X, Y], RESULT, [constant("p", -3)]),
        1,
        ["F1008", "the_SequenceErase", "position -3"],
    ),
    "empty at": (
        make_model([node("SequenceEmpty", "", "s"), node("SequenceAt", "s p", "r")], [value("p", [], INT64)], RESULT),
        1,
        ["F1008", "the_SequenceAt", "empty"],
    ),
    "empty concat": (
        make_model([node("SequenceEmpty", "", "s"), node("ConcatFromSequence", "s", "r", axis=0)], [X], RESULT),
        1,
        ["F1008", "the_ConcatFromSequence", "empty"],
    ),
    "position of floats": (
        make_model([PAIR, node("SequenceAt", "s p", "r")], [X, Y, value("p", [])], RESULT),
        1,
        ["F1007", "the_SequenceAt", "one integer"],
    ),
    "mixed types": (
        make_model([node("SequenceConstruct", "x n", "s"), node("SequenceLength", "s", "r")], [X, value("n", [2], INT64)], RESULT),
        1,
        ["F1007", "the_SequenceConstruct"],
    ),
    "inserted type": (
        make_model([PAIR, node("SequenceInsert", "s n", "t"), node("SequenceLength", "t", "r")], [X, Y, value("n", [2, 3], INT64)], RESULT),
        1,
        ["F1007", "the_SequenceInsert"],
    ),
    "mixed ranks": (
        make_model([node("SequenceConstruct", "x row", "s"), node("SequenceAt", "s p", "r")], [X, ROW, value("p", [], INT64)], RESULT),
        3,
        ["F3004", "the_SequenceAt", "rank 2", "rank 1", "hint:"],
    ),
    "mixed ranks at the border": (
        make_model([node("SequenceConstruct", "x row", "r")], [X, ROW], [sequence("r")]),
        3,
        ["F3004", "'r'", "rank 2", "rank 1", "hint:"],
    ),
    "inserted rank": (
        make_model([PAIR, node("SequenceInsert", "s row p", "t"), node("SequenceLength", "t", "r")], [X, Y, ROW, value("p", [], INT64)], [value("r", [], INT64)]),
        3,
        ["F3004", "the_SequenceInsert", "rank 2", "rank 1", "positions in the sequence are known"],
    ),
    "ranks of branches": (
        make_model(
            [
                node(
                    "If",
                    "c",
                    "s",
                    then_branch=helper.make_graph([node("SequenceConstruct", "x", "b")], "then", [], [sequence("b")]),
                    else_branch=helper.make_graph([node("SequenceConstruct", "row row", "b")], "else", [], [sequence("b")]),
                ),
                node("SequenceLength", "s", "r"),
            ],
            [X, ROW, value("c", [], TensorProto.BOOL)],
            [value("r", [], INT64)],
        ),
        3,
        ["F3004", "the_If", "rank 2", "1 in another", "hint:"],
    ),
    "unknown rank": (
        make_model([node("SequenceAt", "s p", "r")], [sequence("s"), value("p", [], INT64)], RESULT),
        3,
        ["F3004", "the_SequenceAt", "not known", "hint:"],
    ),
    "not a tensor": (
        make_model([PAIR, node("Relu", "s", "r")], [X, Y], RESULT),
        1,
        ["F1007", "the_Relu", "takes tensors"],
    ),
    "not a sequence": (
        make_model([node("SequenceLength", "x", "r")], [X], RESULT),
        1,
        ["F1007", "the_SequenceLength", "needs a sequence"],
    ),
    "sequence of sequences": (
        make_model([PAIR, node("SequenceConstruct", "s", "t"), node("SequenceLength", "t", "r")], [X, Y], RESULT),
        1,
        ["F1007", "the_SequenceConstruct", "must be a tensor"],
    ),
    "strings": (
        make_model([node("SequenceLength", "s", "r")], [sequence("s", STRING)], RESULT),
        3,
        ["F3003", "'s'", "STRING"],
    ),
    "nested input": (
        make_model(
            [node("Identity", "s", "r")],
            [helper.make_value_info("s", helper.make_sequence_type_proto(sequence("t").type))],
            RESULT,
        ),
        3,
        ["F3003", "'s'"],
    ),
    "an op of the compiler's own": (
        make_model([node("Packed", "x y", "r")], [X, Y], RESULT),
        3,
        ["F3001", "the_Packed"],
    ),
    "axis": (
        make_model([PAIR, node("ConcatFromSequence", "s", "r", axis=2)], [X, Y], RESULT),
        1,
        ["F1006", "the_ConcatFromSequence", "axis 2"],
    ),
    "split of nothing": (
        make_model([node("SplitToSequence", "x n", "s"), node("SequenceLength", "s", "r")], [X], RESULT, [constant("n", 0)]),
        1,
        ["F1008", "the_SplitToSequence"],
    ),
    "absent": (
        make_model([node("Optional", "", "o", type=tensor_type(FLOAT, [2])), node("OptionalGetElement", "o", "r")], [X], RESULT),
        1,
        ["F1003", "the_OptionalGetElement", "absent"],
    ),
    "optional of nothing": (
        make_model([node("Optional", "", "o"), node("OptionalHasElement", "o", "r")], [X], RESULT),
        1,
        ["F1006", "the_Optional"],
    ),
    "lengths of a map": (
        make_model(
            [
                PAIR,
                node("SequenceConstruct", "x", "t"),
                node("SequenceMap", "s t", "u", body=helper.make_graph([node("Add", "a b", "c")], "g", [value("a", None), value("b", None)], [value("c", None)])),
                node("SequenceLength", "u", "r"),
            ],
            [X, Y],
            RESULT,
        ),
        1,
        ["F1008", "the_SequenceMap", "2 and 1"],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_refused_at_import(fathom, save, name):
    model, exit_code, texts = MODELS[name]
    fathom("compile", save(model), "-o", "model.fathom").expect(exit_code, *texts)
    assert fathom("check", save(model)).code == exit_code


BRANCH = helper.make_graph([node("SequenceConstruct", "x", "b")], "then", [], [sequence("b")])
TENSOR = helper.make_graph([node("Identity", "x", "b")], "else", [], [value("b", None)])


def test_branches_that_differ_in_kind(fathom, save):
    choose = node("If", "c", "s", then_branch=BRANCH, else_branch=TENSOR)
    model = make_model([choose, node("SequenceLength", "s", "r")], [X, value("c", [], TensorProto.BOOL)], RESULT)
    fathom("compile", save(model), "-o", "model.fathom").expect(1, "F1007", "the_If", "a sequence", "a tensor")


def test_position_outside_at_run_time(fathom, save, tmp_path):
    model = make_model([PAIR, node("SequenceAt", "s p", "r")], [X, Y, value("p", [], INT64)], RESULT)
    fathom("compile", save(model), "-o", "model.fathom").expect(0)
    for position, exit_code in ((1, 0), (-2, 0), (2, 1), (-3, 1), (2**40, 1)):
        np.save(tmp_path / "p.npy", np.array(position))
        result = fathom("run", "model.fathom", "--input", "p=@p.npy").expect(exit_code)
        assert exit_code == 0 or "the_SequenceAt" in result.err


def test_tensors_of_a_sequence_on_the_command_line(fathom, save, tmp_path):
    model = make_model([node("SequenceAt", "s p", "r")], [sequence("s", FLOAT, ["a", "b"])], RESULT, [constant("p", 1)])
    fathom("compile", save(model), "-o", "model.fathom").expect(0)
    assert "s sequence of f32[?,?], as s.data, s.shapes" in fathom("inspect", "model.fathom").expect(0).out
    np.save(tmp_path / "d.npy", np.arange(8, dtype=np.float32))
    np.save(tmp_path / "s.npy", np.array([[1, 2], [3, 2]]))
    given = ["--input", "s.data=@d.npy", "--input", "s.shapes=@s.npy"]
    fathom("run", "model.fathom", *given, "--output-dir", "out").expect(0)
    assert np.load(tmp_path / "out" / "r.npy").tolist() == [[2, 3], [4, 5], [6, 7]]
    np.save(tmp_path / "s.npy", np.array([[1, 2], [3, 3]]))
    fathom("run", "model.fathom", *given).expect(1, "'s'")
    fathom("run", "model.fathom", "--dim", "s.length=4").expect(0)
    fathom("run", "model.fathom", "--dim", "s.length=1").expect(1, "the_SequenceAt")
    fathom("verify", save(model), "--dim", "s.length=3").expect(0)
    fathom("compile", save(model), "--dim", "s.length=2..4", "-o", "model.fathom").expect(0)
    fathom("run", "model.fathom", "--dim", "s.length=5").expect(1, "s.length")


@pytest.mark.parametrize("shape", [[2**32, 2**32], [2**62, 4], [2**33, 0], [-1, 0], [-2, -4], [3, 2**62]])
def test_sizes_whose_product_overflows(fathom, save, tmp_path, shape):
    """The values that such a shape seems to have are there: 0 or 8 of them."""
    model = make_model([node("SequenceLength", "s", "r")], [sequence("s", FLOAT, ["a", "b"])], [value("r", [], INT64)])
    fathom("compile", save(model), "-o", "model.fathom").expect(0)
    with np.errstate(over="ignore"):
        count = int(np.prod(np.array(shape)))
    np.save(tmp_path / "d.npy", np.zeros(count if 0 <= count < 9 else 0, np.float32))
    np.save(tmp_path / "s.npy", np.array([shape]))
    fathom("run", "model.fathom", "--input", "s.data=@d.npy", "--input", "s.shapes=@s.npy").expect(1, "'s'")


def test_sums_of_sizes_that_overflow(fathom, save, tmp_path):
    model = make_model([node("SequenceLength", "s", "r")], [sequence("s", FLOAT, ["a", "b", "c"])], [value("r", [], INT64)])
    fathom("compile", save(model), "-o", "model.fathom").expect(0)
    np.save(tmp_path / "d.npy", np.zeros(0, np.float32))
    np.save(tmp_path / "s.npy", np.array([[2**31 - 1, 2**31 - 1, 2**31 - 1]] * 4))
    given = ["--input", "s.data=@d.npy", "--input", "s.shapes=@s.npy"]
    fathom("run", "model.fathom", *given).expect(1, "'s'")
    np.save(tmp_path / "s.npy", np.array([[2**31 - 1, 0, 2**31 - 1]] * 4))
    fathom("run", "model.fathom", *given).expect(0)
