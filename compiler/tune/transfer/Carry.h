// Schedules of other kernels as candidates of one: said relatively where they were found, and resolved where they go.
#pragma once

#include "compiler/tune/transfer/Pool.h"

namespace fathom::tune {

struct Carried {
  Schedule schedule;
  std::string from; // the model and the kernel that it is of
};

// Says relatively what the entries of a pool are, each once.
class Carrier {
public:
  explicit Carrier(mlir::MLIRContext *context) : context(context) {}

  // Legal schedules of the task, without its planned one and each once: those of kernels of its class, or else of
  // kernels that differ in what is fused with the anchor. `model` is the one whose kernels are taken; empty: all.
  std::vector<Carried> candidates(const KernelTask &task, const Pool &pool, llvm::StringRef model);

private:
  const RelativeSchedule *relative(const PoolEntry &entry);
  const Target *targetOf(llvm::StringRef spelling);

  mlir::MLIRContext *context;
  llvm::StringMap<std::optional<Target>> targets;
  llvm::StringMap<std::optional<RelativeSchedule>> known; // by the entry's id
};

} // namespace fathom::tune
