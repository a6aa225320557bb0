// Costs by the model of the code: every candidate is generated and analysed, and nothing is run.
#include "compiler/analysis/Score.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"
#include "compiler/tune/judge/Judges.h"

using namespace mlir;

namespace fathom::tune {
namespace {

class PreciseJudge final : public Judge {
public:
  PreciseJudge(const KernelTask &task, BlockTimer &timer, const Coefficients &coefficients, int64_t runThreads,
               unsigned threads)
      : task(task), timer(timer), coefficients(coefficients), runThreads(runThreads), threads(threads) {}

  std::vector<double> costs(ArrayRef<Schedule> schedules) override {
    std::vector<double> costs(schedules.size(), noCost);
    onLargeStacks(threads, schedules.size(), [&](size_t i) {
      if (isCancelled())
        return;
      OwningOpRef<ModuleOp> packed = task.functionFor(schedules[i]);
      auto kernel = cast<func::FuncOp>(packed->getBody()->front());
      FailureOr<PreciseEstimate> estimate =
          analyze(backendOf(task.target()), kernel, task.kernelClass(), schedules[i], task.target(), timer);
      if (succeeded(estimate))
        costs[i] = score(featuresOf(*estimate, task.target(), runThreads), coefficients);
    });
    return costs;
  }

private:
  const KernelTask &task;
  BlockTimer &timer;
  Coefficients coefficients;
  int64_t runThreads;
  unsigned threads;
};

} // namespace

std::unique_ptr<Judge> preciseJudge(const KernelTask &task, BlockTimer &timer, const Coefficients &coefficients,
                                    int64_t runThreads, unsigned threads) {
  return std::make_unique<PreciseJudge>(task, timer, coefficients, runThreads, threads);
}

} // namespace fathom::tune
