// A back end that prints kernels as OpenCL C. It has maps only and makes no artifacts: it shows that what computes
// elements is free of CPUs.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

const Backend &openClBackend();

} // namespace fathom
