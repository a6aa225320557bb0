// Which ops over constants are computed ahead: as many as a budget for the whole model allows.
#pragma once

#include "compiler/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include <vector>

namespace fathom {

// The constants of a block, and views of them: each op is asked once, however many views follow each other.
llvm::DenseSet<mlir::Value> constantsIn(mlir::Block &block);

// What folding may still cost. It grows with the model, so that weights can always be brought into another form, and
// has a base, so that small models can have tables; a small model cannot become a large artifact.
struct FoldBudget {
  // For a model as it was imported; `factor` scales both.
  static FoldBudget forModel(mlir::ModuleOp module, double factor = 1);

  int64_t bytes = 0;   // by which the model's constants may grow
  int64_t work = 0;    // elements that may be computed, each counted as often as an op looks at it
  int64_t largest = 0; // bytes of one intermediate result
};

// The ops of main's body that are to be computed ahead, in their order, and taken from the budget. What a pass asked
// for with `graph.ahead` costs nothing here: it had a budget of its own.
std::vector<mlir::Operation *> planFolding(mlir::func::FuncOp main, FoldBudget &budget);

} // namespace fathom
