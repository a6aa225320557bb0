"""Artifacts for CUDA with a stand-in for its driver (stand_in_cuda.c), in which kernels do nothing: what the runtime asks for, in which order, and
what it says where the machine lacks something or a call fails."""
import collections
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import fathom
from support.models import FLOAT, model, node

SOURCE = pathlib.Path(__file__).with_name("stand_in_cuda.c")

# Runs a list of steps in one process: the environment of each, and the sizes that the model runs with in a session of its own. Prints what
# became of each run.
SCRIPT = """
import json, os, sys
import numpy as np
import fathom
told = []
for environment, sizes in json.loads(sys.argv[2]):
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        session = fathom.Session(sys.argv[1])
        for n in sizes:
            try:
                session.run(None, {"x": np.ones((n, 3), "f")})
                told.append("")
            except fathom.Error as error:
                told.append(f"{error.code} {error}")
        session = None
    except fathom.Error as error:
        told.append(f"{error.code} {error}")
    for name in environment:
        os.environ.pop(name)
print(json.dumps(told))
"""


def built(folder, *flags):
    path = folder / f"libstand_in{len(flags)}.so"
    subprocess.run(["clang-22", "-shared", "-fPIC", "-O1", "-Wall", *flags, "-o", path, SOURCE], check=True)
    return path


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return built(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    proto = model([node("Mul", "x w", "p"), node("Exp", "p", "y")], [("x", FLOAT, ["n", 3])], [("y", FLOAT)], {"w": np.ones(3, "f")})
    path = tmp_path_factory.mktemp("artifact") / "model.fathom"
    fathom.compile(proto, path, target="cuda:sm_90")
    return path


def steps(artifact, library, *wanted):
    environment = os.environ | {"FATHOM_CUDA_LIBRARY": str(library)}
    words = [sys.executable, "-c", SCRIPT, artifact, json.dumps(wanted)]
    result = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_records_a_run_that_comes_again(artifact, driver, tmp_path):
    """A size runs as it is, is recorded, and then repeated; another size is its own."""
    log = tmp_path / "log"
    assert steps(artifact, driver, ({"STAND_IN_LOG": str(log)}, [5, 5, 5, 5, 2, 5, 2])) == [""] * 7
    calls = collections.Counter(log.read_text().split())
    assert calls["cuStreamBeginCapture_v2"] == calls["cuGraphInstantiateWithFlags"] == calls["cuGraphExecDestroy"] == 2
    assert calls["cuLaunchKernel"] == 4 and calls["cuGraphLaunch"] == 5
    assert calls["cuMemAlloc_v2"] == calls["cuMemFree_v2"]
    assert calls["cuModuleLoadDataEx"] == calls["cuModuleUnload"] and calls["cuStreamCreate"] == calls["cuStreamDestroy_v2"]


def test_goes_on_after_memory_ran_out(artifact, driver):
    first, second, third = steps(artifact, driver, ({"STAND_IN_BYTES": "5000"}, [4, 1000, 4]))
    assert first == third == ""
    assert second.startswith("F5001") and "no memory for an input (12000 bytes) on 'Stand-in GPU', which has" in second


OPENING = ["cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDriverGetVersion", "cuDevicePrimaryCtxRetain"]
RUNNING = ["cuMemAlloc_v2", "cuModuleGetFunction", "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async", "cuLaunchKernel",
           "cuStreamSynchronize", "cuModuleLoadDataEx", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"]  # fmt: skip


def test_every_call_may_fail(artifact, driver):
    """Each failure is an error that names it, and the process goes on."""
    names = ["cuInit", *OPENING, *RUNNING]
    told = steps(artifact, driver, *(({"STAND_IN_FAIL": f"{name}:719"}, [3, 3, 3]) for name in names), ({}, [3, 3, 3]))
    assert told[-3:] == ["", "", ""]
    failed = [line for line in told[:-3] if line]
    assert len(failed) >= len(names)
    assert all(line.startswith("F5001") and "the stand-in was told to fail (STAND_IN_ERROR, 719)" in line for line in failed)


@pytest.mark.parametrize("environment, message", [
    ({"STAND_IN_FAIL": "cuInit:100"}, "the NVIDIA driver finds no GPU: look at nvidia-smi and at CUDA_VISIBLE_DEVICES"),
    ({"STAND_IN_ARCHITECTURE": "75"}, "for GPUs of architecture sm_90 or later, and 'Stand-in GPU' is sm_75: compile it with --target cuda:sm_75"),
    ({"STAND_IN_FAIL": "cuModuleLoadDataEx:222"}, "the NVIDIA driver (for CUDA 11.8) does not take kernel"),
    ({"STAND_IN_FAIL": "cuModuleLoadDataEx:209"}, "kernels are for another architecture than that of 'Stand-in GPU'"),
    ({"FATHOM_DEVICE": "1"}, "there is no GPU 1: the driver has 1, numbered from 0"),
])
def test_says_what_to_do(artifact, driver, environment, message):
    [told] = steps(artifact, driver, (environment, [1]))
    assert told.startswith("F5001") and message in told


def test_needs_a_driver_that_is_new_enough(artifact, tmp_path):
    [told] = steps(artifact, built(tmp_path, "-DOLD"), ({}, [1]))
    assert told.startswith("F5001") and "the NVIDIA driver is too old" in told and "has no cuGraphInstantiateWithFlags" in told


def test_needs_a_driver(artifact):
    [told] = steps(artifact, "libNoCuda.so", ({}, [1]))
    assert told.startswith("F5001") and "driver's library 'libNoCuda.so' cannot be loaded" in told and "install NVIDIA's driver" in told


# Tensors of the device's memory, as PyTorch hands them on.
TENSORS = """
import collections, ctypes, os, sys
import numpy as np
import fathom

driver = ctypes.CDLL(os.environ["FATHOM_CUDA_LIBRARY"])
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

class Managed(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("kind", ctypes.c_int32), ("number", ctypes.c_int32), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

class OnDevice:
    def __init__(self, *shape, bits=32):
        at = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(int(np.prod(shape)) * bits // 8)) == 0
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = Managed(at.value, 2, 0, len(shape), 2, bits, 1, ctypes.addressof(self.shape))
    def __dlpack_device__(self):
        return 2, 0
    def __dlpack__(self, **options):
        return capsule(ctypes.addressof(self.tensor), b"dltensor", None)

def told(run):
    try:
        run()
        return ""
    except fathom.Error as error:
        return f"{error.code} {error}"

session = fathom.Session(sys.argv[1], stream=int(os.environ.get("STREAM", 0)))
x, y, host, other = OnDevice(5, 3), OnDevice(5, 3), np.ones((5, 3), "f"), np.ones((5, 3), "f")
if sys.argv[2] == "count":
    os.environ["STAND_IN_LOG"] = sys.argv[3]
    for _ in range(4):
        session.run_into({"x": x}, {"y": y})
    calls = collections.Counter(open(sys.argv[3]).read().split())
    print(calls["cuMemcpyHtoDAsync_v2"], calls["cuMemcpyDtoDAsync_v2"], calls["cuGraphLaunch"])
elif sys.argv[2] == "mixed":
    print([told(lambda: session.run_into({"x": a}, {"y": b})) for a, b in ((x, host), (host, y), (host, other), (x, y), (x, host))])
else:
    print([told(lambda: session.run_into(given, {"y": y})) for given in ({"x": x}, {}, {"x": OnDevice(5, 3, bits=64)}, {"x": OnDevice(5, 4)})])
"""


def tensors(artifact, driver, *words, **environment):
    environment = os.environ | {"FATHOM_CUDA_LIBRARY": str(driver)} | environment
    result = subprocess.run([sys.executable, "-c", TENSORS, artifact, *map(str, words)], capture_output=True, text=True, env=environment)
    return result.stdout.strip() if result.returncode == 0 else result.stderr.strip().split("\n")[-1]


def test_tensors_of_the_device_stay_there(artifact, driver, tmp_path):
    """Nothing goes through the host: two copies on the device a run, and repeated runs are recordings."""
    assert tensors(artifact, driver, "count", tmp_path / "log") == "0 8 3"


def test_tensors_may_be_here_and_there(artifact, driver):
    assert tensors(artifact, driver, "mixed") == str([""] * 5)


def test_refuses_tensors_that_do_not_fit(artifact, driver):
    found = tensors(artifact, driver, "odd", STAND_IN_ORDINAL="3")
    assert "a tensor is in the memory of GPU 3 and the context runs on GPU 0" in found
    assert "arrays are given for" in found and "not of the model's type" in found and "dimension 1: got 4" in found


def test_runs_in_the_callers_stream(artifact, driver, tmp_path):
    assert tensors(artifact, driver, "count", tmp_path / "log", STREAM="4096") == "0 8 3"
    found = tensors(artifact, driver, "mixed", STREAM="1")
    assert "options.device_stream is a stream of another device or context than that of 'Stand-in GPU'" in found
