// Why a kernel does not use every thread and every lane.
#pragma once

#include "compiler/plan/Program.h"

namespace fathom {

// A sentence's end behind "sequential because"; empty where the kernel has tasks and vectors.
std::string whySequential(const Kernel &kernel, const KernelCode &code, mlir::Operation *anchor);

} // namespace fathom
