// Judges of choices: the model is planned with them, and its kernels are analysed, or run.
#include "compiler/driver/ChoiceJudges.h"

#include "compiler/driver/ModelRuns.h"
#include "compiler/support/Failure.h"
#include "compiler/support/LargeStack.h"
#include "compiler/tune/judge/Judges.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include <map>
#include <numeric>

using namespace mlir;

namespace fathom {
namespace {

// A model that is planned with choices.
struct PlannedModel {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Compilation> compilation;

  Program &program() { return compilation->program; }
};

llvm::Expected<PlannedModel> planAs(const OpenModel &open, ArrayRef<Site> sites, const tune::Taken &taken) {
  std::vector<PlannedChoice> choices;
  for (auto [site, alternative] : llvm::zip_equal(sites, taken))
    choices.push_back(site.take(alternative));
  ModuleOp graph = open.graph.get();
  PlannedModel model;
  model.module = graph.clone();
  std::string problem;
  ScopedDiagnosticHandler quiet(graph.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      problem = diagnostic.str();
    return success();
  });
  auto compilation = Compilation::begin(open.options, graph.getLoc());
  if (failed(compilation))
    return llvm::createStringError(problem);
  model.compilation = std::move(*compilation);
  PassContext &context = model.compilation->context;
  context.algorithms = open.context.algorithms, context.foldBudget = open.context.foldBudget;
  model.compilation->take(siteChooser(context.target, std::move(choices)));
  model.program().sourceWeightBytes = open.sourceWeightBytes;
  if (failed(open.pipeline.run(*model.module, context, OpenModel::begin(open.pipeline), open.pipeline.size())))
    return llvm::createStringError(problem.empty() ? "it was cancelled" : problem);
  return std::move(model);
}

tune::JudgedPlan judged(const Program &program, std::vector<double> costs) {
  tune::JudgedPlan plan;
  for (const PlannedKernel &kernel : program.plan.kernels)
    plan.ops.push_back(kernel.ops);
  plan.costs = std::move(costs);
  return plan;
}

double sumOf(ArrayRef<double> costs) { return std::accumulate(costs.begin(), costs.end(), 0.0); }

// By the model of the code: cycles of each kernel with the schedule that it is planned with.
class StaticChoices final : public tune::ChoiceJudge {
public:
  StaticChoices(const OpenModel &open, ArrayRef<Site> sites)
      : open(open), sites(sites), timer(open.options.target),
        coefficients(open.options.tuning.coefficients.value_or(coefficientsFor(open.options.target))) {}

  llvm::Expected<std::array<tune::JudgedPlan, 2>> kernels(const tune::Taken &base, const tune::Taken &taken) override {
    std::array<tune::JudgedPlan, 2> plans;
    for (auto [plan, choices] : llvm::zip(plans, std::array{&base, &taken})) {
      auto found = plansOf.find(*choices);
      if (found == plansOf.end()) {
        auto model = planAs(open, sites, *choices);
        if (!model)
          return model.takeError();
        found = plansOf.emplace(*choices, judged(model->program(), costsOf(model->program()))).first;
      }
      plan = found->second;
    }
    return plans;
  }
  llvm::Expected<std::array<double, 2>> models(const tune::Taken &base, const tune::Taken &taken) override {
    auto plans = kernels(base, taken);
    if (!plans)
      return plans.takeError();
    return std::array{sumOf((*plans)[0].costs), sumOf((*plans)[1].costs)};
  }

private:
  // Kernels without a choice of schedules cost nothing: they are the same in all plans.
  std::vector<double> costsOf(const Program &program) {
    const CompileOptions &options = open.options;
    std::vector<tune::TaskUse> uses = tune::tasksOf(program, {options.target, options.fp == FloatMode::Strict});
    std::vector<double> costs(uses.size(), tune::noCost), ofKernels(program.kernels.size());
    std::vector<std::string> keys;
    for (const tune::TaskUse &use : uses)
      keys.push_back((use.task->key() + "\n" + tune::printSchedule(use.task->planned())).str());
    onLargeStacks(options.threads, uses.size(), [&](size_t i) {
      const tune::KernelTask &task = *uses[i].task;
      if (auto found = known.find(keys[i]); found != known.end())
        costs[i] = found->second;
      else
        costs[i] =
            tune::preciseJudge(task, timer, coefficients, options.tuning.runThreads, 1)->costs(task.planned())[0];
    });
    for (auto [key, cost, use] : llvm::zip_equal(keys, costs, uses)) {
      known[key] = cost;
      for (size_t kernel : use.kernels)
        ofKernels[kernel] = cost;
    }
    return ofKernels;
  }

  const OpenModel &open;
  ArrayRef<Site> sites;
  BlockTimer timer;
  Coefficients coefficients;
  llvm::StringMap<double> known; // of kernels and schedules
  std::map<tune::Taken, tune::JudgedPlan> plansOf;
};

// By running the model as it was proposed and with choices in turns, on this machine.
class RunningChoices final : public tune::ChoiceJudge {
public:
  RunningChoices(const OpenModel &open, ArrayRef<Site> sites, BuildProgram build)
      : open(open), sites(sites), build(build) {}

  llvm::Expected<std::array<tune::JudgedPlan, 2>> kernels(const tune::Taken &base, const tune::Taken &taken) override {
    if (llvm::Error error = prepare(base, taken))
      return std::move(error);
    auto times = typicalKernelTimes(runs, seconds);
    if (!times)
      return times.takeError();
    std::array<tune::JudgedPlan, 2> result{plans[0], plans[1]};
    for (size_t i : {0, 1})
      result[i].costs = std::move((*times)[i]);
    return result;
  }
  llvm::Expected<std::array<double, 2>> models(const tune::Taken &base, const tune::Taken &taken) override {
    if (llvm::Error error = prepare(base, taken))
      return std::move(error);
    auto times = typicalTimes(runs, seconds);
    if (!times)
      return times.takeError();
    return std::array{(*times)[0], (*times)[1]};
  }

private:
  static constexpr double seconds = 2; // of a comparison

  // Those of the last comparison are not made again.
  llvm::Error prepare(const tune::Taken &base, const tune::Taken &taken) {
    if (!present.empty() && present.front() != base)
      present.clear();
    if (present.size() == 2 && present.back() != taken)
      present.pop_back();
    runs.resize(present.size()), plans.resize(present.size());
    const tune::Taken *wanted[] = {&base, &taken};
    for (size_t i = present.size(); i < 2; ++i) {
      if (llvm::Error error = add(*wanted[i]))
        return error;
      present.push_back(*wanted[i]);
    }
    return llvm::Error::success();
  }

  llvm::Error add(const tune::Taken &taken) {
    auto model = planAs(open, sites, taken);
    if (!model)
      return model.takeError();
    llvm::SmallString<128> path;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("fathom-tune", "fathom", path))
      return fail(ErrorCode::FileUnwritable, "cannot create a temporary file: " + code.message());
    llvm::FileRemover remover(path);
    if (failed(build(model->program(), path)))
      return fail(ErrorCode::FileUnwritable, "the model cannot be made");
    auto run = ModelRun::load(path, open.options.tuning.runThreads);
    if (!run)
      return run.takeError();
    runs.push_back(std::make_unique<ModelRun>(std::move(*run)));
    plans.push_back(judged(model->program(), {}));
    return llvm::Error::success();
  }

  const OpenModel &open;
  ArrayRef<Site> sites;
  BuildProgram build;
  std::vector<std::unique_ptr<ModelRun>> runs;
  std::vector<tune::JudgedPlan> plans;
  std::vector<tune::Taken> present; // what they take
};

} // namespace

std::unique_ptr<tune::ChoiceJudge> staticChoices(const OpenModel &open, ArrayRef<Site> sites) {
  return std::make_unique<StaticChoices>(open, sites);
}

std::unique_ptr<tune::ChoiceJudge> runningChoices(const OpenModel &open, ArrayRef<Site> sites, BuildProgram build) {
  return std::make_unique<RunningChoices>(open, sites, build);
}

} // namespace fathom
