"""Compiled models that are kept: found again, told apart, made again where they are damaged, and never more than there is room for."""

import logging
import multiprocessing
import os
import pathlib
import subprocess
import sys
import types

import fathom
import fathom.cache
import numpy as np
import onnx
import pytest
from fathom import wire
from onnx import TensorProto, helper, numpy_helper
from support.models import make_model, value
from support.networks import perceptron


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("FATHOM_CACHE", str(folder))
    return folder


def was_kept(model, **options):
    return fathom.compile(model, cache=True, **options).report["was_kept"]


def test_the_second_time(model, random):
    first, second = (fathom.compile(model, cache=True) for _ in range(2))
    assert (first.report["was_kept"], second.report["was_kept"]) == (False, True)
    x = random.standard_normal((3, 16)).astype(np.float32)
    want = fathom.Session(fathom.compile(model)).run(None, {"x": x})
    for artifact in (first, second):
        for got, other in zip(fathom.Session(artifact).run(None, {"x": x}), want, strict=True):
            np.testing.assert_array_equal(got, other)
    [entry] = fathom.cache.entries()
    assert entry.path.read_bytes() == pathlib.Path(second.path).read_bytes()
    assert entry.bytes == entry.path.stat().st_size


def test_nothing_is_kept_unless_it_is_asked_for(model):
    assert "was_kept" not in fathom.compile(model).report
    assert fathom.cache.entries() == []


def test_what_tells_compilations_apart(model, tmp_path, monkeypatch):
    plan = tmp_path / "model.plan"
    plan.write_text(fathom.compile(model, emit="plan"))
    assert not was_kept(model)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    changed.graph.initializer[0].raw_data = bytes(len(changed.graph.initializer[0].raw_data))
    assert not was_kept(changed)
    assert not was_kept(model, fp="strict")
    assert not was_kept(model, dim={"batch": 3})
    assert not was_kept(model, plan=plan)
    plan.write_text(plan.read_text() + "# another text\n")
    assert not was_kept(model, plan=plan)
    assert was_kept(model, jobs=1)
    assert was_kept(model, fp="strict")
    monkeypatch.setattr(fathom.cache, "_compiler", lambda: ["another"])
    assert not was_kept(model)


def test_files_and_their_data(tmp_path, random):
    weights = random.standard_normal((64, 64)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    proto = make_model(nodes, [value("x", [3, 64])], [value("y", [3, 64])], [numpy_helper.from_array(weights, "w")])
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="model.data", size_threshold=0)
    assert wire.external_files(path.read_bytes()) == {"model.data"}
    assert not was_kept(path) and was_kept(path)
    data = bytearray((tmp_path / "model.data").read_bytes())
    data[:4] = np.float32(7).tobytes()
    (tmp_path / "model.data").write_bytes(data)
    assert not was_kept(path)
    x = np.eye(3, 64, dtype=np.float32)
    [got] = fathom.Session(fathom.compile(path, cache=True)).run(None, {"x": x})
    assert got[0, 0] == 7
    (tmp_path / "model.data").unlink()
    with pytest.raises(fathom.Error, match="model.data"):
        fathom.compile(path, cache=True)


def test_data_in_places_of_all_kinds():
    """Tensors may be in attributes, branches, functions and sparse tensors."""

    def outside(name):
        tensor = TensorProto(name=name, data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="offset", value="0")
        tensor.external_data.add(key="location", value=name)
        return tensor

    constant = helper.make_node("Constant", [], ["c"], value=outside("attribute"))
    branch = helper.make_graph([constant], "b", [], [], [outside("branch")])
    node = helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([node], "g", [], [], [outside("weight")])
    graph.sparse_initializer.add().values.CopyFrom(outside("sparse"))
    proto = helper.make_model(graph)
    proto.functions.add(name="f", domain="d").node.add(op_type="Constant").attribute.add(name="value").t.CopyFrom(outside("function"))
    proto.training_info.add().algorithm.initializer.add().CopyFrom(outside("training"))
    assert wire.external_files(proto.SerializeToString()) == {"attribute", "branch", "weight", "sparse", "function", "training"}


@pytest.mark.parametrize("location", ["/dev/zero", "../model.data", "pipe"])
def test_data_that_is_no_file_beneath_the_model(tmp_path, location):
    os.mkfifo(tmp_path / "pipe")
    tensor = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    proto = make_model(nodes, [value("x", [4])], [value("y", [4])], [tensor])
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ValueError):
        fathom.cache.key((str(path), b"", ""), "", [])


def test_data_of_a_model_without_a_folder(tmp_path, monkeypatch):
    """Not what happens to lie in the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.data").write_bytes(bytes(16))
    tensor = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="model.data")
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    data = make_model(nodes, [value("x", [4])], [value("y", [4])], [tensor]).SerializeToString()
    assert was_kept(data, base_folder=tmp_path) is False
    with pytest.raises(fathom.Error):
        fathom.compile(data, cache=True)


def test_a_file_that_changes_while_it_is_compiled(model, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    files = {}
    name = fathom.cache.key((str(path), b"", ""), "", [], files)

    def make(where):
        path.write_bytes(perceptron(width=40).SerializeToString())
        fathom.compile(path, where)

    with open(fathom.cache.fetch(name, make, lambda: fathom.cache.are_unchanged(files)), "rb") as made:
        assert made.read(4) == b"\x7fELF"
    assert fathom.cache.entries() == []


@pytest.mark.parametrize("address", ["postgresql://host/schedules", "postgres://host/schedules"])
def test_schedules_of_a_server(monkeypatch, address):
    with pytest.raises(ValueError, match="server"):
        fathom.cache.key(("", b"", ""), "", [("db", address)])
    monkeypatch.setenv("FATHOM_DB", address)
    with pytest.raises(ValueError, match="server"):
        fathom.cache.key(("", b"", ""), "", [])
    fathom.cache.key(("", b"", ""), "", [("db", "none")])


def test_the_cpu_of_a_devices_host_code(tmp_path):
    machine = tmp_path / "machine.yaml"
    keys = set()
    for text in ("one", "another"):
        machine.write_text(text)
        keys.add(fathom.cache.key(("", b"", ""), "", [("target", f"cuda@{machine}")]))
    assert len(keys) == 2


def test_the_compiler_of_a_wheel(tmp_path, monkeypatch):
    """What compiles is a library beside the module."""
    (tmp_path / "lib").mkdir()
    for name in ("_compiler.so", "lib/libfathom_compiler.so.1"):
        (tmp_path / name).write_bytes(b"one")
    found = types.SimpleNamespace(origin=str(tmp_path / "_compiler.so"))
    monkeypatch.setattr(fathom.cache.importlib.util, "find_spec", lambda name: found)
    before = fathom.cache._compiler()
    (tmp_path / "lib/libfathom_compiler.so.1").write_bytes(b"another")
    assert fathom.cache._compiler() != before


def test_a_user_without_a_home(model, monkeypatch, caplog):
    def home():
        raise RuntimeError("there is no home")

    monkeypatch.delenv("FATHOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(pathlib.Path, "home", home)
    assert "was_kept" not in fathom.compile(model, cache=True).report
    assert "there is no home" in caplog.text


def test_what_is_no_model(random):
    for data in (b"", b"\x08", b"\xff" * 20, b"no model", random.bytes(400)):
        with pytest.raises(fathom.Error):
            fathom.compile(data, cache=True)
    assert fathom.cache.entries() == []


def test_cut_files_never_crash_the_reader(model):
    data, refused = model.SerializeToString(), 0
    for size in range(len(data)):
        try:
            assert wire.external_files(data[:size]) == set()
            wire.metadata(data[:size])
        except ValueError:
            refused += 1
    assert 0 < refused < len(data)


def test_damaged_entries_are_made_again(model, random, caplog):
    fathom.compile(model, cache=True)
    [entry] = fathom.cache.entries()
    sound = entry.path.read_bytes()
    for damaged in (b"", sound[: len(sound) // 2], b"something else", None):
        if damaged is None:  # a bit, anywhere
            at = int(random.integers(len(sound)))
            damaged = sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :]
        entry.path.write_bytes(damaged)
        with caplog.at_level(logging.WARNING, "fathom"):
            assert not was_kept(model)
        assert "is damaged and is made again" in caplog.text
        assert entry.path.read_bytes() == sound
        caplog.clear()


def test_those_that_were_not_used_go_first(monkeypatch):
    models = [perceptron(width=width) for width in (24, 32, 40, 48)]
    sizes = []
    for model in models[:3]:
        fathom.compile(model, cache=True)
        sizes.append(sum(entry.bytes for entry in fathom.cache.entries()))
    entries = sorted(fathom.cache.entries(), key=lambda entry: entry.used)
    for age, entry in enumerate(reversed(entries)):
        os.utime(entry.path, (1e9 - age, 1e9 - age))
    assert was_kept(models[0])  # which makes it the newest
    monkeypatch.setattr(fathom.cache, "limit", lambda: sizes[2])
    fathom.compile(models[3], cache=True)
    assert [was_kept(model) for model in (models[0], models[3])] == [True, True]
    assert len(fathom.cache.entries()) < 4
    assert not was_kept(models[1])
    assert sum(entry.bytes for entry in fathom.cache.entries()) <= sizes[2]


def test_clearing(model):
    artifact = fathom.compile(model, cache=True)
    [entry] = fathom.cache.entries()
    session = fathom.Session(artifact)
    assert fathom.cache.clear() == entry.bytes
    assert fathom.cache.entries() == []
    session.run(None, {"x": np.ones((2, 16), np.float32)})
    fathom.Session(artifact)  # it is still open
    assert not was_kept(model)


def test_limits(model, monkeypatch):
    monkeypatch.setenv("FATHOM_CACHE_MIB", "0")
    assert "was_kept" not in fathom.compile(model, cache=True).report
    monkeypatch.setenv("FATHOM_CACHE_MIB", "many")
    with pytest.raises(fathom.Error, match="F2001.*FATHOM_CACHE_MIB is 'many'"):
        fathom.compile(model, cache=True)


def test_a_folder_that_cannot_be_written(model, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "file" / "folder"))
    fathom.Session(fathom.compile(model, cache=True))
    assert "cannot be kept" in caplog.text


@pytest.mark.parametrize("cache_home, under", [("/some/where", "/some/where"), ("relative", ".cache"), ("", ".cache")])
def test_where_it_lies(monkeypatch, cache_home, under):
    monkeypatch.delenv("FATHOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", cache_home)
    assert fathom.cache.folder() == pathlib.Path.home() / under / "fathom" / "artifacts"


def compile_one(model):
    artifact = fathom.compile(model, cache=True)
    [y, _] = fathom.Session(artifact, threads=1).run(None, {"x": np.ones((2, 16), np.float32)})
    return artifact.report["was_kept"], y.tobytes()


def test_processes_at_the_same_time(model):
    """One makes it, and the others, which wait, take it."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.map(compile_one, [model.SerializeToString()] * 8, chunksize=1)
    assert [kept for kept, _ in results].count(False) == 1
    assert len({bits for _, bits in results}) == 1
    assert not list(fathom.cache.folder().glob("*.tmp"))


def test_the_command(model):
    def command(*words):
        return subprocess.run([sys.executable, "-m", "fathom.cache", *words], capture_output=True, text=True)

    fathom.compile(model, cache=True)
    [entry] = fathom.cache.entries()
    listed = command()
    assert listed.returncode == 0 and entry.path.name in listed.stdout and "1 artifacts" in listed.stdout
    cleared = command("clear")
    assert cleared.returncode == 0 and "removed" in cleared.stdout
    assert fathom.cache.entries() == []
    assert command("away").returncode == 2
