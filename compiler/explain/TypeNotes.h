// Why an op computes in the element type that it does.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>

namespace fathom {

std::string explainType(mlir::Operation *op);

} // namespace fathom
