// The algorithms that a plan wants.
#pragma once

#include "compiler/kernel/KernelClass.h"
#include "compiler/plan/Chooser.h"

namespace fathom {

// The one that a kernel's class has; none of a class that there is not.
Algorithm algorithmOf(const PlannedKernel &kernel);

// Checks that each is possible.
mlir::FailureOr<std::vector<AlgorithmChoice>> plannedAlgorithms(mlir::func::FuncOp main, const PlanIndex &plan,
                                                                const AlgorithmOptions &options);

} // namespace fathom
