// The algorithms that are estimated to be cheapest.
#pragma once

#include "compiler/plan/Sites.h"

namespace fathom {

// Algorithms that are not the draft's to choose, by the names of ops.
using FixedAlgorithms = llvm::StringMap<std::string>;

// Those that were asked for, wherever they are possible; else the cheapest, while transformed weights do not grow
// beyond their budget. Fixed ones are taken where they are possible and use up the budget first. `sites` gets all ops
// that have a choice.
std::vector<AlgorithmChoice> draftAlgorithms(mlir::func::FuncOp main, const Target &target,
                                             const AlgorithmOptions &options, const FixedAlgorithms &fixed = {},
                                             std::vector<Site> *sites = nullptr);

} // namespace fathom
