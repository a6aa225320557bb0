// Puts convolutions and products, and their weights, into the form that their algorithms need.
#pragma once

#include "compiler/plan/Chooser.h"

namespace fathom {

// The transformed weights are ops over constants: they are to be folded afterwards.
llvm::LogicalResult alterOpLayout(mlir::func::FuncOp main, const AlgorithmOptions &options, Chooser &chooser);

} // namespace fathom
