"""Networks whose sizes are known only at run time: a text model over many shapes, and detectors whose output data decides."""
import numpy as np
import onnxruntime
import pytest

import fathom as package
from support.compare import assert_close
from support.tool import fathom, fill


def reference(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    path, artifact = fill("bert_base_dynamic"), tmp_path_factory.mktemp("bert") / "model.fathom"
    fathom("compile", path, "-o", artifact)
    yield package.Session(artifact), reference(path)
    artifact.unlink()


SHAPES = [(1, 1), (1, 2), (1, 3), (1, 7), (1, 8), (1, 16), (1, 31), (1, 64), (1, 127), (1, 128), (1, 200), (1, 511), (1, 512),
          (2, 1), (2, 17), (3, 33), (4, 64), (5, 9), (7, 13), (8, 512)]


@pytest.mark.parametrize("batch, length", SHAPES)
def test_one_artifact_for_every_shape(text_model, batch, length):
    session, expected = text_model
    rng = np.random.default_rng(batch * 1000 + length)
    inputs = {"input_ids": rng.integers(0, 1000, (batch, length)), "attention_mask": np.ones((batch, length), np.int64)}
    if length > 2:
        inputs["attention_mask"][0, -length // 3 :] = 0
    for got, want in zip(session.run(None, inputs), expected.run(None, inputs), strict=True):
        assert_close(got, want, "network")


def test_shapes_outside_are_refused(text_model):
    session, _ = text_model
    ids = np.zeros((1, 513), np.int64)
    with pytest.raises(package.Error, match="513"):
        session.run(None, {"input_ids": ids, "attention_mask": ids})


def detections(outputs):
    boxes = next(o for o in outputs if o.ndim == 2)
    scores = next(o for o in outputs if o.ndim == 1 and o.dtype.kind == "f")
    labels = next(o for o in outputs if o.ndim == 1 and o.dtype.kind == "i")
    return boxes, scores, labels


@pytest.fixture(scope="module", params=["ssd300_vgg16", "ssdlite320_mobilenet_v3_large"])
def detector(request, tmp_path_factory):
    path, artifact = fill(request.param), tmp_path_factory.mktemp(request.param) / "model.fathom"
    fathom("compile", path, "--fp", "strict", "-o", artifact)
    yield package.Session(artifact), reference(path)
    artifact.unlink()


@pytest.mark.parametrize("seed", [0, 1])
def test_detectors(detector, seed):
    """Every detection is found again: scores in order, and of equal label and box where no other score is as close as rounding."""
    session, expected = detector
    info = expected.get_inputs()[0]
    image = np.random.default_rng(seed).standard_normal(info.shape, np.float32)
    got, want = (detections(s.run(None, {info.name: image})) for s in (session, expected))
    assert got[0].shape == want[0].shape and len(want[1]) > 50
    np.testing.assert_allclose(got[1], want[1], rtol=1e-3, atol=1e-4)
    gap = 1e-4 + 1e-3 * np.abs(want[1])
    found = 0
    for box, score, label in zip(*want, strict=True):
        near = np.abs(got[1] - score) <= gap.max()
        match = near & (got[2] == label) & (np.abs(got[0] - box).max(axis=1) <= 1e-3 * np.abs(want[0]).max())
        found += match.any()
    # The last few compete with candidates that did not make it by less than rounding.
    boundary = (want[1] <= want[1][-1] + gap.max()).sum()
    assert found >= len(want[1]) - boundary
    assert boundary < len(want[1]) / 2
