// Loading of OpenCL's library and the words for what can be wrong with it.
#include "OpenClLibrary.h"

#include "../Status.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace fathom;

fathom_status *OpenClLibrary::load() {
  if (Library)
    return nullptr;
  const char *Named = getenv("FATHOM_OPENCL_LIBRARY");
  const char *Name = Named && *Named ? Named : "libOpenCL.so.1";
  void *Found = dlopen(Name, RTLD_NOW | RTLD_LOCAL);
  if (!Found) {
    const char *Why = dlerror();
    return makeStatus(FATHOM_ERROR_DEVICE,
                      "the model is for OpenCL and its library '%s' cannot be loaded (%s): install it and the driver "
                      "of a device (Debian: ocl-icd-libopencl1), or compile the model for this machine's CPU",
                      Name, Why ? Why : "no reason given");
  }
  const char *Missing = nullptr;
#define FATHOM_OPENCL_LOAD(Member, Symbol, Result, Parameters)                                                         \
  Member = reinterpret_cast<Result(*) Parameters>(dlsym(Found, #Symbol));                                              \
  if (!Member)                                                                                                         \
    Missing = #Symbol;
  FATHOM_OPENCL_FUNCTIONS(FATHOM_OPENCL_LOAD)
#undef FATHOM_OPENCL_LOAD
  if (Missing) {
    dlclose(Found);
    return makeStatus(FATHOM_ERROR_DEVICE, "OpenCL's library '%s' is too old: it has no %s of OpenCL 1.2", Name,
                      Missing);
  }
  Library = Found;
  return nullptr;
}

static const char *nameOf(int Result) {
  switch (Result) {
  case ClMemoryFailure:
    return "no memory for a buffer on the device";
  case ClOutOfResources:
    return "the device is out of resources";
  case ClOutOfHostMemory:
    return "out of memory";
  case ClInvalidBufferSize:
    return "a buffer is larger than the device allows";
  }
  return "see the errors of OpenCL";
}

fathom_status *OpenClLibrary::failed(const char *What, int Result) const {
  bool IsMemory = Result == ClMemoryFailure || Result == ClOutOfHostMemory;
  return makeStatus(IsMemory ? FATHOM_ERROR_MEMORY : FATHOM_ERROR_DEVICE, "%s failed: %s (%d)", What, nameOf(Result),
                    Result);
}
