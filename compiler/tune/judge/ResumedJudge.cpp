// Costs that are known, and those that have to be measured, group by group.
#include "compiler/tune/judge/ResumedJudge.h"

using namespace mlir;

namespace fathom::tune {

llvm::Expected<KnownTimes> KnownTimes::read(ScheduleDatabase &database, const Lookup &lookup) {
  KnownTimes known;
  Filter filter{"", lookup.target, lookup.generator, name(lookup.fp).str()};
  llvm::Error error = database.visit(filter, [&](const Entry &entry) {
    if (entry.samples > 0 && entry.machine == lookup.machine && entry.threads == lookup.threads)
      known.times[entry.kernel][printSchedule(entry.schedule)] = entry.nanoseconds;
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return known;
}

std::optional<double> KnownTimes::find(StringRef kernel, const Schedule &schedule) const {
  auto schedules = times.find(kernel);
  if (schedules == times.end())
    return std::nullopt;
  auto found = schedules->second.find(printSchedule(schedule));
  return found == schedules->second.end() ? std::nullopt : std::optional(found->second);
}

namespace {

class ResumedJudge final : public Judge {
public:
  ResumedJudge(const KernelTask &task, const Resumed &resumed) : task(task), resumed(resumed) {}

  std::vector<double> costs(ArrayRef<Schedule> schedules) override {
    std::vector<double> costs(schedules.size(), noCost);
    std::vector<Schedule> asked;
    std::vector<size_t> places;
    size_t before = *resumed.taken;
    for (auto [i, schedule] : llvm::enumerate(schedules))
      if (std::optional<double> known = find(schedule))
        costs[i] = *known;
      else
        asked.push_back(schedule), places.push_back(i);
    resumed.onTrials(*resumed.taken - before);
    for (size_t first = 0; first < asked.size() && !resumed.isOver(); first += measuredTogether) {
      ArrayRef<Schedule> group = ArrayRef(asked).slice(first, std::min(measuredTogether, asked.size() - first));
      for (auto [i, cost] : llvm::enumerate(resumed.judge->costs(group)))
        costs[places[first + i]] = judged[printSchedule(group[i])] = cost;
      resumed.onTrials(group.size());
    }
    return costs;
  }

private:
  std::optional<double> find(const Schedule &schedule) {
    std::string text = printSchedule(schedule);
    if (auto found = judged.find(text); found != judged.end())
      return found->second;
    std::optional<double> known = resumed.known ? resumed.known->find(task.key(), schedule) : std::nullopt;
    if (known)
      judged[text] = *known, ++*resumed.taken;
    return known;
  }

  const KernelTask &task;
  Resumed resumed;
  llvm::StringMap<double> judged; // in this run, by the schedule's text: who searches after another may ask it again
};

} // namespace

std::unique_ptr<Judge> resumedJudge(const KernelTask &task, const Resumed &resumed) {
  return std::make_unique<ResumedJudge>(task, resumed);
}

} // namespace fathom::tune
