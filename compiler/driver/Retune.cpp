// From a planned program to one with better schedules: their panels change layouts, so that it is planned again.
#include "compiler/driver/Retune.h"

#include "compiler/support/Failure.h"
#include "compiler/tune/Verdicts.h"
#include "compiler/tune/database/Locate.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace fathom {

bool mayRetune(const CompileOptions &options) {
  if ((options.plan && options.plan->saysAll()) || !options.fold || options.tuning.mode == tune::Mode::Off)
    return false;
  return options.tuning.mode != tune::Mode::Draft || tune::locate(options.database).has_value();
}

std::unique_ptr<tune::ScheduleDatabase> openToKeep(const CompileOptions &options, Location loc) {
  std::optional<tune::DatabaseFile> file = tune::locate(options.database);
  if (!file)
    return nullptr;
  auto database = tune::openToWrite(*file);
  if (!database) {
    tune::warn(loc, database.takeError());
    return nullptr;
  }
  (*database)->onReopen = [loc](const std::string &why) { emitWarning(loc) << why << "; it is opened once again"; };
  return std::move(*database);
}

static llvm::Expected<ModelRun> run(const Plan &plan, BuildArtifact build, int threads) {
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("fathom-tune", "fathom", path))
    return fail(ErrorCode::FileUnwritable, "cannot create a temporary file: " + code.message());
  llvm::FileRemover remover(path);
  if (failed(build(plan, path)))
    return fail(ErrorCode::FileUnwritable, "the model cannot be made");
  return ModelRun::load(path, threads);
}

// Leaves out what is faster only apart from the model, and remembers that.
static void compareInPlace(const Program &program, const tune::Request &request, const Target &target,
                           tune::ScheduleDatabase *database, BuildArtifact build, CompileReport &report, Location loc) {
  auto comparison = compareByRunning(
      [&](ArrayRef<tune::Tuned> tuned) { return run(tune::planWith(program, tuned), build, request.runThreads); });
  auto chosen = chooseInPlace(report.tuned, *comparison);
  if (!chosen) {
    emitRemark(loc) << "whole models are not compared, and kernels keep what is faster apart from it: "
                    << llvm::toString(chosen.takeError());
    return;
  }
  report.inPlace = *chosen;
  if (database)
    if (llvm::Error error = tune::keepVerdicts(*database, report.tuned, target, request))
      tune::warn(loc, std::move(error));
}

static LogicalResult findBetter(const Program &program, const CompileOptions &options, BuildArtifact build,
                                CompileReport &report, Location loc) {
  if (options.tuning.mode == tune::Mode::Draft) {
    if (auto database = tune::openForCompile(options.database, loc))
      report.tuned = tune::known(program, options.target, options.fp, *database, loc);
    return success();
  }
  if (!options.target.host.empty())
    return hint(emitError(loc, ErrorCode::BadTarget)
                    << "schedules for '" << options.target.spelling() << "' cannot be searched for yet",
                "--tune draft chooses them by an estimate");
  tune::Request request = options.tuning;
  request.fp = options.fp, request.compilerThreads = options.threads;
  if (options.progress)
    request.progress = [&](size_t done, size_t total) { options.progress("tune", done, total); };
  request.sourceChosen = [&](const tune::TransferSources &sources) { report.sources = sources; };
  auto database = openToKeep(options, loc);
  FailureOr<std::vector<tune::Tuned>> tuned = tune::tune(program, request, options.target, database.get(), loc);
  if (failed(tuned))
    return failure();
  report.tuned = std::move(*tuned);
  bool isStopped = request.stop && request.stop->isCancelled();
  bool isAnyToCompare = llvm::any_of(
      report.tuned, [](const tune::Tuned &kernel) { return kernel.isBetter() || !kernel.candidates.empty(); });
  bool runsHere = llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() == options.target.isAArch64();
  if (isAnyToCompare && !isStopped && request.comparesModels() && request.machine.machine.isHere() && runsHere)
    compareInPlace(program, request, options.target, database.get(), build, report, loc);
  return success();
}

LogicalResult retune(ModuleOp module, ModuleOp graph, const CompileOptions &options, Compilation &compilation,
                     llvm::function_ref<LogicalResult()> plan, BuildArtifact build, CompileReport &report) {
  Program &program = compilation.program;
  if (failed(findBetter(program, options, build, report, module.getLoc())))
    return failure();
  if (llvm::none_of(report.tuned, [](const tune::Tuned &kernel) { return kernel.isBetter(); }))
    return success();
  compilation.tunedPlan = tune::planWith(program, report.tuned);
  auto chooser = chooserFor(&*compilation.tunedPlan, options.target, module.getLoc());
  if (failed(chooser))
    return failure();
  compilation.take(std::move(*chooser));
  compilation.forget(module, graph);
  if (failed(plan()))
    return failure();
  for (const tune::Tuned &kernel : report.tuned)
    for (size_t i : kernel.kernels)
      program.kernels[i].scheduleEntry = kernel.entry;
  return success();
}

} // namespace fathom
