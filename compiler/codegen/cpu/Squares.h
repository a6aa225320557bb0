// Squares of elements in registers.
#pragma once

#include "compiler/codegen/common/Code.h"

namespace fathom {

// As many vectors as each of them has lanes, a power of two, transposed: the first of the result has the first lanes of
// all.
llvm::SmallVector<mlir::Value> transposeSquare(Code &c, llvm::ArrayRef<mlir::Value> rows);

} // namespace fathom
