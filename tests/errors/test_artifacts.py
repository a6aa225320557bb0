"""Artifacts that are broken or for another machine, and inputs that do not fit."""

import json
import platform
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from support.models import make_model, value
from support.networks import add_model, relu_model
from support.tool import ROOT
from onnx import TensorProto, helper, parser

ANOTHER = "x86-64-v3" if platform.machine() == "aarch64" else "neoverse-n1"


def test_another_architecture(fathom, save):
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--target", ANOTHER).expect(0)
    for command in ("run", "bench"):
        fathom(command, "x.fathom").expect(5, "[F5001]", "hint: 'fathom inspect'")
    described = json.loads(fathom("inspect", "x.fathom", "--json").expect(0).out)
    assert described["target"]["cpu"] == ANOTHER
    assert ANOTHER in fathom("inspect", "x.fathom").expect(0).out


def test_missing_cpu_feature(fathom, save):
    """A CPU of this architecture with features that this machine lacks."""
    cpu = "a64fx" if platform.machine() == "aarch64" else "sapphirerapids"
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--target", cpu).expect(0)
    result = fathom("run", "x.fathom")
    if result.code == 0:
        pytest.skip("this machine has every feature")
    result.expect(5, "[F5001]")


@pytest.mark.parametrize("command", ["run", "bench", "inspect"])
class TestBroken:
    def test_missing(self, fathom, command):
        fathom(command, "nowhere.fathom").expect(1, "[F1001]", "nowhere.fathom")

    def test_empty(self, fathom, command, tmp_path):
        (tmp_path / "x.fathom").write_bytes(b"")
        # `bench` takes a model, too, and an empty file may be either.
        fathom(command, "x.fathom").expect(1, "[F1002]" if command == "bench" else "[F1011]", "empty")
        if command == "run":
            fathom(command, "x.fathom", "--check").expect(1, "[F1011]", "it is empty")

    def test_text(self, fathom, command, tmp_path):
        (tmp_path / "x.fathom").write_text("hello")
        fathom(command, "x.fathom").expect(1, "[F10")

    @pytest.mark.parametrize("share", [0.0005, 0.01, 0.5, 0.9, 0.999])
    def test_truncated(self, fathom, command, artifact, share):
        data = artifact.read_bytes()
        artifact.write_bytes(data[: max(64, int(len(data) * share))])
        fathom(command, artifact).expect(1, "[F1011]")

    def test_another_shared_object(self, fathom, command):
        import ctypes.util

        library = f"/lib/{platform.machine()}-linux-gnu/" + (
            ctypes.util.find_library("z") or ctypes.util.find_library("c")
        )
        fathom(command, library).expect(1, "[F1011]")


@pytest.fixture
def weighty(fathom, save, tmp_path):
    """A compiled model with weights, which come last but for the checksums."""
    fathom("compile", save(add_model(), "add.onnx"), "-o", "add.fathom").expect(0)
    return tmp_path / "add.fathom"


def test_checksums(fathom, weighty):
    data = weighty.read_bytes()
    fathom("run", weighty, "--check").expect(0)
    fathom("bench", weighty, "--check", "--min-time", "0.01").expect(0)
    fathom("inspect", weighty).expect(0)
    # A weight that changed is none of the loader's business, unless one asks.
    place = len(data) - 32 - 100
    weighty.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
    fathom("run", weighty).expect(0)
    for words in (["run", weighty, "--check"], ["bench", weighty, "--check"], ["inspect", weighty]):
        fathom(*words).expect(1, "[F1011]", "is damaged: its checksum is")
    # A program header that changed is.
    weighty.write_bytes(data[:72] + bytes([data[72] ^ 1]) + data[73:])
    for command in ("run", "bench", "inspect"):
        fathom(command, weighty).expect(1, "[F1011]")


@pytest.mark.parametrize("lost", [1, 32, 33, 2000, 5000])
def test_truncated_at_the_end(fathom, weighty, lost):
    weighty.write_bytes(weighty.read_bytes()[:-lost])
    for command in ("run", "bench", "inspect"):
        fathom(command, weighty).expect(1, "[F1011]", "truncated")


def test_checksum_of_another_architecture(fathom, save, tmp_path):
    fathom("compile", save(add_model()), "-o", "x.fathom", "--target", ANOTHER).expect(0)
    fathom("inspect", "x.fathom").expect(0)
    path = tmp_path / "x.fathom"
    data = path.read_bytes()
    path.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
    fathom("inspect", "x.fathom").expect(1, "[F1011]", "is damaged")


@pytest.fixture
def feed(fathom, artifact, tmp_path):
    def run(array, name="x"):
        np.save(tmp_path / "x.npy", array)
        return fathom("run", artifact, "--input", f"{name}=@x.npy", "--output-dir", "out")

    return run


def test_input_round_trip(feed, tmp_path):
    array = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    feed(array).expect(0)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.maximum(array, 0))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(fathom, artifact, tmp_path, version):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, np.ones((2, 3), np.float32), version=version)
    fathom("run", artifact, "--input", "x=@x.npy").expect(0)


def test_input_of_wrong_type(feed):
    feed(np.zeros((2, 3), np.float64)).expect(1, "[F1012]", "input 'x' is float32, the file has float64")


def test_input_of_wrong_shape(feed):
    feed(np.zeros((3, 2), np.float32)).expect(1, "[F1012]", "input 'x' has shape [2,3], the file has [3,2]")
    feed(np.zeros(6, np.float32)).expect(1, "[F1012]", "[6]")


def test_input_in_fortran_order(feed):
    feed(np.asfortranarray(np.zeros((2, 3), np.float32))).expect(1, "[F1012]", "Fortran order", "ascontiguousarray")


def test_input_of_unknown_type(feed):
    feed(np.zeros((2, 3), np.complex64)).expect(1, "[F1012]", "c8")


def test_unknown_input(feed):
    feed(np.zeros((2, 3), np.float32), name="z").expect(1, "[F1012]", "no input 'z'", "'x'")


def test_input_without_a_file(fathom, artifact):
    fathom("run", artifact, "--input", "x=@nowhere.npy").expect(1, "[F1001]", "nowhere.npy")
    fathom("run", artifact, "--input", "x=3").expect(2, "[F2001]", "NAME=@FILE.npy")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        b"\x93NUMPY\x09\x00\x04\x00{}  ",
        b"\x93NUMPY\x01\x00\x04\x00{}  ",
        b"\x93NUMPY\x01\x00\x3a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,3), } \n",
        b"\x93NUMPY\x01\x00\x60\x00"
        + b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999,9999999999,9999999999), }".ljust(95)
        + b"\n",
    ],
)
def test_broken_npy(fathom, artifact, tmp_path, data):
    (tmp_path / "x.npy").write_bytes(data)
    fathom("run", artifact, "--input", "x=@x.npy").expect(1, "[F1012]", "x.npy")


@pytest.mark.parametrize("kind, message", [("<f4", "needs 18014398509481984 bytes, the file has 0"), ("<U0", "strings of type 'U0' are not supported")])
def test_an_npy_of_more_than_there_is(fathom, artifact, tmp_path, kind, message):
    """No memory is taken for what a small file only claims to have."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({2**50}, 4), }}".ljust(117).encode() + b"\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header)
    fathom("run", artifact, "--input", "x=@x.npy").expect(1, "[F1012]", message)


def test_unwritable_folder(fathom, artifact, tmp_path):
    (tmp_path / "file").write_text("")
    fathom("run", artifact, "--output-dir", "file/out").expect(1, "[F1014]", "file/out")


def test_unknown_dimension(fathom, artifact):
    fathom("run", artifact, "--dim", "batch=3").expect(1, "[F1012]", "no symbolic dimension 'batch'")


def test_index_out_of_range(fathom, save, tmp_path):
    nodes = [helper.make_node("Gather", ["table", "i"], ["y"], name="look up")]
    path = save(make_model(nodes, [value("table", [4, 2]), value("i", [3], TensorProto.INT64)], [value("y", [3, 2])]))
    fathom("compile", path, "-o", "x.fathom").expect(0)
    np.save(tmp_path / "i.npy", np.array([0, 4, 1]))
    fathom("run", "x.fathom", "--input", "i=@i.npy").expect(1, "[F1012]")
    fathom("run", "x.fathom").expect(0)


def test_names_with_slashes(fathom, save, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["/block/relu/out"])]
    fathom(
        "compile", save(make_model(nodes, [value("x", [2])], [value("/block/relu/out", [2])])), "-o", "x.fathom"
    ).expect(0)
    fathom("run", "x.fathom", "--output-dir", "out").expect(0)
    assert (tmp_path / "out" / "_block_relu_out.npy").exists()


def test_run_is_deterministic(fathom, save, tmp_path):
    fathom("compile", save(add_model()), "-o", "x.fathom").expect(0)
    results = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        fathom("run", "x.fathom", "--seed", seed, "--threads", threads, "--output-dir", "out").expect(0)
        results.append(np.load(tmp_path / "out" / "y.npy"))
    np.testing.assert_array_equal(results[0], results[1])
    assert np.abs(results[0] - results[2]).max() > 0.1


def test_bench_prints_one_object(fathom, artifact, tmp_path):
    result = fathom(
        "bench", artifact, "--min-time", "0.01", "--warm-up", "0", "--json", "--threads", "1", "--profile", "trace.json"
    ).expect(0)
    assert result.out.count("\n") == 1
    data = json.loads(result.out)
    assert {"median_ms", "p10_ms", "p90_ms", "min_ms", "runs", "threads", "target"} <= data.keys()
    assert data["min_ms"] <= data["p10_ms"] <= data["median_ms"] <= data["p90_ms"] and data["threads"] == 1
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert [event["args"]["nodes"] for event in trace["traceEvents"] if event["ph"] == "X"] == ["relu"]


def test_a_trace_has_a_row_for_each_thread(fathom, artifact, tmp_path):
    fathom("bench", artifact, "--min-time", "0.01", "--threads", "3", "--profile", "trace.json").expect(0)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(event["tid"], event["args"]["name"]) for event in events if event["ph"] == "M"] == [(i, f"thread {i}") for i in range(3)]
    launches = {}
    for event in events:
        if event["ph"] == "X":
            assert event["name"] and event["dur"] >= 0 and event["tid"] in range(3)
            launches.setdefault(event["args"]["launch"], []).append(event["args"])
    for parts in launches.values():
        assert sum(part["tasks"] for part in parts) == parts[0]["tasks of all threads"]


def test_bench_of_a_model(fathom, save):
    data = json.loads(fathom("bench", save(relu_model()), "--min-time", "0.01", "--json").expect(0).out)
    assert data["model"] == "model.onnx" and data["runs"] >= 5


def test_bench_at_the_likely_sizes(fathom, save):
    """Those that the model was compiled to be good at, or the least; both are told."""
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["n", "m"])], [value("y", ["n", "m"])])
    path, words = save(model), ["--min-time", "0.01", "--json"]
    asked = ["--dim", "n=1..64,opt=24", "--dim", "m=2..8"]
    fathom("compile", path, "-o", "x.fathom", *asked).expect(0)
    for measured in (["x.fathom"], [path, *asked]):
        data = json.loads(fathom("bench", *measured, *words).expect(0).out)
        assert data["dims"] == {"n": 24, "m": 2} and data["inputs"] == {"x": [24, 2]}
    data = json.loads(fathom("bench", "x.fathom", "--dim", "n=5", *words).expect(0).out)
    assert data["dims"] == {"n": 5, "m": 2}


def test_a_decoder_without_options(fathom, tmp_path):
    """Its mask covers the cache and what is behind it: sizes that go together are sought."""
    subprocess.run([sys.executable, ROOT / "models" / "make_decoder.py", tmp_path / "decoder.onnx"], check=True)
    fathom("compile", "decoder.onnx", "-o", "decoder.fathom").expect(0)
    fathom("run", "decoder.fathom").expect(0)
    measured = json.loads(fathom("bench", "decoder.onnx", "--min-time", "0.01", "--json").expect(0).out)
    sizes = measured["dims"]
    assert sizes["total_sequence_length"] >= sizes["past_sequence_length"] + sizes["sequence_length"]
    fathom("verify", "decoder.onnx").expect(0)
    fathom("explain", "decoder.onnx", "--run").expect(0)
    # Sizes that were given stay what they are.
    fathom("run", "decoder.fathom", "--dim", "total_sequence_length=1").expect(1, "[F1012]", "does not fit")


def test_windows_without_options(fathom, tmp_path):
    """Sizes of which only some are whole windows: such are sought, and where none is found, the hint says how to give them."""
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[b, h, w, 2] x) => (float[] y)
      <int64[1] one = {1}, int64[1] two = {2}, int64[1] rest = {-1}, int64[1] size = {WINDOW}> {
      s = Shape(x) h = Gather(s, one) w = Gather(s, two) down = Div(h, size) across = Div(w, size)
      t = Concat<axis = 0>(rest, down, size, across, size, two) y = Reshape(x, t) }"""
    for window in (7, 500):
        model = parser.parse_model(text.replace("WINDOW", str(window)))
        model.graph.output[0].type.tensor_type.ClearField("shape")
        onnx.save(model, tmp_path / f"{window}.onnx")
        fathom("compile", f"{window}.onnx", "-o", f"{window}.fathom").expect(0)
    measured = json.loads(fathom("bench", "7.onnx", "--min-time", "0.01", "--json").expect(0).out)
    assert measured["dims"] == {"b": 1, "h": 7, "w": 7}
    measured = json.loads(fathom("bench", "7.onnx", "--min-time", "0.01", "--json", "--dim", "h=14").expect(0).out)
    assert measured["dims"] == {"b": 1, "h": 14, "w": 7}
    fathom("verify", "7.onnx").expect(0)
    fathom("run", "7.fathom", "--dim", "b=3").expect(0)
    fathom("explain", "7.onnx", "--run").expect(0)
    hint = "hint: say sizes that go together: --dim b=SIZE --dim h=SIZE --dim w=SIZE"
    for command in (["verify", "7.onnx", "--dim", "h=8"], ["run", "7.fathom", "--dim", "h=8"], ["verify", "500.onnx"],
                    ["bench", "500.onnx"], ["explain", "500.onnx", "--run"]):
        fathom(*command).expect(1, "[F1012]", "cannot be reshaped", hint)
    fathom("verify", "500.onnx", "--dim", "h=500", "--dim", "w=1000").expect(0)


def test_doctor(fathom):
    data = json.loads(fathom("doctor", "--json").expect(0).out)
    assert data["llvm"].startswith("22.") and data["cpu"]["cpus"] >= 1
    assert data["cpu"]["code_uses"] and set(data["cpu"]["code_uses"]) <= set(data["cpu"]["features"])
    assert data["python"]["packages"]["onnx"] and all("devices" in data[kind] for kind in ("cuda", "opencl"))
    assert "llvm: 22" in fathom("doctor").expect(0).out


def test_doctor_measures_this_machine(fathom, save, tmp_path):
    described, measured = (fathom("doctor", "--target", "host", *more).expect(0).out for more in ((), ("--measure",)))
    rates = [float(rate) for rate in re.findall(r"bytes-per-cycle: +([0-9.]+)", measured)]
    # Only the rates are measured; the file is one for `compile`.
    def without_rates(text):
        return re.sub(r"(bytes-per-cycle: +)[0-9.]+", r"\1", text)

    assert len(rates) >= 2 and all(rate > 0 for rate in rates) and without_rates(measured) == without_rates(described)
    machine = tmp_path / "machine.yaml"
    machine.write_text(measured)
    fathom("compile", save(relu_model()), "--target", machine, "-o", tmp_path / "model.fathom").expect(0)
    fathom("doctor", "--measure", "--target", "neoverse-n1").expect(1, "F1010", "for the host, not for 'neoverse-n1'")
