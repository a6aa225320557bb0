// Measures kernels in a process of its own, on this or another machine: what a candidate does to that process costs
// that candidate alone.
#pragma once

#include "compiler/support/Diagnostics.h"
#include "compiler/tune/measure/Connect.h"
#include "runtime/abi.h"
#include <vector>

namespace fathom::tune {

// What a kernel does with a buffer. A constant one holds weights.
enum class BufferUse { Read, Written, Both, Constant };

struct MeasuredBuffer {
  int64_t bytes;
  fathom_abi_dtype type;
  BufferUse use;
  // Where the elements of a weight in panels lie, so that kernels with panels of their own compute the same: an offset;
  // the dimension that is in blocks, or -1, how long these are and how far apart; the rank; each dimension's size and
  // stride. Empty: in the order of the memory.
  std::vector<int64_t> panels = {};
};

// A function of type fathom_task_fn in a shared object, and what its argument block points to.
struct MeasuredKernel {
  std::string object; // the bytes of the shared object
  std::string symbol;
  int64_t tasks = 1, scratchBytes = 0;
  std::vector<MeasuredBuffer> buffers;
  std::vector<int64_t> symbols; // their values, which follow the pointers
};

struct MeasureOptions {
  int threads = 1; // 0: one for each CPU of the machine
  // Whether weights are out of the caches before each run, as they are in a network that is larger than these. What the
  // kernel before it wrote is in them.
  bool cold = false;
  int64_t mostRuns = 1000;
  double seconds = 2;      // for all runs of the group that are timed
  double hangSeconds = 10; // a run that takes longer hangs
  double settled = 0.01;   // how precise medians are to be: half the width of an interval that has them, as a share
  // How far floats may differ from those of the first candidate that runs, in parts of their own size and of the
  // result's root mean square; everything else may not differ. Without it, results are not compared.
  std::optional<double> tolerance;
};

struct Measurement {
  // Lost: the machine went away, or the work was cancelled.
  enum class Status { Ok, Crashed, Hung, Wrong, Refused, Lost };

  Status status = Status::Lost;
  double medianNs = 0, minimumNs = 0, lowerQuartileNs = 0, upperQuartileNs = 0;
  int64_t runs = 0, outliers = 0;
  std::string note; // why there are no times

  bool isOk() const { return status == Status::Ok; }
  // Between the quartiles, as a share of the median.
  double spread() const { return medianNs > 0 ? (upperQuartileNs - lowerQuartileNs) / medianNs : 0; }
};

llvm::StringRef spell(Measurement::Status status);

class Measurer {
public:
  // Starts the program. A machine that cannot be reached is an error.
  static llvm::FailureOr<std::unique_ptr<Measurer>> start(mlir::Location loc, const MeasurerOptions &options);

  // Measures candidates that compute the same, in turns. Gives as many results; a candidate that ends or stops the
  // machine's program is named, and the others are measured without it.
  std::vector<Measurement> measure(llvm::ArrayRef<MeasuredKernel> group, const MeasureOptions &options);

  // Why the machine is given up, with its name; empty while it works. Then everything is lost.
  llvm::StringRef problem() const { return lost; }
  // How often the program was started.
  int starts() const { return startCount; }

private:
  explicit Measurer(const MeasurerOptions &options) : options(options) {}
  struct Round;
  bool isReady();
  void readResults(Round &round);

  MeasurerOptions options;
  std::optional<ChildProcess> child;
  std::string lost;
  int startCount = 0;
};

} // namespace fathom::tune
