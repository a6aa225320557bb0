// Who says what a model costs with other choices than were proposed.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/plan/Sites.h"

namespace fathom {

// A graph before algorithms, with what it takes to plan it.
struct OpenModel {
  const CompileOptions &options;
  Pipeline &pipeline;
  mlir::OwningOpRef<mlir::ModuleOp> graph;
  PassContext context; // as it was then
  int64_t sourceWeightBytes;

  static size_t begin(const Pipeline &pipeline) { return pipeline.placeOf("alter-op-layout"); }
};

// Makes an artifact of a planned program.
using BuildProgram = llvm::function_ref<llvm::LogicalResult(Program &program, llvm::StringRef path)>;

// By the model of the code: cycles of each kernel with the schedule that it is planned with.
std::unique_ptr<tune::ChoiceJudge> staticChoices(const OpenModel &open, llvm::ArrayRef<Site> sites);
// By running whole models in turns, on this machine.
std::unique_ptr<tune::ChoiceJudge> runningChoices(const OpenModel &open, llvm::ArrayRef<Site> sites,
                                                  BuildProgram build);

} // namespace fathom
