// What a database has for a program's kernels, and a plan with what was found.
#include "compiler/support/Failure.h"
#include "compiler/target/MachineFile.h"
#include "compiler/tune/Tune.h"
#include "compiler/tune/Verdicts.h"
#include "compiler/tune/database/Locate.h"

using namespace mlir;

namespace fathom::tune {

Tuned untuned(const TaskUse &use) {
  const KernelTask &task = *use.task;
  Tuned start;
  start.key = task.key().str(), start.kernel = task.name().str(), start.kernelClass = task.kernelClass().name.str();
  start.uses = use.kernels.size(), start.kernels = use.kernels;
  start.planned = start.best = task.planned();
  start.plannedCost = start.bestCost = task.space().score(task.planned());
  return start;
}

std::vector<Tuned> known(const Program &program, const Target &target, FloatMode fp, ScheduleDatabase &database,
                         Location loc) {
  std::vector<TaskUse> uses = tasksOf(program, {target, fp == FloatMode::Strict});
  std::vector<Tuned> results;
  for (const TaskUse &use : uses)
    results.push_back(untuned(use));
  std::string hash = modelHash(results), machine = hashOf(printMachineFile(target));
  for (auto [use, result] : llvm::zip_equal(uses, results)) {
    // What was measured in this very model comes before what was measured apart.
    std::optional<Entry> entry;
    for (const std::string &key : {keyInModel(hash, result.key), result.key}) {
      Lookup lookup{key, result.kernelClass, target.spelling(), generatorVersion.str(), fp, machine};
      llvm::Expected<std::optional<Entry>> best = database.best(lookup);
      if (!best) {
        warn(loc, best.takeError());
        return {};
      }
      if ((entry = std::move(*best)))
        break;
    }
    if (!entry)
      continue;
    const KernelClass &klass = use.task->kernelClass();
    Schedule schedule = scheduleOf(*entry, klass);
    // What is not legal here any more is passed over.
    if (llvm::Error error = checkSchedule(klass, schedule, use.task->site(), target))
      warn(loc, fail(ErrorCode::BadEntry, "entry " + entry->id().substr(0, 12) + " of kernel '" + result.kernel +
                                              "': " + llvm::toString(std::move(error))));
    else
      result.best = inOrder(schedule, klass), result.entry = entry->id();
  }
  return results;
}

// Weights are packed once, so that versions for smaller sizes go which want panels of another width.
static void take(PlannedKernel &planned, const Schedule &best) {
  planned.schedule = best;
  const Family &family = findKernelClass(planned.kernelClass)->family;
  llvm::erase_if(planned.versions, [&](const Version &version) {
    return family.panelWidth(version.schedule) != family.panelWidth(best);
  });
}

Plan planWith(const Program &program, ArrayRef<Tuned> tuned) {
  Plan plan = program.plan;
  for (const Tuned &kernel : tuned)
    for (size_t i : kernel.kernels)
      if (kernel.isBetter())
        take(plan.kernels[i], kernel.best);
  return plan;
}

} // namespace fathom::tune
