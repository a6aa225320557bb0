"""fathom.compile: what it takes, what it gives, and its errors."""

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import fathom
import numpy as np
import onnx
import pytest
from support.models import make_model, value
from support.networks import perceptron
from onnx import helper


def run(artifact):
    return fathom.Session(artifact).run(None, {"x": np.ones((2, 16), np.float32)})[0]


def test_what_a_model_may_be(model, tmp_path):
    onnx.save(model, tmp_path / "m.onnx")
    expected = run(fathom.compile(model))
    for given in (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), model.SerializeToString()):
        np.testing.assert_array_equal(run(fathom.compile(given)), expected)
    with pytest.raises(fathom.Error, match="not a int"):
        fathom.compile(3)


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_what_an_artifact_for_a_device_says_of_itself(model, target):
    """Wherever the device is."""
    manifest = fathom.compile(model, target=target).manifest
    assert manifest["inputs"][0]["name"] == "x" and manifest["target"]["host"]


def test_warnings(tmp_path):
    node = helper.make_node("MatMul", ["x", "y"], ["z"], name="product")
    model = make_model([node], [value("x", [2, "n"]), value("y", [5, 3])], [value("z", None)])
    for output in (None, tmp_path / "m.fathom"):
        with pytest.warns(UserWarning, match="node 'product': dimension 'n' was to range from 1 to 8") as record:
            fathom.compile(model, output, dim={"n": (1, 8)})
        assert record[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fathom.compile(model)


def test_output(model, tmp_path):
    path = fathom.compile(model, tmp_path / "m.fathom")
    assert path == str(tmp_path / "m.fathom")
    saved = fathom.compile(model).save(tmp_path / "again.fathom")
    np.testing.assert_array_equal(run(path), run(saved))


def test_same_model_same_bytes(model, tmp_path):
    one = open(fathom.compile(model, tmp_path / "one"), "rb").read()
    two = open(fathom.compile(model, tmp_path / "two", jobs=1), "rb").read()
    assert one == two == open(fathom.compile(model).path, "rb").read()


def run_in_a_process(artifact):
    return run(artifact).tobytes()


def test_pickles_carry_the_bytes(model):
    """Not a descriptor's number, which means another file elsewhere."""
    artifact = fathom.compile(model)
    expected = run(artifact)
    copies = [pickle.loads(pickle.dumps(artifact)), copy.copy(artifact), copy.deepcopy(artifact)]
    data, whole = pickle.dumps(artifact), open(artifact.path, "rb").read()
    report = artifact.report
    del artifact
    gc.collect()
    for other in (*copies, pickle.loads(data)):
        assert open(other.path, "rb").read() == whole and other.report == report
        np.testing.assert_array_equal(run(other), expected)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(run_in_a_process, (copies[0],)) == expected.tobytes()


def test_report(model):
    artifact = fathom.compile(model)
    assert artifact.report["kernels"] >= 1 and "code" in artifact.report["seconds"]
    assert artifact.manifest["inputs"][0]["name"] == "x"


@pytest.mark.parametrize("stage, text", [("graph", "graph."), ("plan", "fathom-plan:"), ("asm", ".text")])
def test_emit(model, stage, text):
    assert text in fathom.compile(model, emit=stage)


def test_plan(model, tmp_path):
    plan = tmp_path / "m.plan"
    plan.write_text(fathom.compile(model, emit="plan"))
    np.testing.assert_array_equal(run(fathom.compile(model, plan=plan)), run(fathom.compile(model)))


def test_external_data(model, tmp_path):
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    light = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    np.testing.assert_array_equal(
        run(fathom.compile(light, base_folder=tmp_path)), run(fathom.compile(tmp_path / "m.onnx"))
    )
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(light)
    assert caught.value.code == "F1005"


def test_options():
    names = [option["name"] for option in fathom.options()]
    assert {"target", "fp", "plan", "dim", "jobs", "emit", "weights"} <= set(names)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"speed": 3}, "speed"),
        ({"fp": "sloppy"}, "strict, fast, fastest"),
        ({"jobs": -1}, "whole number"),
        ({"jobs": []}, "list"),
        ({"jobs": 1.5}, "float"),
    ],
)
def test_bad_options(model, options, text):
    with pytest.raises(fathom.Error, match=text) as caught:
        fathom.compile(model, **options)
    assert (caught.value.code, caught.value.exit_code) == ("F2001", 2)


@pytest.mark.parametrize("size", [np.int64(4), np.uint8(4), 4, (4, 4), [np.int32(4), 4]])
def test_sizes_of_dimensions(model, size):
    assert fathom.Session(fathom.compile(model, dim={"batch": size})).inputs[0].shape == (4, 16)


@pytest.mark.parametrize("dims", [[("batch", 4)], (("batch", (4, 4)),), ["batch=4"], "batch=4", iter([["batch", 4]])])
def test_dimensions_that_are_no_dictionary(model, dims):
    assert fathom.Session(fathom.compile(model, dim=dims)).inputs[0].shape == (4, 16)


@pytest.mark.parametrize("dims", [3, [4], [("batch",)], [("batch", 1, 2)], {3: 4}, [(b"batch", 4)]])
def test_bad_dimensions(model, dims):
    with pytest.raises(fathom.Error, match="a dimension is given by its name and its size") as caught:
        fathom.compile(model, dim=dims)
    assert (caught.value.code, caught.value.exit_code) == ("F2001", 2)


def test_a_likely_size_and_shapes(model):
    assert fathom.Session(fathom.compile(model, dim={"batch": (1, 8, 4)})).symbols == [("batch", 1, 8)]
    assert fathom.Session(fathom.compile(model, shape=["x:4x16"])).inputs[0].shape == (4, 16)


@pytest.mark.parametrize("size", [2.5, "4", None, (1, 2, 3), (1, 8, 4, 2), (1,), (1, 2.5), -1, (4, 2), 2**62])
def test_bad_sizes_of_dimensions(model, size):
    with pytest.raises(fathom.Error, match="batch") as caught:
        fathom.compile(model, dim={"batch": size})
    assert (caught.value.code, caught.value.exit_code) == ("F2001", 2)


def test_emit_to_a_file(model, tmp_path):
    path = fathom.compile(model, tmp_path / "m.plan", emit="plan")
    assert path == str(tmp_path / "m.plan") and open(path).read() == fathom.compile(model, emit="plan")
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(model, "/nowhere/m.plan", emit="plan")
    assert caught.value.code == "F1014"


def test_user_errors(tmp_path):
    cases = [(b"hello", "F1002", 1), (tmp_path / "nowhere.onnx", "F1001", 1)]
    for given, code, exit_code in cases:
        with pytest.raises(fathom.Error) as caught:
            fathom.compile(given)
        assert (caught.value.code, caught.value.exit_code) == (code, exit_code)


def test_unsupported_operator():
    model = make_model([helper.make_node("Frobnicate", ["x"], ["y"], name="odd")], [value("x", [2])], [value("y", [2])])
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(model)
    error = caught.value
    assert (error.code, error.exit_code, error.node) == ("F3001", 3, "odd")
    assert "[F3001] node 'odd'" in str(error) and error.diagnostics
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, str(again)) == (error.code, str(error))


def test_check(tmp_path, model):
    onnx.save(model, tmp_path / "m.onnx")
    assert fathom.check(tmp_path / "m.onnx") == []
    (tmp_path / "bad.onnx").write_bytes(b"")
    assert fathom.check(tmp_path / "bad.onnx")[0]["code"] == "F1002"


def test_unwritable(model):
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(model, "/nowhere/m.fathom")
    assert caught.value.code == "F1014"
    with pytest.raises(fathom.Error) as caught:
        fathom.compile(model).save("/nowhere/m.fathom")
    assert caught.value.code == "F1014"


def test_save_follows_links_and_refuses_pipes(model, tmp_path):
    artifact = fathom.compile(model)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("real")
    for write in (artifact.save, lambda path: fathom.compile(model, path)):
        with pytest.raises(fathom.Error, match="pipe.*regular file") as caught:
            write(tmp_path / "pipe")
        assert caught.value.code == "F1014"
        write(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        run(tmp_path / "real")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "real"]


def test_model_is_not_overwritten(model, tmp_path):
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    light = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    before = (tmp_path / "m.data").read_bytes()
    for given, output in ((tmp_path / "m.onnx", "m.onnx"), (tmp_path / "m.onnx", "m.data"), (light, "m.data")):
        for options in ({}, {"emit": "plan"}):
            with pytest.raises(fathom.Error, match="the model is read from it") as caught:
                fathom.compile(given, tmp_path / output, base_folder=tmp_path, **options)
            assert caught.value.code == "F1014"
    assert (tmp_path / "m.data").read_bytes() == before


def test_signals_stay_the_programs(model, tmp_path):
    """A library installs no handlers: neither of interrupts nor of crashes."""
    script = """
import sys, fathom
state = lambda: [line for line in open("/proc/self/status") if line.startswith(("SigCgt", "SigIgn", "SigBlk"))]
before = state()
fathom.compile(sys.argv[1], sys.argv[2])
fathom.compile(sys.argv[1])
assert state() == before, (before, state())
"""
    onnx.save(model, tmp_path / "m.onnx")
    words = [sys.executable, "-c", script, tmp_path / "m.onnx", tmp_path / "m.fathom"]
    done = subprocess.run(words, capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0, done.stderr


def test_threads_that_write_the_same_file(tmp_path):
    """One of them wins, whole."""
    models = [perceptron(width=8 * (i + 1), seed=i) for i in range(2)]
    artifacts = [fathom.compile(model) for model in models]
    whole = [open(artifact.path, "rb").read() for artifact in artifacts]
    for _ in range(3):
        work = [lambda m=m: fathom.compile(m, tmp_path / "x") for m in models * 2]
        work += [lambda a=a: a.save(tmp_path / "x") for a in artifacts]
        workers = [threading.Thread(target=task) for task in work]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert (tmp_path / "x").read_bytes() in whole
    assert os.listdir(tmp_path) == ["x"]


def test_broken_artifacts(tmp_path):
    (tmp_path / "x.fathom").write_bytes(b"hello")
    for path, code in ((tmp_path / "x.fathom", "F1011"), (tmp_path / "nowhere", "F1001")):
        with pytest.raises(fathom.Error) as caught:
            fathom.Session(path)
        assert caught.value.code == code


@pytest.mark.parametrize(
    "inputs, text",
    [
        ({}, "'x' is missing"),
        ({"x": np.ones((2, 16), np.float32), "z": np.ones(1)}, "no input 'z'"),
        ({"x": np.ones((2, 16))}, "is float32, the array is float64"),
        ({"x": np.ones((2, 15), np.float32)}, r"shape \[batch,16\], the array \[2,15\]"),
        ({"x": np.ones(16, np.float32)}, "shape"),
    ],
)
def test_bad_inputs(model, inputs, text):
    with pytest.raises(fathom.Error, match=text) as caught:
        fathom.Session(fathom.compile(model)).run(None, inputs)
    assert (caught.value.code, caught.value.exit_code) == ("F1012", 1)


def test_gil_is_released_while_compiling():
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    fathom.compile(perceptron(width=100))
    end = time.perf_counter()
    done.set()
    ticker.join()
    assert sum(start < at < end for at in ticks) > 2


def test_compilations_at_the_same_time():
    """Each thread gets the model it asked for."""
    models = [perceptron(width=8 * (i + 1), seed=i) for i in range(4)]
    expected = [run(fathom.compile(model)) for model in models]
    results = [None] * len(models)

    def work(index):
        results[index] = run(fathom.compile(models[index]))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(models))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_session_does_not_load_the_compiler(model, tmp_path):
    path = fathom.compile(model, tmp_path / "m.fathom")
    script = "import sys, fathom; fathom.Session(sys.argv[1]); print(open('/proc/self/maps').read())"
    maps = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}).stdout
    assert "_runtime" in maps and "LLVM" not in maps


def test_check_takes_what_compile_takes(tmp_path, model):
    assert fathom.check(model) == fathom.check(model.SerializeToString()) == []
    assert fathom.check(model, dim={"batch": (1, 8, 4)}) == fathom.check(model, shape="x:1..8x16") == []
    assert "no input 'other'" in fathom.check(model, shape=["other:1x16"])[0]["message"]
    odd = make_model([helper.make_node("Frobnicate", ["x"], ["y"], name="odd")], [value("x", [2])], [value("y", [2])])
    assert [(problem["code"], problem["node"]) for problem in fathom.check(odd)] == [("F3001", "odd")]
    for wrong in [{"dim": {"batch": "many"}}, {"shape": "x"}, {"dim": ["batch=1..2", "batch=3"]}]:
        with pytest.raises(fathom.Error) as caught:
            fathom.check(model, **wrong)
        assert caught.value.code == "F2001"
    with pytest.raises(fathom.Error, match="a model is a path"):
        fathom.check(3)


def test_check_reads_external_data(tmp_path, model):
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    data = (tmp_path / "m.onnx").read_bytes()
    assert fathom.check(data, base_folder=tmp_path) == []
    assert fathom.check(data)


def test_check_by_position(model, tmp_path):
    """As the documentation has it: the folder of external data, sizes, shapes."""
    assert fathom.check(model, str(tmp_path), {"batch": 3}, ["x:3x16"]) == []
    with pytest.raises(fathom.Error):
        fathom.check(model, None, {"batch": "three"})


def test_verify_by_its_documented_name():
    script = "import fathom, sys; print(callable(fathom.verify.verify), 'onnxruntime' in sys.modules)"
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.split() == ["True", "False"]
    assert fathom.verify.verify(perceptron(), "reference", 3, {"batch": 5})["ok"]


@pytest.mark.parametrize("call", [
    lambda path: fathom.compile(f"{path}\0junk"),
    lambda path: fathom.compile(str(path), f"{path}\0.fathom"),
    lambda path: fathom.compile(str(path), target="host\0junk"),
    lambda path: fathom.Session(f"{path}\0junk"),
    lambda path: fathom.Session(b"model\0junk"),
])
def test_nul_in_names(tmp_path, call):
    """The system would take what is before it for the name."""
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    with pytest.raises(fathom.Error, match=r"\[F2001\].*\\x00.*NUL"):
        call(path)
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_a_model_has_a_name_among_those_that_were_tuned(tmp_path):
    """It is no source of its own: what was found under its name is passed over."""
    from support.tool import run_tool

    proto = perceptron()
    onnx.save(proto, tmp_path / "tuned.onnx")
    database = str(tmp_path / "x.db")
    run_tool("tune", tmp_path / "tuned.onnx", "--tune", "static:2", "--db", database, "-q").expect(0)
    options = dict(tune="transfer", db=database, apart="", emit="plan")
    for named in (dict(model_name="tuned"), {}):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fathom.compile(proto.SerializeToString(), **options, **named)
        assert any("no other model" in str(warning.message) for warning in said) == bool(named)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fathom.compile(tmp_path / "tuned.onnx", **options)
    assert any("no other model" in str(warning.message) for warning in said)
    with pytest.raises(fathom.Error, match="model_name is a text"):
        fathom.compile(proto, model_name=3)
