"""A host of its own for artifacts, through abi.h: runs of tasks of any length, in any order, all in one scratch."""
import contextlib
import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint32, c_uint64, c_void_p

import _ctypes
import numpy as np

TASKS = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int64, c_int64, c_int64, c_void_p)
LAUNCH = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int32, c_void_p, c_void_p, c_int64)


DEVICE_SERVICES = ("device_launch", "device_allocate", "device_release", "device_read", "device_write", "device_copy")


class Services(ctypes.Structure):
    _fields_ = [("version", c_uint32), ("reserved", c_uint32), ("launch", LAUNCH), *((name, c_void_p) for name in ("allocate", "release", "output", "refuse", *DEVICE_SERVICES))]


class Call(ctypes.Structure):
    _fields_ = [("services", POINTER(Services)), *((name, c_void_p) for name in ("host", "weights", "arena", "symbols", "inputs", "outputs"))]


class Table(ctypes.Structure):
    _fields_ = [
        ("magic", c_uint64),
        *((name, c_uint32) for name in ("version", "inputs", "outputs", "symbols", "kernels", "features")),
        *((name, c_void_p) for name in ("input", "output", "symbol", "kernel", "feature", "manifest", "weights")),
        ("weights_size", c_int64), ("scratch_size", c_int64), ("weights_seed", c_uint64), ("weights_seeded", c_uint32), ("reserved", c_uint32),
        ("plan", ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(c_int64))), ("run", ctypes.CFUNCTYPE(c_int32, POINTER(Call))),
    ]  # fmt: skip


def aligned(size):
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :]


@contextlib.contextmanager
def loaded(path):
    """Closed again: a library that stays would be taken for the next one in a file of its number."""
    library = ctypes.CDLL(path)
    try:
        yield Table.in_dll(library, "fathom_artifact")
    finally:
        _ctypes.dlclose(library._handle)


def run(path, inputs, outputs, random):
    """Runs the model on arrays in its order, into arrays of known sizes."""
    with loaded(path) as table:
        run_table(table, inputs, outputs, random)


def run_table(table, inputs, outputs, random):
    scratch = aligned(table.scratch_size)

    def launch(host, kernel, function, environment, tasks):
        cuts = np.unique(random.integers(0, tasks + 1, random.integers(1, 12))) if tasks else []
        ends = np.unique([0, *cuts, tasks])
        runs = list(zip(ends[:-1].tolist(), ends[1:].tolist()))
        if random.integers(2):
            random.shuffle(runs)
        else:
            runs.reverse()
        before = -1
        for first, last in runs:
            if fault := TASKS(function)(environment, first, last, before, scratch.ctypes.data):
                return fault
            before = last - 1
        return 0

    sizes = (c_int64 * (1 + sum(array.ndim for array in outputs)))()
    assert table.plan(None, sizes) == 0
    arena = aligned(sizes[0])
    services = Services(table.version, 0, LAUNCH(launch))
    pointers = [(c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)) for arrays in (inputs, outputs)]
    call = Call(ctypes.pointer(services), None, table.weights, arena.ctypes.data, None, *(ctypes.addressof(p) for p in pointers))
    assert table.run(ctypes.byref(call)) == 0
