// NVIDIA's GPUs: kernels of work items as PTX, which the driver turns into code of the device at hand.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

const Backend &cudaBackend();

} // namespace fathom
