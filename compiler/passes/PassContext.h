// What a pass knows of the compilation beyond its graph: the same for all passes, whether it needs all of it or
// nothing.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/passes/AlgorithmOptions.h"
#include "compiler/passes/FoldPlan.h"
#include "compiler/target/Target.h"
#include "llvm/ADT/StringSet.h"
#include <functional>

namespace fathom {

class Chooser;  // who decides: compiler/plan
struct Program; // what the passes end in: compiler/plan

// Computes a part of the graph while the model is compiled.
class Evaluator {
public:
  virtual ~Evaluator() = default;
  // Runs the module's main function, of static sizes, once: the constants are its inputs, the bytes of its results go
  // to `results`. Problems are reported.
  virtual llvm::LogicalResult evaluate(mlir::ModuleOp part, llvm::ArrayRef<graph::ConstantOp> inputs,
                                       std::vector<std::vector<char>> &results) = 0;
};

struct PassContext {
  Target target;
  FloatMode fp = FloatMode::Fast;
  AlgorithmOptions algorithms;
  double foldFactor = 1;                // of the budget
  std::optional<FoldBudget> foldBudget; // what is left; none yet: that of the graph as the first who folds has it
  Evaluator *evaluator = nullptr;       // none: constants stay as they are
  Chooser *chooser = nullptr;
  Program *program = nullptr; // where kernels go

  // Passes that cannot change the graph: they are left out.
  llvm::StringSet<> idle;

  // A pass has found out what those in front of it did not know: `repeat` goes round once more.
  bool isUnsettled = false;
  // Told of every pass that has run.
  std::function<void(llvm::StringRef pass, double seconds)> onPass;
};

} // namespace fathom
