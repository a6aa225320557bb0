// Chooses the algorithm of each convolution and product and puts its weights into the form that the algorithm needs.
#pragma once

#include "compiler/plan/Plan.h"
#include "compiler/support/FloatMode.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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

  // Transformed weights round differently, and Strassen's method adds rows to each other.
  bool transformsWeights() const { return folds && fp != FloatMode::Strict; }
  bool allowsStrassen() const { return folds && fp == FloatMode::Fastest; }
};

// The transformed weights are ops over constants: they are to be folded afterwards. A plan says by the class of a
// kernel what it is.
llvm::LogicalResult alterOpLayout(mlir::func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                                  const Plan *plan);

} // namespace fathom
