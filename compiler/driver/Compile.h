// The pipeline from a model to an artifact: one function that reads top to bottom, one line a stage.
#pragma once

#include "compiler/import/Import.h"
#include "compiler/package/Artifact.h"
#include "compiler/plan/AlterOpLayout.h"
#include "compiler/plan/Plan.h"
#include "compiler/support/FloatMode.h"
#include "compiler/target/Target.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace fathom {

// Where the pipeline may stop and print what it has.
enum class Stage { Graph, Plan, Kernels, Loops, Llvm, Asm, Artifact };

struct CompileOptions {
  Target target;
  FloatMode fp = FloatMode::Fast;
  AlgorithmOptions algorithms;
  std::optional<Plan> plan;
  std::optional<uint64_t> weightsSeed;
  unsigned threads = 0; // of the compiler; 0: all
  bool fold = true;     // off where constants are being folded already
  double foldBudget = 1;
  Stage stop = Stage::Artifact;
  // Where a stage that is not the last prints to.
  llvm::raw_ostream *text = nullptr;
  // Called as stages begin, for progress.
  std::function<void(llvm::StringRef stage, size_t done, size_t total)> progress;
};

struct CompileReport {
  std::vector<std::pair<std::string, double>> stages; // name, seconds
  size_t kernels = 0, codes = 0;
  int64_t weightBytes = 0, sourceWeightBytes = 0, arenaBytes = 0;
};

// A context with every dialect that compilation needs.
std::unique_ptr<mlir::MLIRContext> createContext();

// Compiles an imported module to an artifact at `path`. Problems are diagnostics of the module's context.
llvm::LogicalResult compileModule(mlir::ModuleOp module, const CompileOptions &options, llvm::StringRef path,
                                  CompileReport &report);

// Graph to graph: what does not depend on the target.
llvm::LogicalResult simplifyGraph(mlir::ModuleOp module, CompileReport &report);

} // namespace fathom
