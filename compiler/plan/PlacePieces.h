// Decides which tensors are written within the memory of another one.
#pragma once

#include "compiler/graph/Pieces.h"
#include "compiler/plan/Chooser.h"

namespace fathom {

// Makes concatenations and slices in-place ones where that saves copies: operands are written where the result has
// them, and those that cannot be are copied there; slices are read where their input has them. Layouts are assigned
// already.
llvm::LogicalResult placePieces(mlir::func::FuncOp main, const Target &target, Chooser &chooser);

} // namespace fathom
