// What a kernel with a schedule costs by its own code: instructions, cycles in the pipeline, and data through the
// caches. Nothing is run. The drafts of compiler/cost are a thousand times faster and know less.
#pragma once

#include "compiler/analysis/BlockTiming.h"
#include "compiler/analysis/CodeParts.h"
#include "compiler/analysis/DataMovement.h"
#include "compiler/kernel/Backend.h"

namespace fathom {

// A part's code outside of the parts in it, of all iterations together.
struct PartEstimate {
  CodePart::Kind kind;
  double iterations = 0;
  InstructionCounts instructions;
  double cycles = 0, starts = 0; // of executions that follow each other; more of each first one
  // Of the cycles: those in which units and the front end have nothing else to do, and the rest, in which results are
  // waited for; of that, what a core can hide that looks ahead to the loop's next execution.
  double busy = 0, waits = 0, hidden = 0;
  std::string bottleneck; // of the longest block
};

struct PreciseEstimate {
  LoopTree tree;
  std::vector<PartEstimate> parts;  // by the tree's nodes
  std::vector<DataMovement> levels; // by the machine's caches: what each is filled with from the one behind it
  InstructionCounts instructions;
  double cycles = 0, starts = 0, busy = 0, waits = 0, hidden = 0;
  double packedBytes = 0;       // that are written to the scratch
  int64_t tasks = 1, calls = 1; // a call is a run of tasks that share work
  // Conditions that depend on data were guessed otherwise.
  bool isExact = true;
  // Of the machine code; all of its loops are known, and none is there twice.
  unsigned loops = 0, unknownLoops = 0, copiedLoops = 0;
};

// Where the time of an analysis goes, in seconds.
struct AnalysisTimes {
  double loops = 0, movement = 0, llvm = 0, code = 0, pipeline = 0;
};

// Estimates a kernel (a function of graph ops) for one thread; errors are reported. Fails where the back end's code is
// not LLVM's. Sizes that are not known are those that schedules are made for.
mlir::FailureOr<PreciseEstimate> analyze(const Backend &backend, mlir::func::FuncOp kernel, const KernelClass &klass,
                                         const Schedule &schedule, const Target &target, BlockTimer &timer,
                                         AnalysisTimes *times = nullptr);
mlir::FailureOr<PreciseEstimate> analyze(const Backend &backend, mlir::func::FuncOp kernel, const KernelClass &klass,
                                         const Schedule &schedule, const Target &target);

// The tree of loops with everything that is known of each.
void print(const PreciseEstimate &estimate, const Target &target, llvm::raw_ostream &out);

} // namespace fathom
