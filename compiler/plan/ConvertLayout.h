// How layouts flow from operands to results; the pass convert-layout assigns them.
#pragma once

#include "compiler/graph/Views.h"
#include "compiler/plan/Chooser.h"

namespace fathom {

// The order of dimensions in memory that a result of this type takes over from the op's operands: that of the first of
// its rank that is not row-major.
llvm::SmallVector<int64_t> flowingOrder(mlir::Operation *op, mlir::RankedTensorType type);

// Whether the op's results are row-major whatever its operands are.
bool keepsRows(mlir::Operation *op);

} // namespace fathom
