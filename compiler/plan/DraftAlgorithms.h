// The algorithms that are estimated to be cheapest.
#pragma once

#include "compiler/plan/Chooser.h"

namespace fathom {

// Those that were asked for, wherever they are possible; else the cheapest, while transformed weights do not grow
// beyond their budget.
std::vector<AlgorithmChoice> draftAlgorithms(mlir::func::FuncOp main, const Target &target,
                                             const AlgorithmOptions &options);

} // namespace fathom
