// Artifacts run on this machine, in turns, so that what slows it down for a while slows all of them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace fathom {

// An artifact in this process, with inputs: floats are made up, everything else is 0, as it may be an index.
class ModelRun {
public:
  // 0 threads: all CPUs.
  static llvm::Expected<ModelRun> load(llvm::StringRef path, int threads);
  ModelRun(ModelRun &&);
  ~ModelRun();

  llvm::Expected<double> nanoseconds();
  // Of all kernels of its program in one run; of one that runs several times, the sum.
  llvm::Expected<std::vector<double>> kernelNanoseconds();

private:
  ModelRun();
  struct State;
  std::unique_ptr<State> state;
};

// The lower quartiles of so many seconds of runs in turns, a few at least; with one thread, of its CPU time.
llvm::Expected<std::vector<double>> typicalTimes(llvm::ArrayRef<std::unique_ptr<ModelRun>> models, double seconds);
llvm::Expected<std::vector<std::vector<double>>> typicalKernelTimes(llvm::ArrayRef<std::unique_ptr<ModelRun>> models,
                                                                    double seconds);

} // namespace fathom
