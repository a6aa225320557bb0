// Names of ops: what the importer called them, by which plans refer to them.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

// The op's name in plans.
llvm::StringRef opName(mlir::Operation *op);
// Names `op` after `like` with a suffix; an empty suffix takes the name over.
void nameAfter(mlir::Operation *op, mlir::Operation *like, llvm::StringRef suffix);
// Gives every op a name, and no two the same.
void nameOps(mlir::func::FuncOp main);

} // namespace fathom
