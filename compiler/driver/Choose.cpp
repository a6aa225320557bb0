// Which judge says what sites take, and what a database knows of it.
#include "compiler/driver/Choose.h"

#include "compiler/driver/Retune.h"
#include "compiler/tune/ChoiceEntries.h"
#include "compiler/tune/database/Locate.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <chrono>

using namespace mlir;

namespace fathom {

// What the model of the code cannot tell apart between classes of kernels, as a share: more than within one.
static constexpr double staticDoubt = 0.05;
// By what times of kernels in turns differ, as a share.
static constexpr double measuredDoubt = 0.02;

bool mayChoose(const CompileOptions &options, const Pipeline &pipeline) {
  bool tunes = options.tuning.mode == tune::Mode::Static || options.tuning.mode == tune::Mode::Measure;
  if (options.plan || !mayRetune(options) || OpenModel::begin(pipeline) >= pipeline.firstThatGives(Layouts))
    return false;
  return tunes ? !options.choices.empty() && options.tuning.parts == 1 : options.tuning.mode == tune::Mode::Draft;
}

// By how much weights may still grow.
static int64_t growthLeft(const OpenModel &open, ArrayRef<Site> sites) {
  if (!llvm::is_contained(open.options.choices, SiteKind::Growth))
    return 0;
  const AlgorithmOptions &options = open.context.algorithms;
  int64_t most = std::max(constantBytes(open.graph.get()), options.leastWeights);
  int64_t left = int64_t(options.maxWeightGrowth * double(most));
  for (const Site &site : sites)
    left -= site.alternatives[site.proposed].bytes;
  return std::max<int64_t>(0, left);
}

// What a database knows of the model.
static llvm::Expected<std::optional<tune::ChosenModel>> knownOf(tune::ScheduleDatabase &database,
                                                                const Program &proposed, ArrayRef<Site> sites,
                                                                const CompileOptions &options,
                                                                const tune::Request &request) {
  auto any = tune::hasChoices(database, options.target, options.fp);
  if (!any)
    return any.takeError();
  if (!*any)
    return std::nullopt;
  std::string key = tune::choiceKey(proposed, sites, {options.target, options.fp == FloatMode::Strict});
  return tune::knownChoices(database, key, sites, options.target, request);
}

static LogicalResult chooseAnew(const OpenModel &open, const Program &proposed, ArrayRef<Site> sites,
                                BuildProgram build, const tune::Request &request, CompileReport &report, Location loc) {
  const CompileOptions &options = open.options;
  auto database = openToKeep(options, loc);
  bool runsHere = llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() == options.target.isAArch64() &&
                  request.machine.machine.isHere();
  bool isMeasured = request.mode == tune::Mode::Measure && request.comparesModels() && runsHere;
  if (database && isMeasured && !request.again) {
    auto known = knownOf(*database, proposed, sites, options, request);
    if (!known)
      return tune::warn(loc, known.takeError()), success();
    if (*known && (*known)->isMeasured)
      return report.chosen = std::move(*known), success();
  }
  tune::ChoiceLimits limits;
  limits.kinds = options.choices;
  limits.growth = growthLeft(open, sites);
  limits.doubt = isMeasured ? measuredDoubt : staticDoubt;
  limits.isOver = [&, start = std::chrono::steady_clock::now()] {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return isCancelled() || (request.seconds > 0 && passed.count() > request.seconds);
  };
  auto judge = isMeasured ? runningChoices(open, sites, build) : staticChoices(open, sites);
  auto chosen = tune::chooseSites(sites, *judge, limits);
  if (!chosen) {
    std::string problem = llvm::toString(chosen.takeError());
    if (!isCancelled())
      emitRemark(loc) << "the model keeps what was proposed, as its choices cannot be compared: " << problem;
    return success();
  }
  report.chosen = std::move(*chosen);
  report.chosen->isMeasured = isMeasured;
  if (!database || isCancelled() || (!request.keepsEstimates && !isMeasured))
    return success();
  std::string key = tune::choiceKey(proposed, sites, {options.target, options.fp == FloatMode::Strict});
  if (llvm::Error error = tune::keepChoices(*database, key, *report.chosen, options.target, request))
    tune::warn(loc, std::move(error));
  return success();
}

LogicalResult choose(const OpenModel &open, const Program &proposed, ArrayRef<Site> sites, BuildProgram build,
                     CompileReport &report, Location loc) {
  const CompileOptions &options = open.options;
  tune::Request request = options.tuning;
  request.fp = options.fp;
  if (sites.empty())
    return success();
  if (request.mode != tune::Mode::Draft) {
    Cancellation::Scope scope(request.stop ? request.stop : Cancellation::current());
    return chooseAnew(open, proposed, sites, build, request, report, loc);
  }
  if (auto database = tune::openForCompile(options.database, loc)) {
    auto known = knownOf(*database, proposed, sites, options, request);
    if (!known)
      return tune::warn(loc, known.takeError()), success();
    report.chosen = std::move(*known);
  }
  return success();
}

} // namespace fathom
