// Spaces have up to millions of schedules: only the cheapest are kept on the way.
#include "compiler/tune/DraftCandidates.h"

#include "compiler/tune/judge/Judges.h"

using namespace mlir;

namespace fathom::tune {
namespace {

// Candidates that the draft is asked for, of the whole space, beside all that the compiler looks at by itself.
constexpr size_t draftTrials = 2000;

// The cheapest schedules, of equal ones those that came first; a schedule may come twice.
class Cheapest {
public:
  explicit Cheapest(size_t count) : count(count) {}

  void add(const Schedule &schedule, double cost) {
    if (kept.size() >= count && cost >= bound)
      return;
    kept.push_back({schedule, cost});
    if (kept.size() >= 2 * count)
      shrink();
  }
  std::vector<Judged> take() {
    shrink();
    return std::move(kept);
  }

private:
  void shrink() {
    llvm::stable_sort(kept, [](const Judged &a, const Judged &b) { return a.cost < b.cost; });
    if (kept.size() > count)
      kept.resize(count);
    if (kept.size() == count)
      bound = kept.back().cost;
  }

  size_t count;
  double bound = noCost;
  std::vector<Judged> kept;
};

} // namespace

std::vector<Schedule> draftCandidates(const KernelTask &task, size_t count, uint64_t seed) {
  SearchSpace space(task);
  std::unique_ptr<Judge> draft = draftJudge(task);
  Trials trials(space, *draft, draftTrials);
  findSearch("evolution")->run(trials, task.planned(), seed);
  // What was tried may be enumerated, too, and the planned schedule may be among both.
  Cheapest cheapest(2 * count + 2);
  for (const Judged &tried : trials.judged)
    cheapest.add(tried.schedule, tried.cost);
  task.space().enumerate([&](const Schedule &schedule) { cheapest.add(schedule, task.space().score(schedule)); });
  std::vector<Schedule> chosen{task.planned()};
  for (const Judged &candidate : cheapest.take()) {
    if (chosen.size() >= count)
      break;
    if (!llvm::is_contained(chosen, candidate.schedule))
      chosen.push_back(candidate.schedule);
  }
  return chosen;
}

} // namespace fathom::tune
