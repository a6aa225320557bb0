// Which functions have cheaper forms.
#pragma once

#include "mlir/IR/Operation.h"

namespace fathom {

// Whether the pass fast-math would mark this op.
bool isApproximable(mlir::Operation *op);

} // namespace fathom
