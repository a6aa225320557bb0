// The axes along which an op combines the elements of a row: a reduction's, a softmax's, a normalisation's, that of
// running sums.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

llvm::SmallVector<int64_t> rowAxes(mlir::Operation *op);

} // namespace fathom
