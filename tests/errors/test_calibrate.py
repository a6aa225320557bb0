"""fathom calibrate: what it measures and keeps, what it fits, and what is wrong with what it is given."""
import json

import numpy as np
import pytest
from support import models


@pytest.fixture
def layers(tmp_path):
    """Two products, of a size at which schedules differ."""
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x w", "first"), models.node("MatMul", "first v", "second")]
    weights = {"w": models.floats(random, 96, 64), "v": models.floats(random, 64, 40)}
    model = models.model(nodes, [("x", models.FLOAT, [48, 96])], [("second", models.FLOAT, [48, 40])], weights)
    path = tmp_path / "layers.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_what_is_measured_is_kept_and_fitted_to(fathom, layers, tmp_path):
    words = ["--class", "contract", "--samples", "s.jsonl", "-q", "--json"]
    fitted = json.loads(fathom("calibrate", layers, "--trials", "14", *words, "-o", "fit.yaml").expect(0).out)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines[0]["fathom-samples"] == 1 and fitted["samples"] == len(lines) - 1 == 28
    assert {line["class"] for line in lines[1:]} == {"contract"}
    assert all(line["nanoseconds"] > 0 and line["features"]["busy"] > 0 for line in lines[1:])
    assert len({json.dumps([line["kernel"], line["schedule"]]) for line in lines[1:]}) == 28
    # Two kernels: each is predicted by what was fitted to the other.
    assert {kernel["kernel"] for kernel in fitted["kernels"]} == {"first", "second"}
    assert all(-1 <= kernel[model]["spearman"] <= 1 and kernel[model]["factor"] >= 1 for kernel in fitted["kernels"] for model in ("fitted", "latencies", "draft"))
    assert all(value >= 0 for value in fitted["score"]["coefficients"].values()) and fitted["score"]["nanoseconds"] > 0
    # What is there is measured no more: the file stays, and the fit is the same without the model.
    before = (tmp_path / "s.jsonl").read_bytes()
    again = json.loads(fathom("calibrate", layers, "--trials", "14", *words).expect(0).out)
    alone = json.loads(fathom("calibrate", "--samples", "s.jsonl", "-q", "--json").expect(0).out)
    assert again == alone == fitted and (tmp_path / "s.jsonl").read_bytes() == before
    # A run that was killed in the middle of a line goes on from the line before.
    (tmp_path / "s.jsonl").write_bytes(before[:-30])
    fathom("calibrate", layers, "--trials", "14", *words).expect(0)
    assert (tmp_path / "s.jsonl").read_text().splitlines()[:-1] == before.decode().splitlines()[:-1]
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == len(lines)
    # What the models say is told anew where that is asked for; times stay.
    for line in lines[1:]:
        line["features"] = {}
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    fathom("calibrate", "--samples", "t.jsonl").expect(1, "[F1012]", "line 2", "'busy'")
    anew = fathom("calibrate", layers, "--trials", "14", "--class", "contract", "--samples", "t.jsonl", "-q", "--json", "--analyse-again").expect(0)
    assert json.loads(anew.out) == fitted
    # The draft learns too; its constants change what drafts say.
    drafted = json.loads(fathom("calibrate", layers, "--trials", "14", "--draft", *words, "-o", "draft.yaml").expect(0).out)
    assert drafted["constants"] and {kernel["kernel"] for kernel in drafted["drafts"]} == {"first", "second"}
    explained = (json.loads(fathom("explain", layers, "--json", "-q", "--db", "none", *more).expect(0).out) for more in ([], ["--calibration", "draft.yaml"]))
    before, after = ([kernel["estimate"]["one_thread"]["total"] for kernel in one["kernels"]] for one in explained)
    assert len(before) == len(after) and before != after
    # Tuning takes the fit; costs are other numbers then.
    tune = ["tune", layers, "--tune", "static:4", "--db", "none", "--json", "-q"]
    own, built_in = (json.loads(fathom(*tune, *more).expect(0).out) for more in (["--calibration", "fit.yaml"], []))
    assert own["kernels"][0]["planned_cost"] != built_in["kernels"][0]["planned_cost"]


FIT = "fathom-calibration: 1\ntarget: TARGET\nscore: { source: a test, coefficients: { busy: 1 } }\n"


@pytest.mark.parametrize(
    "text, exit_code, texts",
    [
        (None, 1, ["[F1001]", "c.yaml"]),
        ("", 1, ["[F1012]", "c.yaml", "nothing in it"]),
        (FIT.replace("calibration: 1", "calibration: 9"), 1, ["[F1012]", "version 9"]),
        (FIT.replace("busy", "speed"), 1, ["[F1012]", "'speed'"]),
        (FIT + "constants: { task-start: -1 }\n", 1, ["[F1012]", "task-start", "outside"]),
        (FIT, 0, ["warning", "is for TARGET"]),
    ],
)
def test_calibrations_that_make_no_sense(fathom, layers, tmp_path, text, exit_code, texts):
    if text is not None:
        (tmp_path / "c.yaml").write_text(text)
    fathom("compile", layers, "-o", "a.fathom", "--calibration", "c.yaml", "--db", "none").expect(exit_code, *texts)
    assert (tmp_path / "a.fathom").exists() == (exit_code == 0)


@pytest.mark.parametrize(
    "words, exit_code, texts",
    [
        ([], 2, ["[F2001]", "nothing to measure"]),
        (["--samples", "few.jsonl", "--draft"], 2, ["[F2001]", "--draft"]),
        (["--samples", "none.jsonl"], 1, ["[F1001]", "none.jsonl"]),
        (["--samples", "bad.jsonl"], 1, ["[F1012]", "bad.jsonl", "line 2", "'kernel'"]),
        (["layers.onnx", "--samples", "other.jsonl"], 1, ["[F1012]", "z80", "--target"]),
        (["--samples", "few.jsonl"], 1, ["[F1012]", "0 samples", "too few"]),
        (["layers.onnx", "--class", "knitting"], 2, ["[F2001]", "knitting", "fathom plan knobs"]),
        (["missing.onnx"], 1, ["[F1001]", "missing.onnx"]),
        (["layers.onnx", "--measure-on", "board"], 2, ["[F2001]", "ssh://"]),
        (["layers.onnx", "--class", "contract", "--trials", "1", "--samples", "missing/s.jsonl"], 1, ["[F1014]", "missing/s.jsonl"]),
    ],
)
def test_what_makes_no_sense(fathom, layers, tmp_path, words, exit_code, texts):
    head = '{"fathom-samples":1,"target":"%s","threads":1}\n'
    (tmp_path / "bad.jsonl").write_text(head % "z80" + "{}\n")
    for name in "other.jsonl", "few.jsonl":
        (tmp_path / name).write_text(head % "z80")
    fathom("calibrate", *words).expect(exit_code, *texts)
