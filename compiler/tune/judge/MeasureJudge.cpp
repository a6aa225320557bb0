// Costs in nanoseconds, by running candidates on the machine. All of a call run in turns with the planned schedule:
// what the machine does otherwise in the meantime falls out of the quotient.
#include "compiler/graph/Layout.h"
#include "compiler/graph/Shape.h"
#include "compiler/package/Artifact.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"
#include "compiler/tune/judge/Judges.h"
#include "compiler/tune/task/KernelObject.h"

using namespace mlir;

namespace fathom::tune {
namespace {

// Where a weight's elements lie, as MeasuredBuffer has it.
std::vector<int64_t> panelsOf(RankedTensorType type) {
  Layout layout = layoutOf(type);
  std::vector<int64_t> panels{*graph::constantSize(layout.offset), layout.blockedDim, layout.block,
                              layout.block ? *graph::constantSize(layout.blockStride) : 0, type.getRank()};
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), layout.strides))
    panels.insert(panels.end(), {size, *graph::constantSize(stride)});
  return panels;
}

// Sums in another order differ by roundings: far less than what is computed wrongly does.
double toleranceOf(const KernelTask &task) {
  bool isShort = llvm::any_of(task.buffers(task.planned()), [](const TaskBuffer &buffer) {
    return isa<FloatType>(buffer.element) && buffer.element.getIntOrFloatBitWidth() <= 16;
  });
  return isShort ? 0.05 : 1e-3;
}

std::optional<MeasuredKernel> prepare(const KernelTask &task, const Schedule &schedule) {
  llvm::Expected<KernelObject> object = objectOf(task, schedule);
  if (!object) {
    llvm::consumeError(object.takeError());
    return std::nullopt;
  }
  MeasuredKernel kernel;
  kernel.object = std::move(object->bytes), kernel.symbol = object->symbol;
  kernel.tasks = object->tasks, kernel.scratchBytes = object->scratchBytes;
  for (const TaskBuffer &buffer : object->buffers)
    kernel.buffers.push_back({buffer.bytes, fathom_abi_dtype(dtypeOf(buffer.element)),
                              buffer.isResult   ? BufferUse::Written
                              : buffer.isPacked ? BufferUse::Constant
                                                : BufferUse::Read,
                              buffer.isPacked ? panelsOf(buffer.type) : std::vector<int64_t>()});
  kernel.symbols.assign(object->sizes.begin(), object->sizes.end());
  return kernel;
}

class MeasureJudge final : public Judge {
public:
  MeasureJudge(const KernelTask &task, Measurer &measurer, const MeasureOptions &options, unsigned threads, Heard heard,
               double plannedNs)
      : task(task), measurer(measurer), options(options), threads(threads), heard(std::move(heard)),
        plannedNs(plannedNs) {
    // Code that computes something else is not faster, but wrong.
    this->options.tolerance = toleranceOf(task);
  }

  std::vector<double> costs(ArrayRef<Schedule> schedules) override {
    std::vector<double> costs;
    for (; !schedules.empty(); schedules = schedules.drop_front(std::min(measuredTogether, schedules.size())))
      llvm::append_range(costs, costsOfGroup(schedules.take_front(measuredTogether)));
    return costs;
  }

private:
  std::vector<double> costsOfGroup(ArrayRef<Schedule> schedules) {
    std::vector<double> costs(schedules.size(), noCost);
    if (isCancelled())
      return costs;
    // The planned schedule comes first, and once: its time is what others' are told by.
    std::vector<std::optional<MeasuredKernel>> prepared(schedules.size() + 1);
    onLargeStacks(threads, prepared.size(), [&](size_t i) {
      if (!isCancelled() && (!i || schedules[i - 1] != task.planned()))
        prepared[i] = prepare(task, i ? schedules[i - 1] : task.planned());
    });
    std::vector<MeasuredKernel> group;
    std::vector<size_t> places;
    for (auto [i, candidate] : llvm::enumerate(prepared))
      if (candidate)
        group.push_back(std::move(*candidate)), places.push_back(i);
    if (places.empty() || places.front() != 0)
      return costs;
    std::vector<Measurement> measured = measurer.measure(group, options);
    bool isComparable = measured.front().isOk();
    if (!plannedNs && isComparable)
      plannedNs = measured.front().medianNs;
    double drift = isComparable ? plannedNs / measured.front().medianNs : 1;
    for (auto [i, schedule] : llvm::enumerate(schedules))
      if (isComparable && schedule == task.planned())
        costs[i] = plannedNs;
    for (auto [place, measurement] : llvm::zip_equal(places, measured)) {
      if (place && isComparable && measurement.isOk())
        costs[place - 1] = measurement.medianNs * drift;
      const Schedule &schedule = place ? schedules[place - 1] : task.planned();
      if (heard)
        heard(schedule, measurement, drift);
    }
    return costs;
  }

  const KernelTask &task;
  Measurer &measurer;
  MeasureOptions options;
  unsigned threads;
  Heard heard;
  double plannedNs; // when it was measured first; 0: it was not yet
};

} // namespace

std::unique_ptr<Judge> measureJudge(const KernelTask &task, Measurer &measurer, const MeasureOptions &options,
                                    unsigned threads, Heard heard, double plannedNs) {
  return std::make_unique<MeasureJudge>(task, measurer, options, threads, std::move(heard), plannedNs);
}

} // namespace fathom::tune
