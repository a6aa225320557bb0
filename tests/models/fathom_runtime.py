"""The runtime's C API by ctypes: what the model tests need of it, so that they do not depend on the Python package under test."""
import ctypes as C

import numpy as np

DTYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9}


class Tensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("dtype", C.c_int32), ("rank", C.c_int32), ("dims", C.POINTER(C.c_int64)), ("bytes", C.c_size_t)]


class Options(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("threads", C.c_int32), ("allocate", C.c_void_p), ("deallocate", C.c_void_p),
                ("allocator_user", C.c_void_p), ("parallel_for", C.c_void_p), ("parallel_for_user", C.c_void_p)]


class Runtime:
    def __init__(self, library):
        self.lib = C.CDLL(str(library))
        self.lib.fathom_status_message.restype = C.c_char_p
        self.lib.fathom_status_message.argtypes = [C.c_void_p]
        for name in ("fathom_model_load", "fathom_context_create", "fathom_context_run", "fathom_context_output_dims"):
            getattr(self.lib, name).restype = C.c_void_p

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.fathom_status_message(status).decode())


def tensor(array):
    """A view of an array; the array must outlive it."""
    dims = (C.c_int64 * max(1, array.ndim))(*array.shape)
    return Tensor(array.ctypes.data, DTYPES[array.dtype.name], array.ndim, dims, array.nbytes)


class Context:
    """A loaded artifact with its workers."""

    def __init__(self, runtime, artifact, threads):
        self.runtime, self.model, self.context = runtime, C.c_void_p(), C.c_void_p()
        runtime.check(runtime.lib.fathom_model_load(str(artifact).encode(), C.byref(self.model)))
        options = Options(C.sizeof(Options), threads)
        runtime.check(runtime.lib.fathom_context_create(self.model, C.byref(options), C.byref(self.context)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.lib.fathom_context_free(self.context)
        self.runtime.lib.fathom_model_free(self.model)

    def run(self, inputs, like):
        """The outputs, with the shapes and types of the arrays in `like`; what they held before is garbage on purpose."""
        outputs = [np.full_like(array, 77) for array in like]
        given = (Tensor * len(inputs))(*map(tensor, inputs))
        taken = (Tensor * len(outputs))(*map(tensor, outputs))
        lib = self.runtime.lib
        self.runtime.check(lib.fathom_context_run(self.context, given, C.c_size_t(len(inputs)), taken, C.c_size_t(len(outputs))))
        return outputs
