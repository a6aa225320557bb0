// The algorithms that are estimated to be cheapest.
#pragma once

#include "compiler/plan/Sites.h"

namespace fathom {

// Algorithms that are not the draft's to choose, by the names of ops.
using FixedAlgorithms = llvm::StringMap<std::string>;

// An algorithm with transformed weights.
struct AlgorithmRewrite {
  AlgorithmChoice::Method method = AlgorithmChoice::Named;
  int64_t number = 0; // pixels of a tile's side; stored factors
};

// A step that makes an op faster and its weights larger.
struct AlgorithmStep {
  AlgorithmRewrite rewrite;
  double gain;
  int64_t bytes;

  double gainOfByte() const { return gain / double(std::max<int64_t>(1, bytes)); }
};
using AlgorithmSteps = llvm::SmallVector<AlgorithmStep, 4>;

// What the draft finds of one op.
struct AlgorithmCosts {
  bool isSpatialPackCheaper = false, takesSpatialPack = false;
  AlgorithmSteps rewrites; // all that are possible, from none
  AlgorithmSteps steps;    // those worth their bytes
};
// By the names of ops, so that a graph that is planned again is not weighed again.
using KnownAlgorithmCosts = llvm::StringMap<AlgorithmCosts>;

// Those that were asked for, wherever they are possible; else the cheapest, while transformed weights do not grow
// beyond their budget. Fixed ones are taken where they are possible and use up the budget first. `sites` gets all ops
// that have a choice, and `known` keeps what was found from one planning of a graph to the next.
std::vector<AlgorithmChoice> draftAlgorithms(mlir::func::FuncOp main, const Target &target,
                                             const AlgorithmOptions &options, const FixedAlgorithms &fixed = {},
                                             std::vector<Site> *sites = nullptr, KnownAlgorithmCosts *known = nullptr);

} // namespace fathom
