// Costs by the draft, which takes about a microsecond for each schedule.
#include "compiler/tune/judge/Judges.h"

namespace fathom::tune {
namespace {

class DraftJudge final : public Judge {
public:
  explicit DraftJudge(const KernelTask &task) : space(task.space()) {}

  std::vector<double> costs(llvm::ArrayRef<Schedule> schedules) override {
    std::vector<double> costs;
    for (const Schedule &schedule : schedules)
      costs.push_back(space.score(schedule));
    return costs;
  }

private:
  const Space &space;
};

} // namespace

std::unique_ptr<Judge> draftJudge(const KernelTask &task) { return std::make_unique<DraftJudge>(task); }

} // namespace fathom::tune
