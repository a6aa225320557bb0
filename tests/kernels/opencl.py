"""Just enough of OpenCL, through its C library: builds a program for the first device there is and runs a kernel of it."""
import ctypes
import os
import tempfile
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

DEVICE_TYPE_ALL, PROGRAM_BUILD_LOG = 0xFFFFFFFF, 0x1183
READ_WRITE, COPY_HOST_PTR = 1, 32
GUARD = 64  # bytes around each buffer that a kernel must leave alone


class Device:
    def __init__(self):
        # Programs that were built before are taken from a cache, which must not outlive the compiler that made their source.
        os.environ.setdefault("POCL_CACHE_DIR", tempfile.mkdtemp(prefix="pocl-"))
        self.library = ctypes.CDLL("libOpenCL.so.1")
        platform, self.device = c_void_p(), c_void_p()
        self.call("clGetPlatformIDs", c_uint32(1), byref(platform), None)
        self.call("clGetDeviceIDs", platform, c_uint64(DEVICE_TYPE_ALL), c_uint32(1), byref(self.device), None)
        self.context = self.create("clCreateContext", None, c_uint32(1), byref(self.device), None, None)
        self.queue = self.create("clCreateCommandQueue", self.context, self.device, c_uint64(0))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name}: error {status}"

    def create(self, name, *arguments):
        function, status = getattr(self.library, name), c_int32()
        function.restype = c_void_p
        made = c_void_p(function(*arguments, byref(status)))
        assert status.value == 0, f"{name}: error {status.value}"
        return made

    def build(self, source):
        text = source.encode()
        program = self.create("clCreateProgramWithSource", self.context, c_uint32(1), byref(c_char_p(text)), byref(c_size_t(len(text))))
        status = self.library.clBuildProgram(program, c_uint32(1), byref(self.device), b"-cl-std=CL1.2 -Werror", None, None)
        if status:
            log = ctypes.create_string_buffer(1 << 16)
            self.call("clGetProgramBuildInfo", program, self.device, c_uint32(PROGRAM_BUILD_LOG), c_size_t(len(log)), log, None)
            raise AssertionError(f"{log.value.decode()}\n{source}")
        return program

    def buffer(self, array):
        data = np.frombuffer(b"\x5a" * GUARD + np.ascontiguousarray(array).tobytes() + b"\x5a" * GUARD, np.uint8)
        return self.create("clCreateBuffer", self.context, c_uint64(READ_WRITE | COPY_HOST_PTR), c_size_t(data.size), data.ctypes.data_as(c_void_p))

    def read(self, buffer, like):
        data = np.empty(like.nbytes + 2 * GUARD, np.uint8)
        self.call("clEnqueueReadBuffer", self.queue, buffer, c_uint32(1), c_size_t(0), c_size_t(data.size), data.ctypes.data_as(c_void_p), c_uint32(0), None, None)
        assert (data[:GUARD] == 0x5A).all() and (data[-GUARD:] == 0x5A).all(), "a kernel wrote outside of a buffer"
        return data[GUARD:-GUARD].view(like.dtype).reshape(like.shape)

    def run(self, program, name, inputs, outputs, sizes, groups, items=256, scratch=0):
        """The outputs (arrays whose contents are overwritten), and the code of a fault or 0. A group has `scratch` bytes of its own."""
        kernel = self.create("clCreateKernel", program, name.encode())
        fault = np.zeros(1, np.int32)
        arrays = [*inputs, *outputs, fault, np.zeros(groups * scratch, np.uint8)]
        buffers = [self.buffer(array) for array in arrays]
        pointers = [part for buffer in buffers for part in (buffer, c_uint64(GUARD))]
        for i, argument in enumerate([*pointers, *map(c_int64, sizes)]):
            self.call("clSetKernelArg", kernel, c_uint32(i), c_size_t(8), byref(argument))
        self.call("clEnqueueNDRangeKernel", self.queue, kernel, c_uint32(1), None, byref(c_size_t(groups * items)), byref(c_size_t(items)), c_uint32(0), None, None)
        results = [self.read(buffer, array) for buffer, array in zip(buffers, arrays)]
        for buffer in buffers:
            self.call("clReleaseMemObject", buffer)
        self.call("clReleaseKernel", kernel)
        return results[len(inputs) : -2], int(results[-2][0])
