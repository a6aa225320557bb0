"""Artifacts for OpenCL, run whole by PoCL: the host code with addresses of a device, the runtime's services, contexts, faults, and what is wrong
with a machine."""
import json
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import fathom
from support.compare import assert_close
from support.models import BOOL, FLOAT, INT64, floats, graph, model, node
from support.tool import TOOL

# Programs that were built before are taken from a cache, which must not outlive the compiler that made their source.
os.environ.setdefault("POCL_CACHE_DIR", tempfile.mkdtemp(prefix="pocl-"))

RUN = """
import sys
import numpy as np
import fathom
try:
    session = fathom.Session(sys.argv[1])
    session.run(None, {info.name: np.ones([2 if isinstance(d, str) else d for d in info.shape], info.dtype) for info in session.inputs})
except fathom.Error as error:
    print(error.code, error)
"""


def compiled(tmp_path, proto, target="opencl", **options):
    path = tmp_path / "model.fathom"
    fathom.compile(proto, path, target=target, **options)
    return path


def problem_with(artifact, **environment):
    """The error of a process that loads the artifact and runs it, or ''."""
    result = subprocess.run([sys.executable, "-c", RUN, artifact], capture_output=True, text=True, env=os.environ | environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def check(session, proto_function, feeds):
    for feed in feeds:
        for got, want in zip(session.run(None, feed), proto_function(**feed)):
            assert_close(got, want, "sum")


def layers(random, weights):
    """Scaled, shifted and bent again and again, with two results of different shapes."""
    nodes, at = [], "x"
    for i in range(3):
        nodes += [node("Mul", f"{at} w{i}", f"p{i}"), node("Add", f"p{i} b{i}", f"s{i}"), node("Tanh", f"s{i}", f"t{i}")]
        at = f"t{i}"
        weights |= {f"w{i}": floats(random, 7), f"b{i}": floats(random, 5, 1)}
    return nodes + [node("Transpose", "t1", "y", perm=[2, 0, 1]), node("Neg", "t2", "z")]


def computed(weights):
    def function(x):
        seen = []
        for i in range(3):
            x = np.tanh(x * weights[f"w{i}"] + weights[f"b{i}"])
            seen.append(x)
        return seen[1].transpose(2, 0, 1), -seen[2]

    return function


def chain(random):
    weights = {}
    nodes = layers(random, weights)
    return model(nodes, [("x", FLOAT, ["n", 5, 7])], [("y", FLOAT), ("z", FLOAT)], weights), computed(weights)


def test_runs_with_all_sizes(random, tmp_path):
    """Sizes that grow and come again, and none at all."""
    proto, function = chain(random)
    session = fathom.Session(compiled(tmp_path, proto, dim={"n": (0, 100)}))
    check(session, function, [{"x": floats(random, n, 5, 7)} for n in (3, 1, 64, 0, 3, 3, 64, 64)])


def test_contexts_share_a_model(random, tmp_path):
    proto, function = chain(random)
    path, problems = compiled(tmp_path, proto), []

    def work(seed):
        try:
            numbers = np.random.default_rng(seed)
            session = fathom.Session(path)
            check(session, function, [{"x": floats(numbers, n, 5, 7)} for n in (2, 9, 2, 33)])
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_two_models_take_turns(random, tmp_path):
    sessions = []
    for name in "ab":
        (tmp_path / name).mkdir()
        proto, function = chain(random)
        sessions.append((fathom.Session(compiled(tmp_path / name, proto)), function))
    for n in (4, 2, 4):
        for session, function in sessions:
            check(session, function, [{"x": floats(random, n, 5, 7)}])


def test_branches_read_their_condition(random, tmp_path):
    then, other = (graph([node(op, "x", "r")], [], [("r", FLOAT)]) for op in ("Relu", "Neg"))
    nodes = [node("If", "c", "y", then_branch=then, else_branch=other), node("Add", "y x", "z")]
    proto = model(nodes, [("x", FLOAT, ["n", 3]), ("c", BOOL, [])], [("z", FLOAT)])
    session = fathom.Session(compiled(tmp_path, proto))
    check(session, lambda x, c: [(np.maximum(x, 0) if c else -x) + x],
          [{"x": floats(random, n, 3), "c": np.array(c)} for n in (1, 17) for c in (True, False)])


def test_loops_carry_and_stack(random, tmp_path):
    """The trip count and the condition are data, and a stack grows with them."""
    body = graph(
        [node("Mul", "v w", "next"), node("Identity", "going", "on"), node("Neg", "next", "slice")],
        [("i", INT64, []), ("going", BOOL, []), ("v", FLOAT, ["n"])], [("on", BOOL), ("next", FLOAT), ("slice", FLOAT)])
    nodes = [node("Loop", ["trip", "", "x"], ["y", "stack"], body=body)]
    w = floats(random, 1)
    proto = model(nodes, [("trip", INT64, []), ("x", FLOAT, ["n"])], [("y", FLOAT), ("stack", FLOAT)], {"w": w})
    session = fathom.Session(compiled(tmp_path, proto))

    def function(trip, x):
        rows = []
        for _ in range(int(trip)):
            x = x * w
            rows.append(-x)
        return x, np.reshape(rows, (int(trip), *x.shape))

    check(session, function, [{"trip": np.array(trip), "x": floats(random, n)} for trip, n in ((3, 5), (0, 2), (40, 300), (1, 1))])


def test_faults_name_their_nodes_and_the_context_goes_on(random, tmp_path):
    proto = model([node("Gather", "x i", "y", name="pick"), node("Neg", "y", "z")], [("x", FLOAT, [5, 3]), ("i", INT64, ["n"])], [("z", FLOAT)])
    session = fathom.Session(compiled(tmp_path, proto))
    x = floats(random, 5, 3)
    for i in ([0, 4], [2, 5], [1, -5]):
        if max(i) < 5:
            check(session, lambda x, i: [-x[i]], [{"x": x, "i": np.array(i)}])
            continue
        with pytest.raises(fathom.Error, match="an index is outside the dimension it selects from") as caught:
            session.run(None, {"x": x, "i": np.array(i)})
        assert caught.value.code == "F1012" and "pick" in caught.value.node


def test_writes_into_arrays_that_are_given(random, tmp_path):
    proto, function = chain(random)
    session = fathom.Session(compiled(tmp_path, proto))
    for n in (2, 5, 2):
        x = floats(random, n, 5, 7)
        results = {"y": np.empty((7, n, 5), np.float32), "z": np.empty((n, 5, 7), np.float32)}
        session.run_into({"x": x}, results)
        for got, want in zip(results.values(), function(x)):
            assert_close(got, want, "sum")


def test_tools_know_the_artifact(random, tmp_path):
    proto, _ = chain(random)
    path, trace = compiled(tmp_path, proto), tmp_path / "trace.json"

    def told(*words):
        result = subprocess.run([TOOL, *words], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout

    manifest = json.loads(told("inspect", path, "--json"))
    assert manifest["target"]["triple"] == "opencl" and ":" in manifest["target"]["host"]
    assert "z float32[3,5,7]" in told("run", path, "--dim", "n=3")
    bench = json.loads(told("bench", path, "--dim", "n=3", "--min-time", "0.05", "--json", "--profile", trace))
    assert bench["target"] == "opencl:generic"
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    assert len(events) == len(manifest["kernels"]) and all(event["dur"] >= 0 for event in events)
    assert any("pocl" in name.lower() or "cpu" in name.lower() for name in json.loads(told("doctor", "--json"))["opencl"]["devices"])
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    assert "z" in told("verify", tmp_path / "model.onnx", "--target", "opencl")


@pytest.mark.parametrize("environment, message", [
    ({"FATHOM_OPENCL_LIBRARY": "libNoOpenCL.so"}, "its library 'libNoOpenCL.so' cannot be loaded"),
    ({"OCL_ICD_VENDORS": "/nowhere"}, "finds no device: install a device's driver"),
    ({"FATHOM_DEVICE": "99"}, "there is no OpenCL device 99"),
    ({"FATHOM_DEVICE": "gpu"}, "FATHOM_DEVICE is 'gpu': expected the number of a device, from 0"),
])
def test_says_what_the_machine_lacks(random, tmp_path, environment, message):
    proto, _ = chain(random)
    told = problem_with(compiled(tmp_path, proto), **environment)
    assert message in told and told.startswith(("F5001", "F1012")), told


def test_the_device_is_chosen(random, tmp_path):
    proto, function = chain(random)
    path = compiled(tmp_path, proto)
    check(fathom.Session(path, device=0), function, [{"x": floats(random, 2, 5, 7)}])
    with pytest.raises(fathom.Error, match="there is no OpenCL device 7"):
        fathom.Session(path, device=7)
    with pytest.raises(fathom.Error, match="device is -3"):
        fathom.Session(path, device=-3)


@pytest.mark.parametrize("target, message", [
    ("opencl@sm_90", "unknown CPU 'sm_90'"),
    ("opencl@opencl", "'opencl' runs no host code"),
    ("cuda:sm_90@", None),
    ("cuda:sm_90@aarch64", None),
])
def test_the_host_is_chosen(random, tmp_path, target, message):
    proto, _ = chain(random)
    if message:
        with pytest.raises(fathom.Error, match=message):
            compiled(tmp_path, proto, target=target)
        return
    header = compiled(tmp_path, proto, target=target).read_bytes()[:20]
    if "aarch64" in target:
        assert int.from_bytes(header[18:20], "little") == 183


@pytest.mark.parametrize("words, message", [
    (["compile", "--tune", "static:4"], "schedules for 'opencl:generic' cannot be searched for yet"),
    (["compile", "--tune", "measure:4"], "schedules for 'opencl:generic' cannot be searched for yet"),
    (["calibrate"], "estimates for 'opencl:generic' cannot be fitted yet"),
])
def test_refuses_what_devices_have_not(random, tmp_path, words, message):
    proto, _ = chain(random)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    command = [TOOL, words[0], tmp_path / "model.onnx", "--target", "opencl", "--output", tmp_path / "out", *words[1:]]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1 and message in result.stderr, result.stderr
