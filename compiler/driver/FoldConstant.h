// Computes what depends on constants only, with kernels compiled for this machine.
#pragma once

#include "compiler/driver/FoldPlan.h"

namespace fathom {

// Takes what it costs from the budget; what it has no room for stays a computation of the run.
llvm::LogicalResult foldConstants(mlir::ModuleOp module, FoldBudget &budget);

} // namespace fathom
