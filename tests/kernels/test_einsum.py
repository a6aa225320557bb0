"""Einsum over letters, ellipses, diagonals and broadcasting, with static and symbolic sizes, against numpy in double precision."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import fathom
from support.compare import assert_close

SIZES = dict(a=2, b=3, c=5, d=7, e=1, i=4, j=6, k=11, n=13)
# The equation and the shapes of its inputs, where letters stand for sizes.
CASES = [
    ("ij->ji", "ij"), ("ij->", "ij"), ("ij->i", "ij"), ("ijk->kj", "ijk"), ("ii->i", "ii"), ("ii", "ii"), ("iij->j", "iij"), ("iii->i", "iii"),
    ("...ii->...i", "abii"), ("ij,jk", "ij jk"), ("ij,jk->ik", "ij jk"), ("ij,kj->ki", "ij kj"), ("i,i", "i i"), ("i,i->i", "i i"), ("i,j->ij", "i j"),
    ("i,j->ji", "i j"), ("ij,ij->ij", "ij ij"), ("ij,i->ij", "ij i"), ("ij,j->ji", "ij j"), ("bij,bjk->bik", "bij bjk"), ("bij,bkj->bki", "bij bkj"),
    ("bhid,bhjd->bhij", "abic abjc"), ("bhij,bhjd->bhid", "abij abjd"), ("bnd,hde->bhne", "aid bdk"), ("abc,cd,d->ab", "abc cd d"),
    ("ij,jk,kl->il", "ij jk kn"), ("a,b,c->abc", "a b c"), ("...ij,...jk->...ik", "abij abjk"), ("...ij,...jk->...ik", "abij bjk"),
    ("...ij,jk->...ik", "abij jk"), ("i...,j...->ij...", "iab jab"), ("...,...->...", "ab ab"), ("...i,...i", "abi ebi"), ("ab...,b...c->a...c", "abij bijc"),
    ("bqhd,bkhd->bhqk", "aibd ajbd"), ("ijkl,jl->ik", "ijab jb"), ("ij,kl->", "ij ab"), ("ijj,jk->ik", "ijj jk"), (" i j , j k -> i k ", "ij jk"),
    ("ei,ij->ej", "ei ij"), ("abcd,aecd->abe", "abcd aecd"),
]


def run(equation, arrays, shapes):
    kind = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}[arrays[0].dtype.type]
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, shape in zip(names, shapes)]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return fathom.Session(fathom.compile(model)).run(None, dict(zip(names, arrays)))[0]


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("equation, letters", CASES)
def test_einsum(equation, letters, symbolic, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal([SIZES[letter] for letter in word]).astype(np.float32) for word in letters.split()]
    # Dimensions of size 1 that broadcast must be known to.
    shapes = [[letter if symbolic and letter != "e" else SIZES[letter] for letter in word] for word in letters.split()]
    wanted = np.einsum(equation.replace(" ", ""), *(array.astype(np.float64) for array in arrays))
    got = run(equation, arrays, shapes)
    assert got.shape == wanted.shape
    assert_close(got, wanted, "product")


@pytest.mark.parametrize("equation, letters", [("ij,jk->ik", "ij jk"), ("ii->i", "ii"), ("ij->j", "ij"), ("i,i", "i i")])
def test_integers(equation, letters, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-9, 9, [SIZES[letter] for letter in word]) for word in letters.split()]
    np.testing.assert_array_equal(run(equation, arrays, [array.shape for array in arrays]), np.einsum(equation, *arrays))


@pytest.mark.parametrize("equation, shapes, words", [
    ("ij,jk->ik", [[2, 3]], "has 2 terms for 1 inputs"),
    ("ij->ik", [[2, 3]], "gives a label that no input has"),
    ("ij->ii", [[2, 3]], "gives one twice"),
    ("ijk->i", [[2, 3]], "3 labels, but it has rank 2"),
    ("i->i", [[2, 3]], "1 labels, but it has rank 2"),
    ("i1->i", [[2, 3]], "is not made of letters"),
    ("......->", [[2, 3, 4]], "is not made of letters"),
    ("ij,jk->ik", [[2, 3], [4, 5]], "size 3 and for size 4"),
])
def test_bad_equations(equation, shapes, words):
    with pytest.raises(fathom.Error, match=words):
        run(equation, [np.zeros(shape, np.float32) for shape in shapes], shapes)
