// Groups of schedules: measured in turns, then analysed side by side.
#include "compiler/tune/calibrate/Collect.h"

#include "compiler/analysis/Score.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"
#include "compiler/tune/database/Entry.h"

using namespace mlir;

namespace fathom::tune {

std::string kernelId(const KernelTask &task) { return hashOf(task.key()).substr(0, 12); }

std::vector<Schedule> drawn(const KernelTask &task, size_t count, uint64_t seed) {
  SearchSpace space(task);
  Random random(seed);
  std::vector<Schedule> schedules{task.planned()};
  // Small spaces give the same again and again.
  for (size_t tries = 0; schedules.size() < count && tries < 20 * count; ++tries) {
    std::optional<SearchSpace::Point> point = space.any(random);
    if (!point)
      break;
    Schedule schedule = space.scheduleAt(*point);
    if (!llvm::is_contained(schedules, schedule))
      schedules.push_back(std::move(schedule));
  }
  return schedules;
}

// What models say; false where there is no code.
static bool analyseInto(Sample &sample, const KernelTask &task, const CollectOptions &options, BlockTimer &timer) {
  const Target &target = task.target();
  OwningOpRef<ModuleOp> packed = task.functionFor(sample.schedule);
  auto kernel = cast<func::FuncOp>(packed->getBody()->front());
  FailureOr<PreciseEstimate> estimate =
      analyze(backendOf(target), kernel, task.kernelClass(), sample.schedule, target, timer);
  if (failed(estimate))
    return false;
  sample.features = featuresOf(*estimate, target, options.runThreads);
  sample.draft = task.space().estimate(sample.schedule).total(options.runThreads);
  SmallVector<double> caches;
  for (const CacheLevel &level : target.caches)
    caches.push_back(double(level.bytes));
  sample.workingSets = placed(workingSets(estimate->tree, lineBytes), caches);
  return true;
}

size_t collect(const KernelTask &task, const SampleFile &file, const CollectOptions &options, Measurer &measurer,
               BlockTimer &timer, llvm::function_ref<bool(ArrayRef<Sample>)> keep) {
  constexpr size_t atOnce = 12; // what is lost where the work ends before time
  std::string id = kernelId(task);
  std::vector<Schedule> missing;
  for (const Schedule &schedule : drawn(task, options.count, options.seed))
    if (!file.has(id, schedule))
      missing.push_back(schedule);
  MeasureOptions how;
  how.threads = options.runThreads, how.cold = true, how.settled = 0.02;
  std::vector<std::pair<Schedule, double>> spreads;
  std::unique_ptr<Judge> judge = measureJudge(task, measurer, how, options.compilerThreads,
                                              [&](const Schedule &schedule, const Measurement &measurement, double) {
                                                spreads.emplace_back(schedule, measurement.spread());
                                              });
  size_t without = 0;
  for (ArrayRef<Schedule> left = missing; !left.empty() && !isCancelled() && measurer.problem().empty();
       left = left.drop_front(std::min(atOnce, left.size()))) {
    ArrayRef<Schedule> group = left.take_front(atOnce);
    spreads.clear();
    std::vector<double> costs = judge->costs(group);
    std::vector<Sample> samples(group.size());
    std::vector<char> isGood(group.size(), false);
    onLargeStacks(options.compilerThreads, group.size(), [&](size_t i) {
      if (isCancelled() || costs[i] == noCost)
        return;
      Sample &sample = samples[i];
      sample.kernel = id, sample.name = task.name().str(), sample.kernelClass = task.kernelClass().name.str();
      sample.schedule = group[i], sample.nanoseconds = costs[i];
      for (const auto &[schedule, spread] : spreads)
        if (schedule == group[i])
          sample.spread = spread;
      isGood[i] = analyseInto(sample, task, options, timer);
    });
    if (isCancelled())
      break;
    std::vector<Sample> good;
    for (auto [sample, is] : llvm::zip(samples, isGood))
      if (is)
        good.push_back(std::move(sample));
    without += group.size() - good.size();
    if (!keep(good))
      break;
  }
  return without;
}

void analyseAgain(const KernelTask &task, MutableArrayRef<Sample> samples, const CollectOptions &options,
                  BlockTimer &timer) {
  std::string id = kernelId(task);
  onLargeStacks(options.compilerThreads, samples.size(), [&](size_t i) {
    if (samples[i].kernel == id && !isCancelled())
      analyseInto(samples[i], task, options, timer);
  });
}

} // namespace fathom::tune
