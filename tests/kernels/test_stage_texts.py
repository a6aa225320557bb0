"""Stages given back: what --emit prints leads to the same artifact, and what was changed by hand in it changes the results as it should."""
import re

import fathom
import numpy as np
import onnx.parser
import pytest
from support.compare import assert_close
from support.models import constant, floats

MODELS = {
    "sizes": """<ir_version: 8, opset_import: ["" : 17]>
        sizes (float[n, 6, 9] x) => (float[n, 6, 5] y) <float[9, 5] w>
        { p = MatMul (x, w) r = Relu (p) y = Softmax <axis = -1> (r) }""",
    "convolution": """<ir_version: 8, opset_import: ["" : 17]>
        convolution (float[1, 3, 13, 17] x) => (float[1, 8, 6, 8] y) <float[8, 3, 3, 3] w>
        { c = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu (c) y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r) }""",
    "algorithms": """<ir_version: 8, opset_import: ["" : 17]>
        algorithms (float[1, 64, 28, 28] x) => (float[1, 64, 28, 28] y) <float[64, 64, 3, 3] u, float[64, 64, 3, 3] v, float[64, 64, 3, 3] w>
        { a = Conv <pads = [1, 1, 1, 1]> (x, u) b = Conv <pads = [1, 1, 1, 1]> (a, v) y = Conv <pads = [1, 1, 1, 1]> (b, w) }""",
    "transposition": """<ir_version: 8, opset_import: ["" : 17]>
        transposition (float[2, 48, 65] x) => (float[2, 65, 48] y) { y = Transpose <perm = [0, 2, 1]> (x) }""",
    "loop": """<ir_version: 8, opset_import: ["" : 17]>
        loop (float[n, 3] x, int64 count, bool more) => (float[n, 3] y, float[m, n, 3] all)
        { y, all = Loop (count, more, x) <body = body (int64 i, bool go, float[n, 3] state) => (bool next, float[n, 3] changed, float[n, 3] out)
          { next = Identity (go) changed = Tanh (state) out = Neg (changed) }> }""",
    "data": """<ir_version: 8, opset_import: ["" : 17]>
        data (float[a, 7] x) => (float[k, 2] y) { i = NonZero (x) t = Transpose <perm = [1, 0]> (i) y = Cast <to = 1> (t) }""",
}


def model_of(name):
    model = onnx.parser.parse_model(MODELS[name])
    random = np.random.default_rng(3)
    for weight in model.graph.value_info:
        shape = [size.dim_value for size in weight.type.tensor_type.shape.dim]
        model.graph.initializer.append(constant(weight.name, floats(random, *shape)))
    return model


def inputs_of(name, random):
    return {"sizes": {"x": floats(random, 3, 6, 9)}, "convolution": {"x": floats(random, 1, 3, 13, 17)},
            "algorithms": {"x": floats(random, 1, 64, 28, 28)}, "data": {"x": floats(random, 5, 7)},
            "transposition": {"x": floats(random, 2, 48, 65)},
            "loop": {"x": floats(random, 5, 3), "count": np.array(4), "more": np.array(True)}}[name]


def text_of(model, stage, tmp_path, **options):
    path = tmp_path / f"{stage}.txt"
    fathom.compile(model, output=str(path), emit=stage, **options)
    return path


def run(artifact, feeds):
    return fathom.Session(artifact).run(None, feeds)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("stage", ["graph", "kernels", "loops"])
@pytest.mark.parametrize("name", MODELS)
def test_a_text_leads_to_the_same_artifact(name, stage, tmp_path):
    model = model_of(name)
    text = text_of(model, stage, tmp_path)
    for output, options in ("plain", {}), ("again", {stage: str(text)}):
        fathom.compile(model, output=str(tmp_path / output), **options)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "again").read_bytes()


def test_algorithms_stay_or_are_chosen_anew(tmp_path):
    """One convolution of three has transformed weights, by which weights grow as far as they may; with those as the model's, so may another's."""
    model = model_of("algorithms")

    def winograd(**options):
        path = tmp_path / "it.plan"
        fathom.compile(model, output=str(path), emit="plan", target="neoverse-n1", max_weight_growth=30, **options)
        return path.read_text().count("class:           winograd")

    text = text_of(model, "graph", tmp_path, target="neoverse-n1", max_weight_growth=30)
    assert winograd() == winograd(graph=str(text)) == 1
    text.write_text(text.read_text().replace("graph.has_algorithms, ", ""))
    assert winograd(graph=str(text)) > 1


@pytest.mark.parametrize("name", MODELS)
def test_llvm_leads_to_the_same_results(name, tmp_path, random):
    model, feeds = model_of(name), inputs_of(name, random)
    text = text_of(model, "llvm", tmp_path)
    for got, want in zip(run(fathom.compile(model, llvm=str(text)), feeds), run(fathom.compile(model), feeds), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target, stages", [("opencl", ["graph", "kernels", "loops"]), ("cuda:sm_90", ["graph", "kernels", "loops", "llvm"])])
def test_devices(target, stages, tmp_path):
    model = model_of("convolution")
    fathom.compile(model, output=str(tmp_path / "plain"), target=target)
    for stage in stages:
        text = text_of(model, stage, tmp_path, target=target)
        fathom.compile(model, output=str(tmp_path / "again"), target=target, **{stage: str(text)})
        is_same = (tmp_path / "plain").read_bytes() == (tmp_path / "again").read_bytes()
        assert is_same or stage == "llvm"


@pytest.mark.parametrize("stage", ["graph", "kernels"])
def test_another_op(stage, tmp_path, random):
    model, feeds = model_of("convolution"), inputs_of("convolution", random)
    text = text_of(model, stage, tmp_path)
    assert text.read_text().count("graph.Relu(") == 1
    text.write_text(text.read_text().replace("graph.Relu(", "graph.Tanh("))
    changed = model_of("convolution")
    changed.graph.node[1].op_type = "Tanh"
    assert_close(run(fathom.compile(model, **{stage: str(text)}), feeds)[0], run(fathom.compile(changed), feeds)[0], "arithmetic")


def test_an_op_that_has_no_kernel_of_its_own(tmp_path, random):
    """The passes that follow make what can be computed of it."""
    model, feeds = model_of("sizes"), inputs_of("sizes", random)
    text = text_of(model, "graph", tmp_path)
    text.write_text(re.sub(r"graph\.Relu\((%\w+)\)", r"graph.HardSwish(\1)", text.read_text()))
    changed = model_of("sizes")
    changed.graph.node[1].op_type = "HardSwish"
    assert_close(run(fathom.compile(model, graph=str(text)), feeds)[0], run(fathom.compile(changed), feeds)[0], "arithmetic")


@pytest.mark.parametrize("stage", ["loops", "llvm"])
def test_one_kernel_alone(stage, tmp_path, random):
    """What the text leaves out stays as it is."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        two (float[11, 13] x) => (float[11] y, float[7, 11, 13] z)
        <float three = {3}, int64[3] shape = {7, 11, 13}> { t = Mul (x, three) y = ReduceSum <keepdims = 0> (t, axis) z = Expand (x, shape) }""".replace(
        "int64[3]", "int64[1] axis = {1}, int64[3]"))
    text = text_of(model, stage, tmp_path)
    parts = re.split(r"(?m)^(?=(?://|;) (?:kernel|host) )", text.read_text())
    old, new = "3.000000e+00", "5.000000e+00"
    multiplies = [part for part in parts if old in part]
    assert len(parts) == 4 and parts[0] == "" and len(multiplies) == 1
    text.write_text(multiplies[0].replace(old, new))
    x = floats(random, 11, 13)
    y, z = run(fathom.compile(model, **{stage: str(text)}), {"x": x})
    assert_close(y, (5 * x.astype(np.float64)).sum(1), "sum")
    np.testing.assert_array_equal(z, np.broadcast_to(x, (7, 11, 13)))
