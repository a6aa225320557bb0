"""Sequences and optionals as Python has them: lists of arrays and None."""

import fathom
import numpy as np
import pytest
from fathom.verify import verify
from support.models import make_model, value
from onnx import TensorProto, helper


def sequence_type(dtype=TensorProto.FLOAT, shape=None):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(dtype, shape))


def session_of(nodes, inputs, outputs):
    return fathom.Session(fathom.compile(make_model(nodes, inputs, outputs, opset=18)))


@pytest.fixture(scope="module")
def session():
    """Appends a row to a sequence of matrices, and says whether a mask was given."""
    mask = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"]))
    nodes = [
        helper.make_node("SequenceInsert", ["s", "row"], ["t"]),
        helper.make_node("OptionalHasElement", ["mask"], ["has"]),
        helper.make_node("Identity", ["mask"], ["same"]),
    ]
    inputs = [
        helper.make_value_info("s", sequence_type(shape=[None, None])),
        value("row", [1, "n"]),
        helper.make_value_info("mask", mask),
    ]
    outputs = [
        helper.make_value_info("t", sequence_type()),
        value("has", [], TensorProto.BOOL),
        helper.make_value_info("same", mask),
    ]
    return session_of(nodes, inputs, outputs)


ROW = np.ones((1, 4), np.float32)


def test_description(session):
    assert [(i.name, i.kind, i.shape) for i in session.inputs] == [
        ("s", "sequence", (None, None)),
        ("row", "tensor", (1, "n")),
        ("mask", "optional", ("n",)),
    ]
    assert [(o.name, o.kind) for o in session.outputs] == [("t", "sequence"), ("has", "tensor"), ("same", "optional")]
    assert all(info.dtype == np.float32 for info in session.inputs)
    assert "s: sequence of float32[?,?]" in repr(session)


def test_lists_and_none(session):
    elements = [np.full((2, 3), 5, np.float32), np.zeros((0, 7), np.float32)]
    made, has, same = session.run(None, {"s": elements, "row": ROW, "mask": None})
    assert [e.shape for e in made] == [(2, 3), (0, 7), (1, 4)]
    assert (made[0] == 5).all() and (made[2] == 1).all()
    assert not has and same is None
    # An optional may be left out, too.
    assert session.run(["same"], {"s": [], "row": ROW}) == [None]
    given = np.arange(4, dtype=np.float32)
    made, has, same = session.run(None, {"s": (), "row": ROW, "mask": given})
    assert len(made) == 1 and has and (same == given).all()


def test_order_of_names(session):
    has, made = session.run(["has", "t"], {"s": [ROW.T], "row": ROW})
    assert not has and [e.shape for e in made] == [(4, 1), (1, 4)]


@pytest.mark.parametrize(
    "inputs, text",
    [
        ({"s": ROW}, "takes a list of arrays, not ndarray"),
        ({"s": None}, "takes a list of arrays"),
        ({}, "input 's' is missing"),
        ({"s": [ROW, ROW[0]]}, r"input 's\[1\]' has shape"),
        ({"s": [ROW.astype(np.float64)]}, r"input 's\[0\]' is float32"),
        ({"s.data": ROW}, "no input 's.data'"),
        ({"s": [], "mask": [ROW]}, "input 'mask'"),
    ],
)
def test_wrong_inputs(session, inputs, text):
    with pytest.raises(fathom.Error, match=text) as error:
        session.run(None, {"row": ROW, **inputs})
    assert error.value.code == "F1012"


def test_ranks_must_agree_where_any_will_do():
    info = [helper.make_value_info(name, sequence_type()) for name in ("s", "t")]
    session = session_of([helper.make_node("Identity", ["s"], ["t"])], info[:1], info[1:])
    assert session.inputs[0].shape is None
    with pytest.raises(fathom.Error, match="has 1 dimensions, other elements have 2"):
        session.run(None, {"s": [ROW, ROW[0]]})


def test_no_array_can_be_given_for_a_sequence(session):
    with pytest.raises(fathom.Error, match="is a sequence"):
        session.run(None, {"s": [], "row": ROW}, {"t": np.zeros(3, np.float32)})


def test_verify(tmp_path):
    info = [helper.make_value_info("s", sequence_type(shape=[None])), helper.make_value_info("t", sequence_type())]
    neg = helper.make_graph([helper.make_node("Neg", ["a"], ["b"])], "g", [value("a", None)], [value("b", None)])
    model = make_model([helper.make_node("SequenceMap", ["s"], ["t"], body=neg)], info[:1], info[1:], opset=18)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    report = verify(path, dims={"s.length": 3})
    assert report["ok"] and report["inputs"] == {"s": [[1], [1], [1]]}
    assert [output["name"] for output in report["outputs"]] == ["len(t)", "t[0]", "t[1]", "t[2]"]
