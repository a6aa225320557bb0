// Decides which tensors lie with their channels innermost.
#pragma once

#include "compiler/kernel/Backend.h"
#include "llvm/ADT/DenseMap.h"

namespace fathom {

// Convolutions read and write channels innermost, as a back end has it; matrix products and what crosses the border of
// the model want rows. Ops between them take either, and an elementwise one can read one and write the other. For every
// value that is free, whether it has its channels innermost, such that the elements that have to change their order on
// the way, each weighed by what that takes, are as few as possible in the whole model: a minimum cut.
llvm::DenseMap<mlir::Value, bool> choosePixelRegions(mlir::func::FuncOp main, const Backend &backend,
                                                     const Target &target);

} // namespace fathom
