// Schedules that a database has of other models' kernels, by the class of the kernel: the sequence of its ops.
#pragma once

#include "compiler/schedule/Relative.h"
#include "compiler/tune/database/ScheduleDatabase.h"
#include "compiler/tune/task/KernelTask.h"

namespace fathom::tune {

// "contract: Conv Relu": how a kernel is computed, and its ops in their order. Of a kernel's text, as tasks have it.
std::string opClassOf(llvm::StringRef kernelText);

struct PoolEntry {
  Entry entry;
  std::string model, kernel; // whose kernel it is, as far as the entry tells
  std::string opClass;
};

// The best entry of each kernel on each target.
class Pool {
public:
  // All entries of a generator and floating-point mode that are measured or estimated by code.
  static llvm::Expected<Pool> read(ScheduleDatabase &database, llvm::StringRef generator, FloatMode fp);

  llvm::ArrayRef<PoolEntry> entries() const { return all; }
  // In the order of their names.
  std::vector<std::string> models() const;

private:
  std::vector<PoolEntry> all;
};

// What tells models apart in what entries say of themselves: "kernel NAME of MODEL".
std::string provenanceOf(llvm::StringRef kernel, llvm::StringRef model);

// A model whose schedules may be taken, and how well it goes with another.
struct SourceScore {
  std::string model;
  double score = 0;
};

// The share of a model's time that kernels of a class take, by their class.
using ClassShares = llvm::StringMap<double>;

// The sum over classes of the share's square times the square root of how many kernels of that class a source has
// (equation 6.1 of the thesis on transfer-tuning), for all models of a pool but `self`; the best first.
std::vector<SourceScore> scoreSources(const Pool &pool, const ClassShares &shares, llvm::StringRef self);

} // namespace fathom::tune
