"""Squeeze without axes of sizes that may be 1: what the model leaves open is decided once, and the run checks it."""
import numpy as np
import onnx
import pytest

import fathom
from support.compare import agree
from support.models import FLOAT, INT64, floats, model, node


def squeezed(after, shape=("n", 1), declared=None, opset=17, more=(), inputs=(), constants=None):
    """x squeezed to y, and what follows it; the rank of z is declared, or nothing."""
    proto = model([*more, node("Squeeze", "x" if not more else "m", "y"), *after], [("x", FLOAT, list(shape)), *inputs], [("z", FLOAT)], constants)
    if declared is not None:
        proto.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("z", FLOAT, declared))
    proto.opset_import[0].version = opset
    return proto


NEG = [node("Neg", "y", "z")]


def refuses(proto, feeds, match):
    with pytest.raises(fathom.Error, match=match):
        fathom.Session(fathom.compile(proto)).run(None, feeds)


@pytest.mark.parametrize("opset", [11, 17])
def test_a_size_that_changes_is_kept(opset, random):
    proto = squeezed(NEG, ("n", 1, 3), opset=opset)
    with pytest.warns(UserWarning, match="'Squeeze_y': without axes it leaves out n where that is 1, .* compiled for others"):
        agree(proto, [{"x": floats(random, n, 1, 3)} for n in (2, 5, 7)])
        refuses(proto, {"x": floats(random, 1, 1, 3)}, r"dimension 0 \('n'\): got 1, compiled for 2 to")


@pytest.mark.parametrize("opset", [11, 17])
def test_what_is_declared_decides(opset, random):
    """The exporter saw a batch of 1: one number comes out."""
    proto = squeezed(NEG, declared=[], opset=opset)
    with pytest.warns(UserWarning, match="compiled for 1; a run with another size is refused"):
        agree(proto, [{"x": floats(random, 1, 1)} for _ in range(2)])
        refuses(proto, {"x": floats(random, 2, 1)}, "x")


@pytest.mark.filterwarnings("ignore:.*without axes")
@pytest.mark.parametrize("declared,sizes,refused", [(["n"], (3, 1), (1, 3)), (["n", "m"], (3, 2), (3, 1)), ([], (1, 1), (2, 1))])
def test_two_sizes_of_which_some_are_declared(declared, sizes, refused, random):
    proto = squeezed(NEG, ("n", 1, "m"), declared=declared)
    if declared == ["n"]:  # how many are 1 is not which
        with pytest.raises(fathom.Error, match="cannot be known whether") as error:
            fathom.compile(proto)
        assert error.value.code == "F3004" and "--dim" in error.value.hint
        return
    agree(proto, [{"x": floats(random, sizes[0], 1, sizes[1])} for _ in range(2)])
    refuses(proto, {"x": floats(random, refused[0], 1, refused[1])}, "x|'[nm]'")


def test_what_follows_decides(random, recwarn):
    """A matrix is needed, so that the size is not 1; or a vector, so that it is."""
    agree(squeezed([node("Transpose", "y", "z", perm=[1, 0])], ("n", 1, 3)), [{"x": floats(random, n, 1, 3)} for n in (2, 5)])
    proto = squeezed([node("Einsum", "y y", "z", equation="i,i->")], ("n", 1, 3))
    agree(proto, [{"x": floats(random, 1, 1, 3)} for _ in range(2)])
    refuses(proto, {"x": floats(random, 2, 1, 3)}, "x")
    assert not [warning for warning in recwarn if "without axes" in str(warning.message)]


def test_what_is_needed_elsewhere_decides(random, recwarn):
    """Another node needs the size to be 1, before the Squeeze or behind it."""
    one = [node("Squeeze", "x axis", "s")]
    constants = {"axis": np.array([0])}
    before = squeezed([node("ReduceSum", "s", "r", keepdims=0), node("Mul", "y r", "z")], ("n", 1, 3), more=[*one, node("Neg", "x", "m")], constants=constants)
    behind = squeezed([*one, node("ReduceSum", "s", "r", keepdims=0), node("Mul", "y r", "z")], ("n", 1, 3), constants=constants)
    for proto in (before, behind):
        agree(proto, [{"x": floats(random, 1, 1, 3)} for _ in range(2)])
        refuses(proto, {"x": floats(random, 2, 1, 3)}, "x")
    assert not [warning for warning in recwarn if "without axes" in str(warning.message)]


def test_what_only_one_way_supports_decides(random):
    """A row can be sizes, and rows cannot."""
    proto = model([node("Squeeze", "x", "y"), node("ConstantOfShape", "y", "z")], [("x", INT64, ["n", 2])], [("z", FLOAT)])
    with pytest.warns(UserWarning, match="compiled for 1"):
        agree(proto, [{"x": np.array([sizes])} for sizes in ((2, 3), (5, 1))])


def test_old_slices_of_sizes_that_change(random):
    """Bounds that were attributes once are treated as those that are inputs."""
    proto = model([node("Slice", "x", "z", axes=[0], starts=[2], ends=[4])], [("x", FLOAT, ["n", 3])], [("z", FLOAT)], opset=9)
    agree(proto, [{"x": floats(random, n, 3)} for n in (1, 3, 4, 7)])


@pytest.mark.filterwarnings("ignore:.*without axes")
def test_ranges_decide(random):
    proto = squeezed(NEG, ("n", 1, 3))
    for sizes in ([1], [2, 5]):
        agree(proto, [{"x": floats(random, n, 1, 3)} for n in sizes for _ in range(2)], dim={"n": (min(sizes), max(sizes))})


@pytest.mark.filterwarnings("ignore:.*without axes")
def test_a_size_that_data_decides(random):
    """Indices of what is not zero: none, or several, but not one."""
    proto = model([node("NonZero", "x", "i"), node("Squeeze", "i", "y"), node("Neg", "y", "z")], [("x", FLOAT, ["n"])], [("z", INT64)])
    agree(proto, [{"x": np.array(x, np.float32)} for x in ([0, 0, 0], [1, 0, 2], [1, 1, 1, 1])])
    refuses(proto, {"x": np.array([0, 3, 0], np.float32)}, "Squeeze")


@pytest.mark.filterwarnings("ignore:.*without axes")
def test_a_size_that_is_computed_of_others(random):
    proto = squeezed(NEG, ("n", 3), more=[node("Slice", "x from to axis step", "m")],
                     constants={"from": np.array([0]), "to": np.array([100]), "axis": np.array([0]), "step": np.array([2])})  # fmt: skip
    agree(proto, [{"x": floats(random, n, 3)} for n in (3, 4, 9)])
    refuses(proto, {"x": floats(random, 2, 3)}, "a dimension is 1 .*Squeeze_y")


def test_recurrent_states_have_the_batch_of_the_input(random):
    """A state of one sequence is not spread over several."""
    weights = {"w": floats(random, 1, 9, 2), "r": floats(random, 1, 9, 3)}
    proto = model([node("GRU", ["x", "w", "r", "", "", "h"], "y", hidden_size=3)],
                  [("x", FLOAT, ["t", "n", 2]), ("h", FLOAT, [1, 1, 3])], [("y", FLOAT)], weights)  # fmt: skip
    agree(proto, [{"x": floats(random, t, 1, 2), "h": floats(random, 1, 1, 3)} for t in (1, 4)])
    refuses(proto, {"x": floats(random, 4, 2, 2), "h": floats(random, 1, 1, 3)}, "x")
