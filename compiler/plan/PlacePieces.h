// Decides which tensors are written within the memory of another one.
#pragma once

#include "compiler/graph/Pieces.h"
#include "compiler/plan/Plan.h"
#include "compiler/target/Target.h"

namespace fathom {

// Makes concatenations and slices in-place ones where that saves copies: operands are written where the result has
// them, and those that cannot be are copied there; slices are read where their input has them. Layouts are assigned
// already. `plan` may be null; it decides otherwise.
llvm::LogicalResult placePieces(mlir::func::FuncOp main, const Target &target, const Plan *plan);

} // namespace fathom
