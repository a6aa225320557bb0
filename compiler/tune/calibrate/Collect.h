// Measures schedules of a kernel, drawn from its whole space, beside what models say of them.
#pragma once

#include "compiler/tune/calibrate/Sample.h"
#include "compiler/tune/judge/Judges.h"

namespace fathom::tune {

struct CollectOptions {
  size_t count = 64; // of each kernel
  int runThreads = 1;
  unsigned compilerThreads = 0; // 0: all CPUs
  uint64_t seed = 1;
};

// The schedules to measure: the planned one, and others by chance, each legal one of the space equally likely; fewer
// where the space has fewer. The same for the same kernel and seed.
std::vector<Schedule> drawn(const KernelTask &task, size_t count, uint64_t seed);

// By what samples of a kernel are known.
std::string kernelId(const KernelTask &task);

// Measures those that `file` lacks. `keep` gets samples as they are there, a few at a time, and ends the work by false.
// What does not run is passed over; gives how many did not.
size_t collect(const KernelTask &task, const SampleFile &file, const CollectOptions &options, Measurer &measurer,
               BlockTimer &timer, llvm::function_ref<bool(llvm::ArrayRef<Sample>)> keep);

// Asks the models again about a kernel's samples, as after a change of these.
void analyseAgain(const KernelTask &task, llvm::MutableArrayRef<Sample> samples, const CollectOptions &options,
                  BlockTimer &timer);

} // namespace fathom::tune
