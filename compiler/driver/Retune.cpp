// From a planned program to one with better schedules: their panels change layouts, so that it is planned again.
#include "compiler/driver/Retune.h"

#include "compiler/tune/database/Locate.h"

using namespace mlir;

namespace fathom {

bool mayRetune(const CompileOptions &options) {
  if (options.plan || !options.fold || options.tuning.mode == tune::Mode::Off)
    return false;
  return options.tuning.mode != tune::Mode::Draft || tune::locate(options.database).has_value();
}

// What tuning writes to; a problem is a warning, and then nothing is kept.
static std::unique_ptr<tune::ScheduleDatabase> openToKeep(const CompileOptions &options, Location loc) {
  std::optional<tune::DatabaseFile> file = tune::locate(options.database);
  if (!file)
    return nullptr;
  auto database = tune::openToWrite(*file);
  if (!database) {
    tune::warn(loc, database.takeError());
    return nullptr;
  }
  return std::move(*database);
}

static FailureOr<std::vector<tune::Tuned>> better(const Program &program, const CompileOptions &options, Location loc) {
  if (options.tuning.mode == tune::Mode::Draft) {
    auto database = tune::openForCompile(options.database, loc);
    return database ? tune::known(program, options.target, options.fp, *database, loc) : std::vector<tune::Tuned>();
  }
  tune::Request request = options.tuning;
  request.fp = options.fp, request.compilerThreads = options.threads;
  if (options.progress)
    request.progress = [&](size_t done, size_t total) { options.progress("tune", done, total); };
  auto database = openToKeep(options, loc);
  return tune::tune(program, request, options.target, database.get(), loc);
}

LogicalResult retune(ModuleOp module, ModuleOp graph, const CompileOptions &options, Compilation &compilation,
                     llvm::function_ref<LogicalResult()> plan, CompileReport &report) {
  Program &program = compilation.program;
  FailureOr<std::vector<tune::Tuned>> tuned = better(program, options, module.getLoc());
  if (failed(tuned))
    return failure();
  report.tuned = std::move(*tuned);
  if (llvm::none_of(report.tuned, [](const tune::Tuned &kernel) { return kernel.isBetter(); }))
    return success();
  compilation.tunedPlan = tune::planWith(program, report.tuned);
  auto chooser = chooserFor(&*compilation.tunedPlan, options.target, module.getLoc());
  if (failed(chooser))
    return failure();
  compilation.chooser = std::move(*chooser);
  compilation.context.chooser = compilation.chooser.get();
  int64_t sourceWeightBytes = program.sourceWeightBytes;
  program = Program();
  program.sourceWeightBytes = sourceWeightBytes;
  module.getBodyRegion().takeBody(graph.getBodyRegion());
  module->setAttrs(graph->getAttrs());
  if (failed(plan()))
    return failure();
  for (const tune::Tuned &kernel : report.tuned)
    for (size_t i : kernel.kernels)
      program.kernels[i].scheduleEntry = kernel.entry;
  return success();
}

} // namespace fathom
