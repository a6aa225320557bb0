// The groups of a plan.
#pragma once

#include "compiler/plan/FuseOps.h"
#include "compiler/plan/Plan.h"

namespace fathom {

class Backend;

// Groups as the plan lists them; every rule of the fusion is checked.
mlir::FailureOr<std::vector<FusionGroup>> plannedGroups(mlir::func::FuncOp main, const Backend &backend,
                                                        const Plan &plan);

} // namespace fathom
