// Tuning: schedules for the kernels of a program that are better than those it was planned with, by a model of the code
// or by measuring; and what a database knows of them.
#pragma once

#include "compiler/plan/Program.h"
#include "compiler/support/Cancellation.h"
#include "compiler/tune/database/ScheduleDatabase.h"
#include "compiler/tune/judge/Judges.h"
#include "compiler/tune/transfer/Carry.h"

namespace fathom::tune {

// Off has fixed schedules. Draft takes what a database knows, and else what the compiler chooses by itself. Static goes
// by the model of the code, without a device. Transfer takes schedules that a database has of other models' kernels.
enum class Mode { Off, Draft, Static, Measure, Transfer };

// The models that schedules can be taken from, the best first, and which one was chosen; empty: all.
struct TransferSources {
  std::vector<SourceScore> scores;
  std::string chosen;
  bool isWholePool = false;
};

struct Request {
  Mode mode = Mode::Draft;
  size_t trials = 64;             // of each kernel: candidates that are analysed, or measured
  std::string search = "descent"; // what the second half of them is found by
  double seconds = 0;             // for all kernels; 0: as long as it takes
  uint64_t seed = 1;
  unsigned compilerThreads = 0; // 0: all CPUs
  int runThreads = 1;           // of a kernel that is measured
  FloatMode fp = FloatMode::Fast;
  MeasurerOptions machine;                   // to measure on
  size_t part = 0, parts = 1;                // of the kernels, where others tune the rest
  bool keepsEstimates = false;               // whether those go into the database, too
  bool again = false;                        // measure also what the database has times of
  bool apart = false;                        // take what is faster apart from the model
  std::function<void(llvm::StringRef)> told; // what searches look at by themselves (Trials::told)
  std::optional<Coefficients> coefficients;  // of scores, for Static; none: the architecture's
  // For Transfer: a model whose schedules are taken, "all", or empty for the one that goes best with this one.
  std::string source;
  std::string model; // the name of the one that is tuned; it is no source of its own
  std::function<void(const TransferSources &)> sourceChosen;
  // Called with the candidates that are judged and how many there are to be.
  std::function<void(size_t done, size_t total)> progress;
  // Where it is cancelled, tuning ends with what was found so far, and nothing else does; null: nobody asks for that.
  Cancellation *stop = nullptr;

  // Whether what is found is compared in the model, where that can be run.
  bool comparesModels() const { return (mode == Mode::Measure || mode == Mode::Transfer) && !apart; }
};

// How long a kernel takes in its model, as often as that runs it, with the planned and with the best schedule.
struct KernelInPlace {
  double plannedNs = 0, bestNs = 0;
  bool isTaken = true; // else the kernel stays as it was planned

  double gain() const { return plannedNs - bestNs; }
  double share() const { return bestNs / std::max(1.0, plannedNs); }
};

// What became of a kernel.
struct Tuned {
  std::string kernel, kernelClass;
  std::string key; // what it computes, as text
  size_t uses = 1;
  Schedule planned, best;
  double plannedCost = 0, bestCost = 0; // in nanoseconds where they were measured, else in cycles
  size_t trials = 0, failed = 0;
  size_t known = 0;                     // trials whose times are those of an earlier run
  std::string problem;                  // of the last one that failed
  std::vector<size_t> kernels;          // of the program
  std::vector<Carried> candidates;      // to be compared in the model; none: the best one
  std::string from;                     // the kernel whose schedule the best one is; empty: none
  std::optional<KernelInPlace> inPlace; // where it was compared in the model
  std::string entry;                    // of the database that the best schedule was taken from; empty: none

  bool isBetter() const { return !(planned == best); }
};

// A kernel as it was planned.
Tuned untuned(const TaskUse &use);

// Tunes kernel after kernel, the costliest first. What is measured goes into the database at once, where there is one,
// so that an end before time loses no more than the group of candidates at hand; the next run goes on behind it, as
// candidates come in the same order. Problems are diagnostics at `loc`.
mlir::FailureOr<std::vector<Tuned>> tune(const Program &program, const Request &request, const Target &target,
                                         ScheduleDatabase *database, mlir::Location loc);

// The best schedules that a database knows for a program's kernels, as far as they are legal there.
std::vector<Tuned> known(const Program &program, const Target &target, FloatMode fp, ScheduleDatabase &database,
                         mlir::Location loc);

// A program's plan with other schedules.
Plan planWith(const Program &program, llvm::ArrayRef<Tuned> tuned);

} // namespace fathom::tune
