// What a plan says was chosen, beside what it lists.
#pragma once

#include "compiler/plan/Plan.h"
#include "mlir/IR/Location.h"

namespace fathom {

// Refuses choices of what cannot be chosen, and a plan whose kernels are other ones than its choices say.
llvm::LogicalResult checkChoices(const Plan &plan, mlir::Location loc);

} // namespace fathom
