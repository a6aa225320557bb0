// The analysis of a kernel, and its time apart from the model.
#include "tools/fathom/explain/ExplainCost.h"

#include "compiler/tune/judge/Judges.h"
#include "tools/fathom/compile/CompileCommand.h"
#include "tools/fathom/compile/PlannedModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace fathom::tune;

namespace fathom {

static const KernelTask *findTask(const PlannedModel &model, StringRef name) {
  for (const TaskUse &use : model.uses)
    for (size_t i : use.kernels)
      if (model.compilation->program.kernels[i].name == name)
        return use.task.get();
  return nullptr;
}

// Runs the kernel as tuning does: alone, with its weights out of the caches.
static Expected<int> measure(StringRef path, const OptionValues &options) {
  PlannedModel model;
  DiagnosticLog log(*model.context, sys::path::filename(path), printDiagnostic);
  if (failed(model.plan(path, options, ExplainBit)))
    return log.exitCode();
  std::string name = options.text("cost");
  const KernelTask *task = findTask(model, name);
  if (!task)
    return outs() << "measured: not, as it has no choice of schedules\n", 0;
  const CompileOptions &compile = model.request.options;
  if (!compile.target.host.empty())
    return fail(ErrorCode::BadTarget, "single kernels for " + compile.target.spelling() + " cannot be measured yet",
                "leave --run out");
  if (Triple(sys::getProcessTriple()).isAArch64() != compile.target.isAArch64())
    return fail(ErrorCode::BadTarget,
                "kernels for " + compile.target.spelling() +
                    " cannot be measured on this machine, which has another architecture",
                "leave --run out");
  auto measurer = Measurer::start(model.module->getLoc(), compile.tuning.machine);
  if (failed(measurer))
    return log.exitCode();
  MeasureOptions how;
  how.cold = true;
  Measurement found;
  auto judge = measureJudge(*task, **measurer, how, compile.threads,
                            [&](const Schedule &, const Measurement &one, double) { found = one; });
  judge->costs({task->planned()});
  if (!found.isOk())
    return fail(ErrorCode::Device, "kernel '" + name + "' " + spell(found.status) + ": " + found.note);
  outs() << formatv(
      "measured: {0:f1} us, quartiles {1:f1} and {2:f1}, of {3} runs with one thread, alone, with weights "
      "out of the caches\n",
      found.medianNs / 1e3, found.lowerQuartileNs / 1e3, found.upperQuartileNs / 1e3, found.runs);
  return 0;
}

Expected<int> explainCost(StringRef model, const OptionValues &options) {
  CompileReport report;
  int exitCode = compileTo(model, "", options, ExplainBit, report);
  if (exitCode || !options.flag("run"))
    return exitCode;
  return measure(model, options);
}

} // namespace fathom
