// The part of NVIDIA's driver interface that is used, loaded by name: libcuda.so.1 comes with the driver, and programs
// that have no GPU do not need it. Types and numbers are the interface's.
#ifndef FATHOM_RUNTIME_DEVICE_CUDADRIVER_H
#define FATHOM_RUNTIME_DEVICE_CUDADRIVER_H

#include "../fathom_rt.h"

namespace fathom {

using CudaPointer = uint64_t;

// Results that need words of their own.
enum : int {
  CudaOutOfMemory = 2,
  CudaNoDevice = 100,
  CudaInvalidPtx = 218,
  CudaNoBinaryForGpu = 209,
  CudaUnsupportedPtxVersion = 222
};
enum : int { CudaMajor = 75, CudaMinor = 76 };      // attributes of a device
enum : int { CudaMemoryType = 2, CudaOrdinal = 9 }; // attributes of a pointer
constexpr unsigned CudaDeviceMemory = 2;
enum : int { CudaJitErrorLog = 5, CudaJitErrorLogBytes = 6 };

// clang-format off
#define FATHOM_CUDA_FUNCTIONS(X)                                                                                       \
  X(init, cuInit, (unsigned))                                                                                          \
  X(driverVersion, cuDriverGetVersion, (int *))                                                                        \
  X(errorName, cuGetErrorName, (int, const char **))                                                                   \
  X(errorText, cuGetErrorString, (int, const char **))                                                                 \
  X(deviceCount, cuDeviceGetCount, (int *))                                                                            \
  X(deviceGet, cuDeviceGet, (int *, int))                                                                              \
  X(deviceName, cuDeviceGetName, (char *, int, int))                                                                   \
  X(deviceAttribute, cuDeviceGetAttribute, (int *, int, int))                                                          \
  X(retainContext, cuDevicePrimaryCtxRetain, (void **, int))                                                           \
  X(pushContext, cuCtxPushCurrent_v2, (void *))                                                                        \
  X(popContext, cuCtxPopCurrent_v2, (void **))                                                                         \
  X(memoryInfo, cuMemGetInfo_v2, (size_t *, size_t *))                                                                 \
  X(allocate, cuMemAlloc_v2, (CudaPointer *, size_t))                                                                  \
  X(release, cuMemFree_v2, (CudaPointer))                                                                              \
  X(allocateHost, cuMemHostAlloc, (void **, size_t, unsigned))                                                         \
  X(releaseHost, cuMemFreeHost, (void *))                                                                              \
  X(loadModule, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                                 \
  X(unloadModule, cuModuleUnload, (void *))                                                                            \
  X(function, cuModuleGetFunction, (void **, void *, const char *))                                                    \
  X(createStream, cuStreamCreate, (void **, unsigned))                                                                 \
  X(destroyStream, cuStreamDestroy_v2, (void *))                                                                       \
  X(waitFor, cuStreamSynchronize, (void *))                                                                            \
  X(pointerAttributes, cuPointerGetAttributes, (unsigned, int *, void **, CudaPointer))                                \
  X(streamContext, cuStreamGetCtx, (void *, void **))                                                                  \
  X(write, cuMemcpyHtoDAsync_v2, (CudaPointer, const void *, size_t, void *))                                          \
  X(read, cuMemcpyDtoHAsync_v2, (void *, CudaPointer, size_t, void *))                                                 \
  X(copy, cuMemcpyDtoDAsync_v2, (CudaPointer, CudaPointer, size_t, void *))                                            \
  X(fill, cuMemsetD8Async, (CudaPointer, unsigned char, size_t, void *))                                               \
  X(launch, cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,     \
                             void **, void **))                                                                        \
  X(createEvent, cuEventCreate, (void **, unsigned))                                                                   \
  X(destroyEvent, cuEventDestroy_v2, (void *))                                                                         \
  X(recordEvent, cuEventRecord, (void *, void *))                                                                      \
  X(elapsed, cuEventElapsedTime, (float *, void *, void *))                                                            \
  X(beginCapture, cuStreamBeginCapture_v2, (void *, int))                                                              \
  X(endCapture, cuStreamEndCapture, (void *, void **))                                                                 \
  X(instantiate, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                   \
  X(launchGraph, cuGraphLaunch, (void *, void *))                                                                      \
  X(destroyGraph, cuGraphDestroy, (void *))                                                                            \
  X(destroyExecutable, cuGraphExecDestroy, (void *))
// clang-format on

struct CudaDriver {
#define FATHOM_CUDA_MEMBER(Member, Name, Parameters) int(*Member) Parameters = nullptr;
  FATHOM_CUDA_FUNCTIONS(FATHOM_CUDA_MEMBER)
#undef FATHOM_CUDA_MEMBER

  // Loads and starts the driver; once it has, it stays.
  [[nodiscard]] fathom_status *load();
  // What went wrong, by the driver's words.
  [[nodiscard]] fathom_status *failed(const char *What, int Result) const;

private:
  void *Library = nullptr;
};

} // namespace fathom

#endif
