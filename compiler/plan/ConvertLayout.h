// Assigns a layout to every tensor of a graph and inserts the relayouts that this needs.
#pragma once

#include "compiler/graph/Views.h"
#include "compiler/plan/Chooser.h"

namespace fathom {

// Convolutions run channels-last with their padding as a halo of their input, weights are packed for the register tile,
// transposes become views.
llvm::LogicalResult assignLayouts(mlir::func::FuncOp main, const Target &target, Chooser &chooser);

// The order of dimensions in memory that a result of this type takes over from the op's operands: that of the first of
// its rank that is not row-major.
llvm::SmallVector<int64_t> flowingOrder(mlir::Operation *op, mlir::RankedTensorType type);

// Whether the op's results are row-major whatever its operands are.
bool keepsRows(mlir::Operation *op);

} // namespace fathom
