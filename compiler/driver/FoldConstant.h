// Computes what depends on constants only, with kernels compiled for this machine.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

llvm::LogicalResult foldConstants(mlir::ModuleOp module);

} // namespace fathom
