#!/usr/bin/env python3
"""What skl2onnx and onnxmltools export of scikit-learn, XGBoost and LightGBM, against ONNX Runtime.

    check_sklearn.py [NAME ...] [--save FOLDER] [--from FOLDER]

Trains small models on made-up data, exports, compiles and runs them on fresh rows, and compares labels and scores. Needs scikit-learn, skl2onnx,
and for some onnxmltools, xgboost and lightgbm, so `./dev test` does not run it. Where those are in one Python and Fathom in another, --save writes
the models and their inputs, and --from checks them. Exits with 1 when a model does not compile or differs.
"""
import argparse
import pathlib
import pickle
import sys

import numpy as np

TOLERANCE = 1e-4


def train(wanted):
    """(name, model, inputs) of every export."""
    from skl2onnx import to_onnx
    from sklearn import compose, decomposition, ensemble, feature_selection, impute, linear_model, naive_bayes, neighbors, neural_network
    from sklearn import pipeline, preprocessing, svm, tree

    random = np.random.default_rng(0)
    x = random.standard_normal((400, 10)).astype(np.float32)
    fresh = random.standard_normal((57, 10)).astype(np.float32)
    two, three = (x[:, 0] + x[:, 1] > 0).astype(np.int64), np.argmax(x[:, :3], axis=1)
    names = np.array(["bird", "cat", "dog"])[three]
    target, targets = x[:, 0] * 2 + x[:, 1] ** 2, x[:, :2] @ [[1.0, 2.0], [3.0, -1.0]]

    def models():
        yield "decision_tree", tree.DecisionTreeClassifier(max_depth=6), three
        yield "decision_tree_regressor", tree.DecisionTreeRegressor(), targets
        yield "random_forest_2", ensemble.RandomForestClassifier(21), two  # an even number of trees can tie
        yield "random_forest_3", ensemble.RandomForestClassifier(20, max_depth=8), three
        yield "random_forest_strings", ensemble.RandomForestClassifier(20), names
        yield "random_forest_regressor", ensemble.RandomForestRegressor(30), target
        yield "extra_trees", ensemble.ExtraTreesClassifier(20), three
        yield "gradient_boosting_2", ensemble.GradientBoostingClassifier(n_estimators=20), two
        yield "gradient_boosting_3", ensemble.GradientBoostingClassifier(n_estimators=10), three
        yield "gradient_boosting_regressor", ensemble.GradientBoostingRegressor(n_estimators=20), target
        yield "hist_gradient_boosting", ensemble.HistGradientBoostingClassifier(max_iter=20), three
        yield "hist_gradient_boosting_regressor", ensemble.HistGradientBoostingRegressor(max_iter=20), target
        yield "ada_boost", ensemble.AdaBoostClassifier(n_estimators=10), three
        yield "bagging", ensemble.BaggingClassifier(n_estimators=5), three
        yield "isolation_forest", ensemble.IsolationForest(n_estimators=20), None
        yield "voting", ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4))]), two
        yield "stacking", ensemble.StackingRegressor([("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=4))]), target
        yield "logistic_regression_2", linear_model.LogisticRegression(), two
        yield "logistic_regression_3", linear_model.LogisticRegression(), names
        yield "ridge", linear_model.Ridge(), targets
        yield "sgd", linear_model.SGDClassifier(), three
        yield "perceptron", linear_model.Perceptron(), two
        yield "linear_svc", svm.LinearSVC(), three
        yield "svc_rbf", svm.SVC(), three
        yield "svc_probability", svm.SVC(probability=True), three
        yield "svc_two", svm.SVC(kernel="poly"), two
        yield "svr", svm.SVR(), target
        yield "nu_svc", svm.NuSVC(kernel="sigmoid"), two
        yield "one_class_svm", svm.OneClassSVM(), None
        yield "knn", neighbors.KNeighborsClassifier(), three
        yield "knn_regressor", neighbors.KNeighborsRegressor(), target
        yield "naive_bayes", naive_bayes.GaussianNB(), three
        yield "bernoulli_naive_bayes", naive_bayes.BernoulliNB(), three
        yield "mlp", neural_network.MLPClassifier(hidden_layer_sizes=(20,), max_iter=50), names
        yield "mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(20,), max_iter=50), target
        yield "scaled", pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()), two
        yield "ranges", pipeline.make_pipeline(preprocessing.MinMaxScaler(), decomposition.PCA(4), linear_model.Ridge()), target
        yield "normalized", pipeline.make_pipeline(preprocessing.Normalizer("l1"), preprocessing.Binarizer(), linear_model.Ridge()), target
        yield "robust", pipeline.make_pipeline(preprocessing.RobustScaler(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()), target
        yield "selected", pipeline.make_pipeline(feature_selection.SelectKBest(k=4), tree.DecisionTreeClassifier(max_depth=4)), three
        yield "bins", pipeline.make_pipeline(preprocessing.KBinsDiscretizer(4), linear_model.LogisticRegression()), two
        yield "power", pipeline.make_pipeline(preprocessing.PowerTransformer(), linear_model.LogisticRegression()), two

    for name, made, labels in models():
        if wanted and name not in wanted:
            continue
        made.fit(x) if labels is None else made.fit(x, labels)
        try:
            exported = to_onnx(made, x[:1])
        except Exception as error:  # of the exporter, which knows some versions of scikit-learn only
            print(f"{name}: cannot be exported: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        yield name, exported, {"X": fresh}
        if name in ("logistic_regression_3", "random_forest_2"):
            yield name + "_maps", to_onnx(made, x[:1], options={"zipmap": True}), {"X": fresh}
    yield from tables(wanted, random, compose, impute, pipeline, preprocessing, linear_model, ensemble)
    yield from boosted(wanted, x, fresh, two, three, target)


def tables(wanted, random, compose, impute, pipeline, preprocessing, linear_model, ensemble):
    """Columns of numbers with holes and of strings, as data frames have them."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    def rows(count):
        numbers = random.standard_normal((count, 2)).astype(np.float32)
        numbers[random.random(numbers.shape) < 0.1] = np.nan
        colours = random.choice(np.array(["red", "green", "blue"], object), (count, 1))
        return np.concatenate([numbers.astype(object), colours, random.choice(np.array(["s", "m", "l"], object), (count, 1))], axis=1)

    table, labels = rows(300), random.integers(0, 2, 300)
    numeric = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
    for name, encoder in (("one_hot", preprocessing.OneHotEncoder(handle_unknown="ignore")), ("ordinal", preprocessing.OrdinalEncoder())):
        for kind, last in (("linear", linear_model.LogisticRegression()), ("forest", ensemble.RandomForestClassifier(10))):
            full = f"table_{name}_{kind}"
            if wanted and full not in wanted:
                continue
            made = pipeline.make_pipeline(compose.ColumnTransformer([("n", numeric, [0, 1]), ("s", encoder, [2, 3])]), last).fit(table, labels)
            types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("c", StringTensorType([None, 1])),
                     ("d", StringTensorType([None, 1]))]
            fresh = rows(31)
            inputs = {name: fresh[:, i : i + 1].astype(np.float32 if i < 2 else object) for i, (name, _) in enumerate(types)}
            yield full, to_onnx(made, initial_types=types), inputs


def boosted(wanted, x, fresh, two, three, target):
    import lightgbm
    import xgboost
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    holes = fresh.copy()
    holes[np.random.default_rng(1).random(holes.shape) < 0.2] = np.nan
    types = [("X", FloatTensorType([None, x.shape[1]]))]
    for name, labels in (("two", two), ("three", three), ("regressor", target)):
        kind = "Regressor" if name == "regressor" else "Classifier"
        for package, convert, more in ((xgboost, convert_xgboost, {}), (lightgbm, convert_lightgbm, {"verbose": -1})):
            full = f"{package.__name__}_{name}"
            if wanted and full not in wanted:
                continue
            made = getattr(package, ("XGB" if package is xgboost else "LGBM") + kind)(n_estimators=30, **more).fit(x, labels)
            yield full, convert(made, initial_types=types), {"X": holes}


def agree(got, want):
    if isinstance(want, list):
        return len(got) == len(want) and all(
            g.keys() == w.keys() and np.allclose(list(g.values()), list(w.values()), rtol=TOLERANCE, atol=TOLERANCE) for g, w in zip(got, want)
        )
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return np.allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE) if want.dtype.kind == "f" else bool((got == want).all())


def check(name, data, inputs):
    import onnxruntime

    import fathom

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    renamed = dict(zip((i.name for i in session.get_inputs()), inputs.values()))
    want = session.run(None, renamed)
    try:
        got = fathom.Session(fathom.compile(data)).run(None, renamed)
    except fathom.Error as error:
        print(f"{name}: {error}")
        return False
    wrong = [o.name for o, g, w in zip(session.get_outputs(), got, want, strict=True) if not agree(g, w)]
    print(f"{name}: {'differs in ' + ', '.join(wrong) if wrong else 'ok'}")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--from", type=pathlib.Path, metavar="FOLDER", dest="source")
    arguments = parser.parse_args()
    if arguments.source:
        exports = [(path.stem, *pickle.loads(path.read_bytes())) for path in sorted(arguments.source.glob("*.pickle"))]
        exports = [export for export in exports if not arguments.names or export[0] in arguments.names]
    else:
        exports = ((name, model.SerializeToString(), inputs) for name, model, inputs in train(arguments.names))
    good, count = 0, 0
    for name, data, inputs in exports:
        if arguments.save:
            arguments.save.mkdir(parents=True, exist_ok=True)
            (arguments.save / f"{name}.pickle").write_bytes(pickle.dumps((data, inputs)))
            print(name)
            continue
        count += 1
        good += check(name, data, inputs)
    if not arguments.save:
        print(f"{good} of {count} agree")
    sys.exit(0 if arguments.save or good == count else 1)


if __name__ == "__main__":
    main()
