// What the user asked for of algorithms, and what the rounding of results allows.
#pragma once

#include "compiler/support/FloatMode.h"
#include <cstdint>
#include <string>

namespace fathom {

struct AlgorithmOptions {
  // "auto" takes the cheapest, "contract" the cheaper of "direct" and "gemm"; the others are taken wherever they are
  // possible.
  std::string convolution = "auto";
  // "auto" takes the cheaper one, within the growth of weights and where samples stay apart; "contract" and "strassen"
  // are taken wherever they are possible.
  std::string product = "auto";
  // By how much transformed weights may add to those of the model.
  double maxWeightGrowth = 0.5;
  FloatMode fp = FloatMode::Fast;
  bool folds = true; // constants are folded afterwards, which transformed weights need
  // What the model's weights count as at least, in bytes: a few layers take less than their code.
  int64_t leastWeights = 256 << 10;
  unsigned threads = 0; // that may weigh algorithms; 0: all CPUs

  // Transformed weights round differently, and Strassen's method adds rows to each other.
  bool transformsWeights() const { return folds && fp != FloatMode::Strict; }
  bool allowsStrassen() const { return folds && fp == FloatMode::Fastest; }
};

} // namespace fathom
