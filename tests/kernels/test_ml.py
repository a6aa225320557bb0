"""The other operators of ai.onnx.ml against ONNX Runtime: linear models, support vectors, features, labels, strings, maps."""

import forests
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom
from support.compare import assert_close
from fathom.verify import verify

KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(object): TensorProto.STRING,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32}


def make(nodes, inputs, outputs, ml=3, opset=17):
    """A model of these inputs with a batch that is not known; outputs are (type, rank) by name."""
    given = {name: (KINDS[a.dtype], ["n", *a.shape[1:]] if a.ndim else []) for name, a in inputs.items()}
    made = forests.model(nodes, given, {name: (kind, [None] * rank) for name, (kind, rank) in outputs.items()}, ml)
    made.opset_import[1].version = opset
    return made


def check(nodes, inputs, outputs, ml=3, cuts=(None, 1, 0), opset=17):
    model = make(nodes, inputs, outputs, ml, opset)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    artifact = fathom.compile(model, dim={"n": (0, 4096)})
    for cut in cuts:
        values = {name: value[:cut] for name, value in inputs.items()}
        expected = session.run(None, values)
        for threads in (1, 2):
            for got, want in zip(fathom.Session(artifact, threads=threads).run(None, values), expected, strict=True):
                assert got.shape == want.shape and got.dtype == want.dtype
                if want.dtype.kind != "f":
                    assert (got == want).all()
                    continue
                # ONNX Runtime takes a small probability for what another one leaves of 1.
                assert_close(got, want, "product", data=1.0)


def numbers(random, *shape):
    return [float(n) for n in random.standard_normal(shape).astype(np.float32).flat]


F, I, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_linear_classifier(random, transform, classes, dtype):
    labels = [10 * i for i in range(max(classes, 2))]
    made = forests.node("LinearClassifier", ["x"], ["y", "z"], coefficients=numbers(random, classes, 6), intercepts=numbers(random, classes),
                        classlabels_ints=labels, post_transform=transform)
    check([made], {"x": (3 * random.standard_normal((33, 6))).astype(dtype)}, {"y": (I, 1), "z": (F, 2)})


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regressor(random, transform, targets):
    made = forests.node("LinearRegressor", ["x"], ["y"], coefficients=numbers(random, targets, 7), intercepts=numbers(random, targets),
                        targets=targets, post_transform=transform)
    check([made], {"x": random.standard_normal((33, 7)).astype(np.float32)}, {"y": (F, 2)})


KERNELS = [("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.5, 1.0, 3.0]), ("POLY", [0.5, 1.0, 4.0]), ("RBF", [0.3, 0.0, 0.0]),
           ("SIGMOID", [0.2, 0.1, 0.0])]


@pytest.mark.parametrize("kernel, params", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_svm_regressor(random, kernel, params, one_class):
    made = forests.node("SVMRegressor", ["x"], ["y"], kernel_type=kernel, kernel_params=params, support_vectors=numbers(random, 11, 5),
                        coefficients=numbers(random, 11), n_supports=11, rho=numbers(random, 1), one_class=one_class)
    check([made], {"x": random.standard_normal((33, 5)).astype(np.float32)}, {"y": (F, 2)})


def test_svm_regressor_without_vectors(random):
    made = forests.node("SVMRegressor", ["x"], ["y"], kernel_params=[0.0, 0.0, 0.0], coefficients=numbers(random, 5), rho=numbers(random, 1))
    check([made], {"x": random.standard_normal((33, 5)).astype(np.float32)}, {"y": (F, 2)})


@pytest.mark.parametrize("kernel, params", KERNELS[::3])
@pytest.mark.parametrize("counts", [[3, 4], [2, 3, 1, 4]])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_svm_classifier(random, kernel, params, counts, probabilities, transform):
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    more = {"prob_a": [-abs(n) for n in numbers(random, pairs)], "prob_b": numbers(random, pairs)} if probabilities else {}
    made = forests.node("SVMClassifier", ["x"], ["y", "z"], kernel_type=kernel, kernel_params=params, vectors_per_class=counts,
                        support_vectors=numbers(random, vectors, 5), coefficients=numbers(random, classes - 1, vectors),
                        rho=numbers(random, pairs), classlabels_ints=[3 * i for i in range(classes)],
                        post_transform=transform, **more)
    check([made], {"x": random.standard_normal((33, 5)).astype(np.float32)}, {"y": (I, 1), "z": (F, 2)})


@pytest.mark.parametrize("classes", [2, 4])
def test_svm_classifier_without_vectors(random, classes):
    made = forests.node("SVMClassifier", ["x"], ["y", "z"], kernel_params=[0.0, 0.0, 0.0], coefficients=numbers(random, classes, 5),
                        rho=numbers(random, 1), classlabels_ints=list(range(classes)))
    check([made], {"x": random.standard_normal((33, 5)).astype(np.float32)}, {"y": (I, 1), "z": (F, 2)})


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
@pytest.mark.parametrize("each", [1, 5])
def test_scaler(random, dtype, each):
    made = forests.node("Scaler", ["x"], ["y"], offset=numbers(random, each), scale=numbers(random, each))
    check([made], {"x": (5 * random.standard_normal((13, 5))).astype(dtype)}, {"y": (F, 2)})


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_normalizer(random, norm, dtype):
    values = (5 * random.standard_normal((13, 5))).astype(dtype)
    values[3] = 0
    check([forests.node("Normalizer", ["x"], ["y"], norm=norm)], {"x": values}, {"y": (F, 2)})


@pytest.mark.parametrize("replaced", [float("nan"), 2.0])
@pytest.mark.parametrize("each", [1, 4])
def test_imputer(random, replaced, each):
    values = random.choice(np.float32([1, 2, 3, np.nan]), (13, 4))
    made = forests.node("Imputer", ["x"], ["y"], imputed_value_floats=numbers(random, each), replaced_value_float=replaced)
    check([made], {"x": values}, {"y": (F, 2)})
    made = forests.node("Imputer", ["x"], ["y"], imputed_value_int64s=[int(n) for n in random.integers(0, 9, each)], replaced_value_int64=3)
    check([made], {"x": random.integers(1, 5, (13, 4))}, {"y": (I, 2)})


def test_binarizer(random):
    values = random.choice(np.float32([-1, 0.5, 0.25, np.inf]), (13, 4))
    check([forests.node("Binarizer", ["x"], ["y"], threshold=0.25)], {"x": values}, {"y": (F, 2)})


def test_array_feature_extractor(random):
    pick = helper.make_node("Constant", [], ["i"], value=numpy_helper.from_array(np.int64([[3, 0, 3]])))
    made = forests.node("ArrayFeatureExtractor", ["x", "i"], ["y"])
    check([pick, made], {"x": random.standard_normal((13, 4)).astype(np.float32)}, {"y": (F, 2)})


def test_feature_vectorizer(random):
    made = forests.node("FeatureVectorizer", ["a", "b"], ["y"], inputdimensions=[3, 2])
    inputs = {"a": random.standard_normal((13, 3)).astype(np.float32), "b": random.standard_normal((13, 2)).astype(np.float32)}
    check([made], inputs, {"y": (F, 2)}, cuts=(None, 1))  # ONNX Runtime aborts without rows


WORDS = np.array(["red", "green", "blue", "", "größer", "a\0b", "unknown"], object)


def words(random, *shape):
    return random.choice(WORDS, shape)


@pytest.mark.parametrize("zeros", [1, 0])
def test_one_hot_encoder(random, zeros):
    made = forests.node("OneHotEncoder", ["x"], ["y"], cats_strings=["green", "größer", "", "red"], zeros=zeros)
    known = WORDS if zeros else WORDS[[0, 1, 3, 4]]
    check([made], {"x": random.choice(known, (13, 2))}, {"y": (F, 3)})
    for dtype in (np.int64, np.float32):
        made = forests.node("OneHotEncoder", ["x"], ["y"], cats_int64s=[4, -1, 7], zeros=zeros)
        check([made], {"x": random.choice([4, -1, 7], (13,)).astype(dtype)}, {"y": (F, 2)})


def test_an_unknown_category_is_refused():
    made = forests.node("OneHotEncoder", ["x"], ["y"], cats_strings=["a"], zeros=0)
    session = fathom.Session(fathom.compile(make([made], {"x": np.array(["a"], object)}, {"y": (F, 2)})))
    with pytest.raises(fathom.Error, match="a category is not known"):
        session.run(None, {"x": np.array(["a", "b"], object)})


@pytest.mark.parametrize(
    "keys, values, kind",
    [
        ({"keys_strings": ["red", "", "größer"]}, {"values_int64s": [7, -2, 9], "default_int64": 5}, I),
        ({"keys_strings": ["red", "", "a\0b"]}, {"values_floats": [0.5, -2.0, 9.0], "default_float": 5.5}, F),
        ({"keys_strings": ["red", "blue"]}, {"values_strings": ["rot", "blau"], "default_string": "?"}, S),
        ({"keys_int64s": [3, 1, 4]}, {"values_strings": ["c", "a", "d"]}, S),
        ({"keys_int64s": [3, 1, 2**60]}, {"values_int64s": [1, 2, 3]}, I),
        ({"keys_int64s": [3, 1, 4]}, {"values_floats": [0.5, 0.25, 1.0]}, F),
        ({"keys_floats": [0.5, float("nan"), 2.0]}, {"values_strings": ["half", "nothing", "two"]}, S),
        ({"keys_floats": [0.5, 1.0, 2.0]}, {"values_int64s": [1, 2, 3]}, I),
    ],
)
def test_label_encoder(random, keys, values, kind):
    if "keys_strings" in keys:
        given = words(random, 13, 2)
    elif "keys_int64s" in keys:
        given = random.choice(np.int64([3, 1, 4, 2, 2**60, -9, 2**62]), (13, 2))
    else:
        given = random.choice(np.float32([0.5, np.nan, 2, 1, -1]), (13, 2))
    made = forests.node("LabelEncoder", ["x"], ["y"], **keys, **values)
    # The second version does not say what is equal to NaN.
    check([made], {"x": given}, {"y": (kind, 2)}, ml=4 if "keys_floats" in keys else 2)


def test_label_encoder_of_tensors(random):
    made = forests.node("LabelEncoder", ["x"], ["y"], keys_tensor=helper.make_tensor("k", S, [3], [b"red", b"blue", b"x"]),
                        values_tensor=numpy_helper.from_array(np.int64([4, 5, 6])), default_tensor=numpy_helper.from_array(np.int64([-7])))
    check([made], {"x": words(random, 13, 2)}, {"y": (I, 2)}, ml=4)


def test_the_first_label_encoder(random):
    made = forests.node("LabelEncoder", ["x"], ["y"], classes_strings=["red", "blue", "green"], default_int64=9)
    check([made], {"x": words(random, 13)}, {"y": (I, 1)}, ml=1)
    made = forests.node("LabelEncoder", ["x"], ["y"], classes_strings=["red", "blue", "green"], default_string="none")
    check([made], {"x": random.integers(-1, 5, (13,))}, {"y": (S, 1)}, ml=1)


def test_category_mapper(random):
    cats = {"cats_strings": ["red", "blue", "green"], "cats_int64s": [3, 1, 9]}
    check([forests.node("CategoryMapper", ["x"], ["y"], **cats)], {"x": words(random, 13)}, {"y": (I, 1)})
    check([forests.node("CategoryMapper", ["x"], ["y"], **cats)], {"x": random.integers(0, 10, (13,))}, {"y": (S, 1)})


@pytest.mark.parametrize("classes", [2, 4])
def test_labels_that_are_strings(random, classes):
    labels = ["bird", "cat", "dog", "größer"][:classes]
    values = random.standard_normal((40, 3)).astype(np.float32)
    # A forest may give all rows one label; the next one does not.
    for _ in range(50):
        model = forests.classifier(random, 8, 3, 3, labels, lambda tree: [0] if classes == 2 else range(classes))
        want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": values})
        if len(set(want[0])) > 1:
            break
    got = fathom.Session(fathom.compile(model)).run(None, {"x": values})
    assert (got[0] == want[0]).all() and len(set(got[0])) > 1
    assert_close(got[1], want[1], "sum")


def test_strings_are_moved_and_compared(random):
    nodes = [
        helper.make_node("Constant", [], ["red"], value=helper.make_tensor("red", S, [1], [b"red"])),
        helper.make_node("Equal", ["x", "red"], ["is_red"]),
        helper.make_node("Transpose", ["x"], ["turned"]),
        helper.make_node("Transpose", ["turned"], ["back"]),
        helper.make_node("Where", ["is_red", "red", "back"], ["same"]),
        helper.make_node("Concat", ["same", "x"], ["y"], axis=1),
    ]
    check(nodes, {"x": words(random, 9, 3)}, {"is_red": (TensorProto.BOOL, 2), "y": (S, 2)}, opset=19)


def test_distinct_strings(random):
    nodes = [helper.make_node("Unique", ["x"], ["y", "first", "inverse", "counts"], sorted=0)]
    outputs = {"y": (S, 1), "first": (I, 1), "inverse": (I, 1), "counts": (I, 1)}
    check(nodes, {"x": words(random, 30)}, outputs, opset=19)
    with pytest.raises(fathom.Error, match="F3003.*alphabetical order(.|\n)*hint: with sorted = 0"):
        fathom.compile(make([helper.make_node("Unique", ["x"], ["y"])], {"x": words(random, 5)}, {"y": (S, 1)}, opset=19))


def test_a_list_of_strings(random):
    nodes = [
        helper.make_node("SplitToSequence", ["x", "parts"], ["list"], axis=0),
        helper.make_node("Constant", [], ["parts"], value=numpy_helper.from_array(np.int64([2, 4, 3]))),
        helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.int64(1))),
        helper.make_node("SequenceAt", ["list", "one"], ["part"]),
        helper.make_node("ConcatFromSequence", ["list"], ["whole"], axis=0),
    ]
    check(nodes, {"x": words(random, 9, 3)}, {"part": (S, 2), "whole": (S, 2)}, opset=19, cuts=(None,))


def test_constant_strings(random):
    """Folded, chosen by a branch, and outputs as they are."""
    branch = [
        helper.make_graph([helper.make_node("Identity", [name], ["r"])], name, [], [helper.make_tensor_value_info("r", S, [2])])
        for name in ("joined", "other")
    ]
    nodes = [
        helper.make_node("Constant", [], ["a"], value=helper.make_tensor("a", S, [1], [b"yes"])),
        helper.make_node("Constant", [], ["b"], value=helper.make_tensor("b", S, [1], [b"no"])),
        helper.make_node("Concat", ["a", "b"], ["joined"], axis=0),
        helper.make_node("Concat", ["b", "b"], ["other"], axis=0),
        helper.make_node("Gather", ["x", "zero"], ["first"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.int64(0))),
        helper.make_node("Equal", ["first", "a0"], ["is_yes"]),
        helper.make_node("Squeeze", ["a", "axis"], ["a0"]),
        helper.make_node("Constant", [], ["axis"], value=numpy_helper.from_array(np.int64([0]))),
        helper.make_node("If", ["is_yes"], ["chosen"], then_branch=branch[0], else_branch=branch[1]),
        helper.make_node("Identity", ["x"], ["same"]),
    ]
    outputs = {"joined": (S, [2]), "chosen": (S, [2]), "same": (S, ["n"])}
    model = forests.model(nodes, {"x": (S, ["n"])}, outputs)
    model.opset_import[1].version = 19
    session = fathom.Session(fathom.compile(model))
    for first, chosen in (("yes", ["yes", "no"]), ("maybe", ["no", "no"])):
        got = session.run(None, {"x": np.array([first, "more"], object)})
        assert [list(array) for array in got] == [["yes", "no"], chosen, [first, "more"]]


def test_arrays_of_str_and_bytes():
    made = forests.node("LabelEncoder", ["x"], ["y"], keys_strings=["a", "ü"], values_int64s=[1, 2])
    session = fathom.Session(fathom.compile(make([made], {"x": np.array(["a"], object)}, {"y": (I, 1)})))
    for array in (np.array(["a", "ü", "b"]), np.array([b"a", "ü".encode(), b"b"]), np.array(["a", "ü", "b"], object), ["a", "ü", "b"]):
        assert session.run(None, {"x": array})[0].tolist() == [1, 2, -1]
    with pytest.raises(fathom.Error, match="is string, the array is int64"):
        session.run(None, {"x": np.arange(3)})
    with pytest.raises(fathom.Error, match="an element of the array is int"):
        session.run(None, {"x": np.array(["a", 1], object)})
    assert "string[n]" in repr(session)


@pytest.mark.parametrize("op", ["StringNormalizer", "StringConcat", "Cast", "Unique"])
def test_what_looks_into_strings_is_refused(op):
    attributes = {"to": F} if op == "Cast" else {}
    inputs = ["x", "x"] if op == "StringConcat" else ["x"]
    model = forests.model([helper.make_node(op, inputs, ["y"], **attributes)], {"x": (S, ["n"])}, {"y": (F if op == "Cast" else S, ["n"])})
    model.opset_import[1].version = 20
    with pytest.raises(fathom.Error, match=op):
        fathom.compile(model)


def test_cast_to_strings_is_refused():
    model = forests.model([helper.make_node("Cast", ["x"], ["y"], to=S)], {"x": (F, ["n"])}, {"y": (S, ["n"])})
    with pytest.raises(fathom.Error, match="Cast has element type STRING, which is not supported"):
        fathom.compile(model)


@pytest.mark.parametrize("labels", [["no", "maybe", "yes"], [3, 1, 2]])
def test_zip_map(random, labels):
    strings = isinstance(labels[0], str)
    made = forests.node("ZipMap", ["x"], ["y"], **{"classlabels_strings" if strings else "classlabels_int64s": labels})
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info("x", F, ["n", 3])],
                              [helper.make_value_info("y", helper.make_sequence_type_proto(
                                  helper.make_map_type_proto(S if strings else I, helper.make_tensor_type_proto(F, []))))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)
    values = random.standard_normal((5, 3)).astype(np.float32)
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": values})
    session = fathom.Session(fathom.compile(model))
    assert session.run(None, {"x": values}) == want
    assert session.outputs[0].kind == "maps" and session.manifest["outputs"][0]["keys"] == labels
    assert verify(model, dims={"n": 4})["ok"]


def test_maps_go_nowhere_else():
    nodes = [forests.node("ZipMap", ["x"], ["m"], classlabels_int64s=[0, 1]), helper.make_node("Identity", ["m"], ["y"])]
    model = forests.model(nodes, {"x": (F, ["n", 2])}, {"y": (F, ["n", 2])})
    with pytest.raises(fathom.Error, match="ZipMap's maps can only be an output"):
        fathom.compile(model)
