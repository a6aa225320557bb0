// Loading of the driver's library and the words for what can be wrong with it.
#include "CudaDriver.h"

#include "../Status.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace fathom;

fathom_status *CudaDriver::load() {
  if (Library)
    return nullptr;
  const char *Named = getenv("FATHOM_CUDA_LIBRARY");
  const char *Name = Named && *Named ? Named : "libcuda.so.1";
  void *Found = dlopen(Name, RTLD_NOW | RTLD_LOCAL);
  if (!Found) {
    const char *Why = dlerror();
    return makeStatus(FATHOM_ERROR_DEVICE,
                      "the model is for an NVIDIA GPU and its driver's library '%s' cannot be loaded (%s): install "
                      "NVIDIA's driver, or compile the model for this machine's CPU",
                      Name, Why ? Why : "no reason given");
  }
  const char *Missing = nullptr;
#define FATHOM_CUDA_LOAD(Member, Symbol, Parameters)                                                                   \
  Member = reinterpret_cast<int(*) Parameters>(dlsym(Found, #Symbol));                                                 \
  if (!Member)                                                                                                         \
    Missing = #Symbol;
  FATHOM_CUDA_FUNCTIONS(FATHOM_CUDA_LOAD)
#undef FATHOM_CUDA_LOAD
  fathom_status *Status = nullptr;
  if (Missing)
    Status =
        makeStatus(FATHOM_ERROR_DEVICE,
                   "the NVIDIA driver is too old: '%s' has no %s; install one for CUDA 11.8 or later", Name, Missing);
  else if (int Result = init(0))
    Status = Result == CudaNoDevice
                 ? makeStatus(FATHOM_ERROR_DEVICE, "the NVIDIA driver finds no GPU: look at nvidia-smi and at "
                                                   "CUDA_VISIBLE_DEVICES, or compile the model for this machine's CPU")
                 : failed("starting the NVIDIA driver", Result);
  if (Status)
    dlclose(Found);
  else
    Library = Found;
  return Status;
}

fathom_status *CudaDriver::failed(const char *What, int Result) const {
  const char *Name = nullptr, *Text = nullptr;
  if (errorName(Result, &Name) || !Name)
    Name = "unknown error";
  if (errorText(Result, &Text) || !Text)
    Text = "the driver has no words for it";
  return makeStatus(Result == CudaOutOfMemory ? FATHOM_ERROR_MEMORY : FATHOM_ERROR_DEVICE, "%s failed: %s (%s, %d)",
                    What, Text, Name, Result);
}
