"""Plans of older versions, what two of them differ in, and the page of all knobs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models import make_model, value
from support.tool import ROOT


@pytest.fixture
def model(save):
    weight = numpy_helper.from_array(np.ones((16, 4, 3, 3), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("ReduceMean", ["r"], ["y"], name="mean", keepdims=0),
    ]
    save(make_model(nodes, [value("x", [1, 4, 9, 9])], [value("y", [])], [weight], opset=17))


@pytest.fixture
def plan(fathom, model, tmp_path):
    def make(name, *options):
        fathom("compile", "model.onnx", "--target", "neoverse-v1", "--emit", "plan", "-o", name, *options).expect(0)
        return tmp_path / name

    return make


def newer_knobs(text):
    """A plan as version 1 has it: without the knobs that came later."""
    page = (ROOT / "docs/reference/knobs.md").read_text()
    knobs = re.findall(r"^\| `(\w+)` .*\| ([0-9]+) \|$", page, re.M)
    # A name that one class has had from the first stays in all.
    since = {name for name, version in knobs if int(version) > 1} - {name for name, version in knobs if int(version) == 1}
    assert since
    lines = [line for line in text.splitlines() if line.strip().split(":")[0] not in since]
    return re.sub(r"fathom-plan: +[0-9]+", "fathom-plan: 1", "\n".join(lines) + "\n")


def test_a_plan_of_the_first_version_gives_the_same_code(fathom, plan, tmp_path):
    path = plan("new.plan")
    old = tmp_path / "old.plan"
    old.write_text(newer_knobs(path.read_text()))
    assert old.read_text().count("\n") < path.read_text().count("\n") - 1
    fathom("diff", old, path).expect(0)
    code = [fathom("compile", "model.onnx", "--target", "neoverse-v1", "--plan", p, "--emit", "asm").expect(0).out for p in (old, path)]
    assert code[0] == code[1]


def test_a_knob_that_the_first_version_had_must_be_there(fathom, plan, tmp_path):
    path = plan("new.plan")
    path.write_text(re.sub(r" *tile_m: .*\n", "", newer_knobs(path.read_text()), count=1))
    fathom("compile", "model.onnx", "--target", "neoverse-v1", "--plan", path, "-o", "x.fathom").expect(1, "[F1009]", "knob 'tile_m' is missing")


def test_newer_versions_are_refused(fathom, plan):
    path = plan("new.plan")
    path.write_text(re.sub(r"fathom-plan: +[0-9]+", "fathom-plan: 99", path.read_text()))
    fathom("compile", "model.onnx", "--plan", path, "-o", "x.fathom").expect(1, "[F1009]", "plan version 99 is none of 1 to")
    fathom("diff", path, path).expect(1, "[F1009]", "plan version 99")


def test_equal_plans_do_not_differ(fathom, plan):
    path = plan("a.plan")
    assert "no difference" in fathom("diff", path, path).expect(0).out


def test_what_plans_differ_in(fathom, plan, tmp_path):
    a, b = plan("a.plan"), tmp_path / "b.plan"
    text = a.read_text()
    number = int(re.search(r"task_m: +([0-9]+)", text)[1])
    text = re.sub(r"task_m: +[0-9]+", f"task_m: {2 * number}", text, count=1)
    text = re.sub(r"value: c, order: \[ [^]]*\]", "value: c, order: [ 0, 1, 2, 3 ]", text)
    b.write_text(text)
    result = fathom("diff", a, b)
    assert result.code == 4
    assert f"kernel r: task_m {number} -> {2 * number}\n" in result.out
    assert "layout of c: order 0,2,3,1 -> 0,1,2,3\n" in result.out
    back = fathom("diff", b, a, "--json")
    assert back.code == 4 and f"task_m {2 * number} -> {number}" in back.out


def test_kernels_of_one_plan_only_and_other_classes(fathom, plan, tmp_path):
    a, b = plan("a.plan"), tmp_path / "b.plan"
    text = a.read_text()
    assert "class:           contract" in text
    b.write_text(text.replace("class:           contract", "class:           spatial_pack").replace("kernel:          y", "kernel:          z"))
    out = fathom("diff", a, b).out
    assert "kernel r: class contract -> spatial_pack\n" in out
    assert "kernel y: only in A\n" in out and "kernel z: only in B\n" in out


def test_artifacts_have_their_plans(fathom, model):
    for name, cpu in ("a.fathom", "neoverse-v1"), ("b.fathom", "x86-64-v3"):
        fathom("compile", "model.onnx", "--target", cpu, "-o", name).expect(0)
    assert "no difference" in fathom("diff", "a.fathom", "a.fathom").expect(0).out
    result = fathom("diff", "a.fathom", "b.fathom")
    assert result.code == 4
    assert "target: aarch64" in result.out and "code bytes: " in result.out and "kernel r: " in result.out


@pytest.mark.parametrize("text", [b"", b"\x7fELF", b"fathom-plan: 1\n", b"no plan\n"])
def test_what_is_no_plan(fathom, plan, tmp_path, text):
    path = plan("a.plan")
    (tmp_path / "b.plan").write_bytes(text)
    fathom("diff", path, "b.plan").expect(1, "[F10")
    fathom("diff", "nothing.plan", path).expect(1, "[F1001]")


def test_usage(fathom):
    fathom("diff", "a.plan").expect(2, "B is missing")
    fathom("diff").expect(2, "A is missing")
    fathom("plan").expect(2, "knobs|calibration is missing")
    fathom("plan", "words").expect(2, "prints knobs or calibration, not 'words'")
    fathom("plan", "knobs", "--target", "neoverse-v1").expect(2, "the same for all targets")


def test_the_page_of_knobs_is_what_the_tool_prints(fathom):
    assert fathom("plan", "knobs").expect(0).out == Path(ROOT / "docs/reference/knobs.md").read_text()


def test_the_page_of_calibration_is_what_the_tool_prints(fathom):
    page = Path(ROOT / "docs/reference/calibration.md").read_text()
    assert fathom("plan", "calibration").expect(0).out == page
    assert fathom("plan", "calibration", "--target", "neoverse-v1").expect(0).out == page


@pytest.mark.parametrize("cpu", ["neoverse-n1", "x86-64-v3"])
def test_a_machine_has_constants_of_its_own(fathom, model, tmp_path, cpu):
    machine = tmp_path / "machine.yaml"

    def describe(constants):
        machine.write_text(f"fathom-target: 1\ncpu: {cpu}\ncalibration: {{ {constants} }}\n")

    describe("spreading: 1000000, task-start: 5")
    out = fathom("plan", "calibration", "--target", machine).expect(0).out
    assert re.search(r"^\| `spreading` \| 1000000 .*The description of the machine \|$", out, re.M)

    def tasks():
        fathom("compile", "model.onnx", "--target", machine, "-o", "m.fathom").expect(0)
        kernels = json.loads(fathom("explain", "m.fathom", "--json").expect(0).out)["kernels"]
        return sum(kernel["estimate"]["one_thread"]["tasks"] for kernel in kernels) // 5, len(kernels)

    # Nothing is worth waking a thread for, or everything.
    dear, kernels = tasks()
    assert dear == kernels
    describe("spreading: 0, task-start: 5")
    assert tasks()[0] > kernels
    describe("task-begin: 1")
    fathom("compile", "model.onnx", "--target", machine, "-o", "m.fathom").expect(1, "[F1010]", "no constant of cost models is called 'task-begin'")
    fathom("plan", "calibration", "--target", machine).expect(1, "[F1010]", "task-begin")
