// A stand-in for libcuda.so.1: memory is the host's, kernels do nothing, and calls fail as the environment says.
// STAND_IN_FAIL=cuInit:100 makes a call fail so, STAND_IN_ARCHITECTURE=75 is the GPU's, STAND_IN_BYTES its memory, and
// every call's name goes to the file STAND_IN_LOG.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t used = 0;

// Memory that was allocated, to know it again.
static struct {
  uint64_t begin, end;
} blocks[256];

static int isOwn(uint64_t pointer) {
  for (int i = 0; i < 256; ++i)
    if (pointer >= blocks[i].begin && pointer < blocks[i].end)
      return 1;
  return 0;
}
static void note(uint64_t begin, uint64_t end, uint64_t newBegin, uint64_t newEnd) {
  for (int i = 0; i < 256; ++i)
    if (blocks[i].begin == begin && (end == 0 || blocks[i].end == end)) {
      blocks[i].begin = newBegin, blocks[i].end = newEnd;
      return;
    }
}

static int result(const char *name) {
  const char *log = getenv("STAND_IN_LOG"), *fail = getenv("STAND_IN_FAIL");
  FILE *file = log ? fopen(log, "a") : NULL;
  if (file) {
    fprintf(file, "%s\n", name);
    fclose(file);
  }
  size_t length = strlen(name);
  return fail && strncmp(fail, name, length) == 0 && fail[length] == ':' ? atoi(fail + length + 1) : 0;
}
static size_t number(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

#define CALL(name, parameters, does)                                                                                   \
  int name parameters {                                                                                                \
    int failed = result(#name);                                                                                        \
    if (failed)                                                                                                        \
      return failed;                                                                                                   \
    does;                                                                                                              \
    return 0;                                                                                                          \
  }

CALL(cuInit, (unsigned flags), (void)flags)
CALL(cuDriverGetVersion, (int *version), *version = 11080)
CALL(cuGetErrorName, (int error, const char **name), (void)error; *name = "STAND_IN_ERROR")
CALL(cuGetErrorString, (int error, const char **text), (void)error; *text = "the stand-in was told to fail")
CALL(cuDeviceGetCount, (int *count), *count = 1)
CALL(cuDeviceGet, (int *device, int number), *device = number)
CALL(cuDeviceGetName, (char *name, int room, int device), (void)device; snprintf(name, room, "Stand-in GPU"))
CALL(cuDeviceGetAttribute, (int *value, int which, int device), (void)device;
     int all = (int)number("STAND_IN_ARCHITECTURE", 90); *value = which == 75 ? all / 10 : all % 10)
CALL(cuDevicePrimaryCtxRetain, (void **context, int device), (void)device; *context = &used)
CALL(cuCtxPushCurrent_v2, (void *context), (void)context)
CALL(cuCtxPopCurrent_v2, (void **context), *context = NULL)
CALL(cuMemGetInfo_v2, (size_t *left, size_t *total), *total = number("STAND_IN_BYTES", 1 << 30); *left = *total - used)
CALL(cuMemAlloc_v2, (uint64_t *memory, size_t bytes), if (used + bytes > number("STAND_IN_BYTES", 1 << 30)) return 2;
     size_t *made = aligned_alloc(64, (bytes + 64 + 63) / 64 * 64); memset(made, 0, bytes + 64); *made = bytes;
     used += bytes; *memory = (uint64_t)(uintptr_t)made + 64; note(0, 0, *memory, *memory + bytes))
CALL(cuMemFree_v2, (uint64_t memory), size_t *made = (size_t *)(uintptr_t)(memory - 64); used -= *made;
     note(memory, 0, 0, 0); free(made))
CALL(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags), (void)flags; *memory = malloc(bytes))
CALL(cuMemFreeHost, (void *memory), free(memory))
CALL(cuModuleLoadDataEx, (void **module, const void *text, unsigned count, int *options, void **values), (void)count;
     (void)options; (void)values; *module = (void *)text)
CALL(cuModuleUnload, (void *module), (void)module)
CALL(cuModuleGetFunction, (void **function, void *module, const char *name), if (!strstr(module, name)) return 500;
     *function = module)
CALL(cuStreamCreate, (void **stream, unsigned flags), (void)flags; *stream = malloc(1))
CALL(cuStreamDestroy_v2, (void *stream), free(stream))
CALL(cuStreamGetCtx, (void *stream, void **context), *context = stream == (void *)1 ? NULL : &used)
CALL(cuPointerGetAttributes, (unsigned count, int *asked, void **told, uint64_t pointer),
     for (unsigned i = 0; i < count; ++i) if (asked[i] == 2) * (unsigned *)told[i] = isOwn(pointer) ? 2 : 0;
     else * (int *)told[i] = isOwn(pointer) ? (int)number("STAND_IN_ORDINAL", 0) : 0)
CALL(cuStreamSynchronize, (void *stream), (void)stream)
CALL(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream), (void)stream;
     memcpy((void *)(uintptr_t)to, from, bytes))
CALL(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream), (void)stream;
     memcpy(to, (void *)(uintptr_t)from, bytes))
CALL(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, void *stream), (void)stream;
     memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes))
CALL(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, void *stream), (void)stream;
     memset((void *)(uintptr_t)to, value, bytes))
CALL(cuLaunchKernel,
     (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
      void *stream, void **parameters, void **extra),
     (void)function;
     (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)stream; (void)parameters;
     (void)extra)
CALL(cuEventCreate, (void **event, unsigned flags), (void)flags; *event = malloc(1))
CALL(cuEventDestroy_v2, (void *event), free(event))
CALL(cuEventRecord, (void *event, void *stream), (void)event; (void)stream)
CALL(cuEventElapsedTime, (float *milliseconds, void *start, void *end), (void)start; (void)end; *milliseconds = 1)
CALL(cuStreamBeginCapture_v2, (void *stream, int mode), (void)stream; (void)mode)
CALL(cuStreamEndCapture, (void *stream, void **graph), (void)stream; *graph = malloc(1))
#ifndef OLD
CALL(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags), (void)graph; (void)flags;
     *executable = malloc(1))
#endif
CALL(cuGraphLaunch, (void *executable, void *stream), (void)executable; (void)stream)
CALL(cuGraphDestroy, (void *graph), free(graph))
CALL(cuGraphExecDestroy, (void *executable), free(executable))
