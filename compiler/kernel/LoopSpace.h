// The loops over a tensor's elements in memory order, with neighbouring dimensions merged where every buffer allows it.
#pragma once

#include "compiler/graph/Layout.h"

namespace fathom {

struct Loop {
  int64_t dim;           // the logical dimension that carries the loop's index; merged ones stay at zero
  mlir::AffineExpr size; // the product of the merged sizes
};

// Whether dimensions `outer` and `inner` of a tensor of these sizes act as one in a buffer that broadcasts to it.
bool canMerge(llvm::ArrayRef<mlir::AffineExpr> sizes, const Layout &buffer, int64_t outer, int64_t inner);

// Loops over the dimensions of `type` except `without`, outermost first. Dimensions of size one have no loop. `merge`
// holds the layout of every buffer that is accessed at the loops' indices; empty: nothing is merged.
llvm::SmallVector<Loop> loopsOver(mlir::RankedTensorType type, llvm::ArrayRef<const Layout *> merge,
                                  llvm::ArrayRef<int64_t> without = {});

mlir::AffineExpr iterations(llvm::ArrayRef<Loop> loops, mlir::MLIRContext *context);

} // namespace fathom
