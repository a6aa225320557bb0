// Scales of quantised numbers that a model gives.
#pragma once

#include "mlir/IR/Operation.h"

namespace fathom::importer {

// Refuses an op whose known scales say nothing: one that is no number, or by which numbers are divided that is zero.
// Negative ones are what they are.
llvm::LogicalResult checkScales(mlir::Operation *op);

} // namespace fathom::importer
