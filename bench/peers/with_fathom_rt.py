"""Fathom's runtime alone, through its C API: for machines that have no compiler and any Python. MODEL is the artifact, its sizes all known.

The library is what FATHOM_RT_LIBRARY names, or the installed one.
"""

import ctypes
import os

import numpy as np

# fathom_dtype, which has ONNX's numbers.
DTYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8"}


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)), ("symbols", ctypes.c_void_p),
    ]  # fmt: skip

    @property
    def shape(self):
        return self.dims[: self.rank]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t),
    ]  # fmt: skip

    @classmethod
    def of(cls, array, dtype):
        # NumPy's own copy of the sizes lives as long as the array.
        dims = ctypes.cast(array.ctypes.shape, ctypes.POINTER(ctypes.c_int64)) if array.ndim else None
        return cls(array.ctypes.data, dtype, array.ndim, dims, array.nbytes)

    def copy(self):
        shape, dtype = self.dims[: self.rank], np.dtype(DTYPES[self.dtype])
        text = ctypes.string_at(self.data, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize) if self.data else b""
        return np.frombuffer(text, dtype).reshape(shape)


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("allocate", ctypes.c_void_p), ("deallocate", ctypes.c_void_p),
        ("allocator_user", ctypes.c_void_p), ("parallel_for", ctypes.c_void_p), ("parallel_for_user", ctypes.c_void_p),
    ]  # fmt: skip


class Library:
    """The C API; a status that is not NULL becomes an exception."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name in ("fathom_version", "fathom_status_message"):
            getattr(self.library, name).restype = ctypes.c_char_p
        for name in ("fathom_model_input_count", "fathom_model_output_count"):
            getattr(self.library, name).restype = ctypes.c_size_t

    def check(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        if status := function(*arguments):
            raise RuntimeError(self.library.fathom_status_message(ctypes.c_void_p(status)).decode())

    def infos(self, model, kind):
        found = (TensorInfo * getattr(self.library, f"fathom_model_{kind}_count")(model))()
        for i, info in enumerate(found):
            self.check(f"fathom_model_{kind}", model, ctypes.c_size_t(i), ctypes.byref(info))
        return found


class Session:
    def __init__(self, library, path, threads):
        self.library, self.context, model = library, ctypes.c_void_p(), ctypes.c_void_p()
        self.model = model
        library.check("fathom_model_load", str(path).encode(), ctypes.byref(model))
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), threads=threads)
        library.check("fathom_context_create", model, ctypes.byref(options), ctypes.byref(self.context))
        self.inputs, outputs = library.infos(model, "input"), library.infos(model, "output")
        if any(size < 0 for info in self.inputs for size in info.shape):
            raise RuntimeError("the model has sizes that only a run knows")
        # An output whose sizes data decides stays in the runtime's memory.
        self.buffers = [np.empty(info.shape, DTYPES[info.dtype]) if min(info.shape, default=0) >= 0 else None for info in outputs]
        self.outputs = (Tensor * len(outputs))(
            *(Tensor(None, info.dtype, info.rank) if buffer is None else Tensor.of(buffer, info.dtype) for info, buffer in zip(outputs, self.buffers))
        )

    def run(self, values):
        arrays = [np.ascontiguousarray(values[info.name.decode()], DTYPES[info.dtype]) for info in self.inputs]
        if [list(array.shape) for array in arrays] != [info.shape for info in self.inputs]:
            raise RuntimeError("an input has another shape than the model's")
        inputs = (Tensor * len(arrays))(*(Tensor.of(array, info.dtype) for array, info in zip(arrays, self.inputs)))
        counts = ctypes.c_size_t(len(inputs)), ctypes.c_size_t(len(self.outputs))
        self.library.check("fathom_context_run", self.context, inputs, counts[0], self.outputs, counts[1])
        return [self.computed(i) if buffer is None else buffer for i, buffer in enumerate(self.buffers)]

    def computed(self, index):
        found = Tensor()
        self.library.check("fathom_context_output", self.context, ctypes.c_size_t(index), ctypes.byref(found))
        return found.copy()


def load(model, threads, folder):
    library = Library(os.environ.get("FATHOM_RT_LIBRARY", "libfathom_rt.so.1"))
    return Session(library, model, threads).run, library.library.fathom_version().decode()
