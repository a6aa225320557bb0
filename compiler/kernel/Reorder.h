// Kernels without an anchor that change the order of elements: what they read has its neighbours in memory along
// another dimension than what they write.
#pragma once

#include "compiler/kernel/LoopSpace.h"

namespace fathom {

struct Reorder {
  Loop along;  // the dimension of the results' neighbours
  Loop across; // ... and of the sources'
  llvm::SmallVector<Loop> outer;
  // The values that have theirs along `across`: operands of the kernel, or what it computes in their order.
  llvm::SmallVector<mlir::Value> sources;
  unsigned bits; // of the widest element that is read or written
};

// What the kernel reorders; nothing where it has an anchor, or so few elements along one of the two dimensions that
// there is nothing to transpose.
std::optional<Reorder> reorderOf(mlir::func::FuncOp kernel);

// The least side of a square of elements that is transposed in registers.
int64_t leastSquare(unsigned bits);

} // namespace fathom
