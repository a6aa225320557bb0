// Scalar loops of work items (codegen/simt) as OpenCL C 1.2.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

// Prints the module's functions; a kernel `a.b` is called fathom_a_2eb. What cannot be printed is an error that names
// it.
llvm::LogicalResult printOpenCl(mlir::ModuleOp loops, llvm::raw_ostream &out);

} // namespace fathom
