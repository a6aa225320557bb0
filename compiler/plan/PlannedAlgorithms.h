// The algorithms that a plan wants.
#pragma once

#include "compiler/plan/Chooser.h"

namespace fathom {

// Checks that each is possible.
mlir::FailureOr<std::vector<AlgorithmChoice>> plannedAlgorithms(mlir::func::FuncOp main, const PlanIndex &plan,
                                                                const AlgorithmOptions &options);

} // namespace fathom
