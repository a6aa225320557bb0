// The model's own host code: it sizes the arena and calls the kernels in order.
#pragma once

#include "compiler/package/MemoryPlan.h"

namespace fathom {

// Emits `fathom_plan` and `fathom_run` (see runtime/abi.h) into a module of loop-level code. Whether a device can
// record a run and repeat it.
bool emitHost(const Program &program, const MemoryPlan &memory, mlir::ModuleOp host);

} // namespace fathom
