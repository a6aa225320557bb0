// Types follow from operands: shape functions are run again where sizes have become known.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fathom::graph {

// Re-runs the shape functions of a function's ops in order, and takes its result types from what it returns. Of two
// sizes that are the same when the model runs, a shape function takes the one of which more is known: once a symbol has
// become a number, or an op was expressed by others, it may take another one, and all that follows with it.
llvm::LogicalResult inferAgain(mlir::func::FuncOp function);

void registerInferShapesPass();

} // namespace fathom::graph
