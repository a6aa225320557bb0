// Devices with OpenCL: kernels as OpenCL C, which the device's driver builds when an artifact is first run on it.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

const Backend &openClBackend();

} // namespace fathom
