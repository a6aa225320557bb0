// Attributes by which stages tell each other of an op what its own attributes do not say, each declared here once.
#pragma once

#include "mlir/IR/Operation.h"

namespace fathom::graph {

// Whether an attribute of the dialect's name space is one of these, of the right type. The list of symbols is verified
// with the dialect.
llvm::LogicalResult verifyNote(mlir::Operation *op, mlir::NamedAttribute attribute);

} // namespace fathom::graph
