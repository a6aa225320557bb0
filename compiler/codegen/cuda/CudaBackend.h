// NVIDIA's GPUs: kernels of work items as PTX, which the driver turns into code of the device at hand. It has maps only
// and makes no artifacts yet.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

const Backend &cudaBackend();

} // namespace fathom
