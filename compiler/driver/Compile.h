// The stages from a graph to an artifact: one function that reads top to bottom.
#pragma once

#include "compiler/driver/InPlace.h"
#include "compiler/driver/StageTexts.h"
#include "compiler/import/Import.h"
#include "compiler/package/Artifact.h"
#include "compiler/passes/AlgorithmOptions.h"
#include "compiler/plan/Plan.h"
#include "compiler/support/FloatMode.h"
#include "compiler/target/Target.h"
#include "compiler/tune/Choices.h"
#include "compiler/tune/Tune.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace fathom {

// Where the pipeline may stop and print what it has.
enum class Stage { Graph, Plan, Kernels, Cost, Loops, Llvm, Asm, Artifact };

struct CompileOptions {
  Target target;
  std::vector<Target> variants; // all CPUs of an artifact for several, the one that is tried first being `target`
  FloatMode fp = FloatMode::Fast;
  std::string precision = "fp32"; // what products of 32-bit floats may take their factors as
  AlgorithmOptions algorithms;
  std::string loss;             // what is to be differentiated; empty: nothing
  std::vector<std::string> wrt; // what gradients are taken of; empty: all weights
  std::string train;            // the optimizer of a training step
  bool curvature = false;       // whether second derivatives are asked for
  int64_t memoryBudget = 0;     // bytes of what is kept for gradients; 0: all that there is
  std::string passes;           // a pipeline as text; empty: the default
  std::optional<Plan> plan;
  StageTexts given;
  std::optional<uint64_t> weightsSeed;
  unsigned threads = 0; // of the compiler; 0: all
  std::string database; // of schedules, as --db names it; empty: the user's default
  tune::Request tuning;
  std::vector<SiteKind> choices; // what of a model is chosen before its kernels' schedules, where it is tuned
  bool fold = true;              // off where constants are being folded already
  double foldBudget = 1;
  Stage stop = Stage::Artifact;
  std::string kernel; // whose cost is printed; empty: of all
  // Where a stage that is not the last prints to.
  llvm::raw_ostream *text = nullptr;
  // Called as stages begin, for progress.
  std::function<void(llvm::StringRef stage, size_t done, size_t total)> progress;
};

// What an artifact has for one of several CPUs.
struct VariantReport {
  std::string cpu;
  size_t kernels = 0;
  int64_t weightBytes = 0;           // that its code reads
  std::optional<int64_t> arenaBytes; // nothing where symbols decide
};

struct CompileReport {
  std::vector<std::pair<std::string, double>> stages, passes; // name, seconds
  size_t kernels = 0, codes = 0;
  int64_t weightBytes = 0, sourceWeightBytes = 0, arenaBytes = 0;
  std::vector<VariantReport> variants;          // of an artifact for several CPUs
  std::vector<tune::Tuned> tuned;               // kernels that tuning or a database was asked for
  std::optional<tune::TransferSources> sources; // of schedules that were carried over
  std::optional<InPlace> inPlace;               // where whole models were compared
  std::optional<tune::ChosenModel> chosen;      // before its kernels' schedules
};

// A context with every dialect that compilation needs.
std::unique_ptr<mlir::MLIRContext> createContext();

// Compiles an imported module to an artifact at `path`. Problems are diagnostics of the module's context.
llvm::LogicalResult compileModule(mlir::ModuleOp module, const CompileOptions &options, llvm::StringRef path,
                                  CompileReport &report);

} // namespace fathom
