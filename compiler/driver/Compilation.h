// What the passes of one compilation get, and what they fill.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/driver/KernelEvaluator.h"
#include "compiler/passes/Pipeline.h"
#include "compiler/plan/Program.h"

namespace fathom {

struct Compilation {
  explicit Compilation(const CompileOptions &options) : options(options) {}

  // The options must outlive it. A plan that is not for the target is refused.
  static mlir::FailureOr<std::unique_ptr<Compilation>> begin(const CompileOptions &options, mlir::Location loc);

  // Tells the passes what is to be known of the graph that they start from.
  void describe(mlir::ModuleOp module, const Pipeline &pipeline);

  // Lets this one decide from now on.
  template <typename Decider> Decider *take(std::unique_ptr<Decider> decider) {
    Decider *taken = decider.get();
    chooser = std::move(decider);
    context.chooser = taken;
    return taken;
  }
  // Makes of a planned module the graph that it was, which is used up, to be planned again.
  void forget(mlir::ModuleOp module, mlir::ModuleOp graph);

  // Runs passes that a text says.
  llvm::LogicalResult run(mlir::ModuleOp module, llvm::StringRef passes);

  const CompileOptions &options;
  PassContext context;
  Program program;
  KernelEvaluator evaluator;
  std::unique_ptr<Chooser> chooser;
  std::optional<Plan> tunedPlan;
};

// The pipeline that the options say, which goes as far as their stage needs.
mlir::FailureOr<Pipeline> pipelineFor(const CompileOptions &options, mlir::Location loc);

} // namespace fathom
