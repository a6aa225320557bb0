// Reshapes of tensors whose dimensions do not lie in their logical order.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

// The order in memory of a reshape's result that lies where its input does, which has this order and no gaps; nothing
// where no order describes it. Dimensions that are merged or split must follow each other in memory: of images with
// their channels innermost, [n, c, h * w] is one, and [n, c * h, w] none.
std::optional<llvm::SmallVector<int64_t>> reshapedOrder(mlir::RankedTensorType input, llvm::ArrayRef<int64_t> order,
                                                        mlir::RankedTensorType result);

} // namespace fathom
