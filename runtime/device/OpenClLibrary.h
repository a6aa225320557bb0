// The part of OpenCL 1.2 that is used, loaded by name: libOpenCL.so.1 finds the drivers that are installed. Types and
// numbers are the interface's.
#ifndef FATHOM_RUNTIME_DEVICE_OPENCLLIBRARY_H
#define FATHOM_RUNTIME_DEVICE_OPENCLLIBRARY_H

#include "../fathom_rt.h"

namespace fathom {

using ClHandle = void *;
using ClFlags = uint64_t;
using ClBool = uint32_t;
using ClEvents = const ClHandle *;

enum : int {
  ClDeviceNotFound = -1,
  ClMemoryFailure = -4,
  ClOutOfResources = -5,
  ClOutOfHostMemory = -6,
  ClBuildFailure = -11,
  ClInvalidBufferSize = -61,
  ClNoPlatform = -1001
};
constexpr ClFlags ClAllDevices = 0xffffffff, ClReadWrite = 1, ClProfiling = 2;
constexpr uint32_t ClDeviceName = 0x102b, ClDeviceVersion = 0x102f, ClSingleFloats = 0x101b, ClGlobalMemory = 0x101f,
                   ClLargestBuffer = 0x1010, ClGroupItems = 0x1004, ClBuildLog = 0x1183;
constexpr uint32_t ClQueued = 0x1280, ClStart = 0x1282, ClEnd = 0x1283;
constexpr ClFlags ClExactQuotients = 1 << 7; // among what floats are

// clang-format off
#define FATHOM_OPENCL_FUNCTIONS(X)                                                                                     \
  X(platforms, clGetPlatformIDs, int, (uint32_t, ClHandle *, uint32_t *))                                              \
  X(platformInfo, clGetPlatformInfo, int, (ClHandle, uint32_t, size_t, void *, size_t *))                              \
  X(devices, clGetDeviceIDs, int, (ClHandle, ClFlags, uint32_t, ClHandle *, uint32_t *))                               \
  X(deviceInfo, clGetDeviceInfo, int, (ClHandle, uint32_t, size_t, void *, size_t *))                                  \
  X(createContext, clCreateContext, ClHandle, (const intptr_t *, uint32_t, ClEvents, void *, void *, int *))           \
  X(createQueue, clCreateCommandQueue, ClHandle, (ClHandle, ClHandle, ClFlags, int *))                                 \
  X(releaseQueue, clReleaseCommandQueue, int, (ClHandle))                                                              \
  X(createBuffer, clCreateBuffer, ClHandle, (ClHandle, ClFlags, size_t, void *, int *))                                \
  X(releaseBuffer, clReleaseMemObject, int, (ClHandle))                                                                \
  X(createProgram, clCreateProgramWithSource, ClHandle, (ClHandle, uint32_t, const char **, const size_t *, int *))    \
  X(build, clBuildProgram, int, (ClHandle, uint32_t, ClEvents, const char *, void *, void *))                          \
  X(buildInfo, clGetProgramBuildInfo, int, (ClHandle, ClHandle, uint32_t, size_t, void *, size_t *))                   \
  X(releaseProgram, clReleaseProgram, int, (ClHandle))                                                                 \
  X(createKernel, clCreateKernel, ClHandle, (ClHandle, const char *, int *))                                           \
  X(releaseKernel, clReleaseKernel, int, (ClHandle))                                                                   \
  X(setArgument, clSetKernelArg, int, (ClHandle, uint32_t, size_t, const void *))                                      \
  X(launch, clEnqueueNDRangeKernel, int, (ClHandle, ClHandle, uint32_t, const size_t *, const size_t *,                \
                                          const size_t *, uint32_t, ClEvents, ClHandle *))                             \
  X(write, clEnqueueWriteBuffer, int, (ClHandle, ClHandle, ClBool, size_t, size_t, const void *, uint32_t, ClEvents,   \
                                       ClHandle *))                                                                    \
  X(read, clEnqueueReadBuffer, int, (ClHandle, ClHandle, ClBool, size_t, size_t, void *, uint32_t, ClEvents,           \
                                     ClHandle *))                                                                      \
  X(copy, clEnqueueCopyBuffer, int, (ClHandle, ClHandle, ClHandle, size_t, size_t, size_t, uint32_t, ClEvents,         \
                                     ClHandle *))                                                                      \
  X(fill, clEnqueueFillBuffer, int, (ClHandle, ClHandle, const void *, size_t, size_t, size_t, uint32_t, ClEvents,     \
                                     ClHandle *))                                                                      \
  X(finish, clFinish, int, (ClHandle))                                                                                 \
  X(eventTime, clGetEventProfilingInfo, int, (ClHandle, uint32_t, size_t, void *, size_t *))                           \
  X(releaseEvent, clReleaseEvent, int, (ClHandle))
// clang-format on

struct OpenClLibrary {
#define FATHOM_OPENCL_MEMBER(Member, Name, Result, Parameters) Result(*Member) Parameters = nullptr;
  FATHOM_OPENCL_FUNCTIONS(FATHOM_OPENCL_MEMBER)
#undef FATHOM_OPENCL_MEMBER

  // Once it is loaded, it stays.
  [[nodiscard]] fathom_status *load();
  [[nodiscard]] fathom_status *failed(const char *What, int Result) const;

private:
  void *Library = nullptr;
};

} // namespace fathom

#endif
