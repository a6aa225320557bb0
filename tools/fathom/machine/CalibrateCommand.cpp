// fathom calibrate: fits the models that estimate costs to measurements.
#include "compiler/package/OutputFile.h"
#include "compiler/tune/calibrate/Collect.h"
#include "compiler/tune/calibrate/FitDraft.h"
#include "compiler/tune/calibrate/SampleStore.h"
#include "tools/fathom/compile/PlannedModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fathom::tune;

namespace fathom {
namespace {

// Kernels whose share of the model's estimated time is less are passed over.
constexpr double leastShare = 0.01;

// A line for each kernel, and for the means.
template <typename One, size_t count>
void printValidation(ArrayRef<One> validations, const std::pair<StringRef, Ranking One::*> (&columns)[count]) {
  outs() << formatv("{0,-32} {1,-14} {2,7}", "kernel", "class", "samples");
  for (const auto &[name, ranking] : columns)
    outs() << formatv(" {0,24}", name);
  outs() << formatv("\n{0,55}", "");
  for (size_t i = 0; i < count; ++i)
    outs() << formatv(" {0,8}{1,8}{2,8}", "factor", "order", "first");
  outs() << "\n";
  auto row = [](StringRef name, StringRef klass, size_t samples, ArrayRef<Ranking> rankings) {
    outs() << formatv("{0,-32} {1,-14} {2,7}", name.take_front(32), klass, samples);
    for (const Ranking &ranking : rankings)
      outs() << formatv(" {0,8:f2}{1,8:f3}{2,8:f3}", ranking.factor, ranking.spearman, ranking.first);
    outs() << "\n";
  };
  Ranking means[count];
  for (Ranking &mean : means)
    mean = {0, 0, 0, 0};
  for (const One &one : validations) {
    std::vector<Ranking> rankings;
    for (auto [mean, column] : zip(means, columns)) {
      const Ranking &ranking = rankings.emplace_back(one.*column.second);
      mean.samples += ranking.samples;
      mean.factor += ranking.factor / double(validations.size());
      mean.spearman += ranking.spearman / double(validations.size());
      mean.first += ranking.first / double(validations.size());
    }
    row(printable(one.name), one.kernelClass, rankings.front().samples, rankings);
  }
  row("mean", "", means[0].samples, means);
}

constexpr StringLiteral columnsMean =
    "\nfactor: by which times are wrong, in the geometric mean; order: Spearman's correlation;\n"
    "first: the best time over that of what is predicted best.\n";

json::Object describe(const Ranking &ranking) {
  return json::Object{{"factor", ranking.factor}, {"spearman", ranking.spearman}, {"first", ranking.first}};
}

json::Object describe(const Coefficients &coefficients) {
  json::Object values;
  for (auto [name, value] : zip(featureNames, coefficients.values))
    values[name] = value;
  return json::Object{{"coefficients", std::move(values)},
                      {"nanoseconds", coefficients.nanoseconds ? json::Value(*coefficients.nanoseconds) : nullptr}};
}

json::Object describe(const Validation &one) {
  return json::Object{{"id", one.kernel},
                      {"kernel", one.name},
                      {"score", describe(one.coefficients)},
                      {"class", one.kernelClass},
                      {"samples", int64_t(one.fitted.samples)},
                      {"fitted", describe(one.fitted)},
                      {"latencies", describe(one.latencies)},
                      {"draft", describe(one.draft)}};
}

// Adds what is measured of a model's kernels. Gives 0 or an exit code.
Expected<int> measureModel(PlannedModel &model, StringRef path, const OptionValues &options, SampleStore &store) {
  DiagnosticLog log(*model.context, sys::path::filename(path), printDiagnostic);
  showProgress("import", 0, 0);
  if (failed(model.plan(path, options, CalibrateBit)))
    return log.exitCode();
  const CompileOptions &compile = model.request.options;
  auto measurer = Measurer::start(model.module->getLoc(), compile.tuning.machine);
  if (failed(measurer))
    return log.exitCode();
  CollectOptions collecting;
  collecting.count = size_t(options.integer("trials"));
  collecting.runThreads = compile.tuning.runThreads, collecting.compilerThreads = compile.threads;
  collecting.seed = uint64_t(options.integer("seed"));
  BlockTimer timer(compile.target);
  std::vector<const KernelTask *> tasks = model.tasks(leastShare);
  std::vector<std::string> classes = options.all("class");
  if (!classes.empty())
    erase_if(tasks, [&](const KernelTask *task) { return !is_contained(classes, task->kernelClass().name); });
  size_t without = 0;
  if (options.flag("analyse-again"))
    if (Error error = store.changeAll([&](MutableArrayRef<Sample> samples) {
          for (const KernelTask *task : tasks)
            analyseAgain(*task, samples, collecting, timer);
        }))
      return std::move(error);
  for (auto [i, task] : enumerate(tasks)) {
    showProgress("measure", i, tasks.size());
    Error problem = Error::success();
    without += collect(*task, store.all(), collecting, **measurer, timer, [&](ArrayRef<Sample> samples) {
      problem = store.add(samples);
      return !problem;
    });
    if (problem)
      return std::move(problem);
  }
  clearProgress();
  if (!(*measurer)->problem().empty())
    return fail(ErrorCode::Device, (*measurer)->problem(), "what was measured before is in the file of --samples");
  if (without)
    notes() << sys::path::filename(path) << ": " << without << " schedules could not be measured\n";
  return 0;
}

// Samples of kernels that are at hand, and what drafts say of them.
struct DraftSamples {
  std::vector<Sample> samples;
  std::vector<const KernelTask *> tasks; // by samples

  DraftSamples(ArrayRef<std::unique_ptr<PlannedModel>> models, ArrayRef<Sample> all) {
    StringMap<const KernelTask *> known;
    for (const auto &model : models)
      for (const TaskUse &use : model->uses)
        known[kernelId(*use.task)] = use.task.get();
    for (const Sample &sample : all)
      if (const KernelTask *task = known.lookup(sample.kernel))
        samples.push_back(sample), tasks.push_back(task);
  }

  std::vector<double> drafts(const Calibration &constants, int threads) const {
    DenseMap<const KernelTask *, std::unique_ptr<Space>> spaces;
    std::vector<double> cycles;
    for (auto [sample, task] : zip(samples, tasks)) {
      std::unique_ptr<Space> &space = spaces[task];
      if (!space) {
        Target target = task->target();
        target.calibration = constants;
        space = task->kernelClass().family.spaceOf(task->site(), target);
      }
      cycles.push_back(space->estimate(sample.schedule).total(threads));
    }
    return cycles;
  }
};

// Fits the draft's constants; those that have changed go into the calibration.
json::Array refitDraft(const DraftSamples &known, int threads, bool asJson, MachineCalibration &calibration) {
  const Calibration start = known.tasks.front()->target().calibration;
  auto model = [&](const Calibration &constants) { return known.drafts(constants, threads); };
  Calibration fitted = fitDraft(known.samples, start, model);
  for (const CalibrationField &field : calibrationFields())
    if (fitted.*field.member != start.*field.member)
      calibration.constants[field.name.str()] = fitted.*field.member;
  std::vector<DraftValidation> validations = crossValidateDraft(known.samples, start, model);
  if (!asJson && !validations.empty()) {
    outs() << "The draft, for each kernel, with constants that were fitted to others, and as it was." << columnsMean;
    printValidation<DraftValidation, 2>(validations,
                                        {{"fitted", &DraftValidation::fitted}, {"before", &DraftValidation::before}});
    outs() << "\n";
  }
  json::Array kernels;
  for (const DraftValidation &one : validations)
    kernels.push_back(json::Object{{"kernel", one.name},
                                   {"class", one.kernelClass},
                                   {"fitted", describe(one.fitted)},
                                   {"before", describe(one.before)}});
  return kernels;
}

} // namespace

Expected<int> calibrateCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.text("target") == "help")
    return printTargets(options);
  if (arguments.positional.empty() && !options.has("samples"))
    return fail(usageError, "there is nothing to measure and nothing that was measured",
                "give models, or with --samples a file of samples");
  if (options.flag("draft") && arguments.positional.empty())
    return fail(usageError, "--draft needs the models that the samples are of",
                "give them; what the file of --samples has is not measured again");
  for (const std::string &name : options.all("class"))
    if (none_of(allKernelClasses(), [&](const KernelClass *known) { return known->name == name; }))
      return fail(usageError, "there is no class of kernels '" + name + "'", "'fathom plan knobs' lists them");
  auto target = parseTarget(options.text("target"));
  if (!target)
    return fail(ErrorCode::BadTarget, toString(target.takeError()));
  if (!target->host.empty())
    return fail(ErrorCode::BadTarget, "estimates for '" + target->spelling() + "' cannot be fitted yet");
  // Without models, what the samples are of is what they say.
  bool measures = !arguments.positional.empty();
  std::string file = options.text("samples");
  auto store = measures ? SampleStore::open(file, target->spelling(), int(options.integer("tune-threads")),
                                            options.flag("analyse-again"))
                        : SampleStore::read(file);
  if (!store)
    return store.takeError();
  std::vector<std::unique_ptr<PlannedModel>> models;
  for (const std::string &path : arguments.positional) {
    models.push_back(std::make_unique<PlannedModel>());
    Expected<int> exitCode = measureModel(*models.back(), path, options, *store);
    if (!exitCode || *exitCode)
      return exitCode;
  }
  const std::vector<Sample> &samples = store->all().samples;
  if (samples.size() < 2 * featureCount)
    return fail(ErrorCode::BadInput,
                formatv("{0} samples are too few to fit {1} coefficients to", samples.size(), featureCount),
                "give models with kernels that have a choice of schedules, or more --trials");
  MachineCalibration calibration;
  calibration.target = store->all().target;
  calibration.score = fitCoefficients(samples);
  calibration.score->source =
      formatv("fathom calibrate: {0} schedules of {1} kernels", samples.size(), byKernel(samples).size());
  std::vector<Validation> validations = crossValidate(samples);
  bool asJson = options.flag("json");
  if (!asJson && !validations.empty()) {
    outs() << "Each kernel by coefficients that were fitted to the others; by pure latencies; by the draft."
           << columnsMean;
    printValidation<Validation, 3>(
        validations,
        {{"fitted", &Validation::fitted}, {"latencies", &Validation::latencies}, {"draft", &Validation::draft}});
    outs() << "\n";
  } else if (validations.empty()) {
    notes() << "with one kernel there is nothing to validate the fit with\n";
  }
  json::Array drafts;
  if (options.flag("draft")) {
    DraftSamples known(models, samples);
    if (known.samples.empty())
      return fail(ErrorCode::BadInput, "none of the samples is of the models' kernels", "give the models they are of");
    drafts = refitDraft(known, store->all().threads, asJson, calibration);
  }
  if (options.has("output"))
    if (Error error =
            writeFile(options.text("output"), [&](raw_ostream &out) { out << printCalibration(calibration); }))
      return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  if (!asJson)
    return outs() << printCalibration(calibration), 0;
  json::Array kernels;
  for (const Validation &one : validations)
    kernels.push_back(describe(one));
  json::Object constants;
  for (const auto &[name, value] : calibration.constants)
    constants[name] = value;
  printJson(json::Object{{"samples", int64_t(samples.size())},
                         {"score", describe(*calibration.score)},
                         {"constants", std::move(constants)},
                         {"kernels", std::move(kernels)},
                         {"drafts", std::move(drafts)}},
            /*oneLine=*/true);
  return 0;
}

} // namespace fathom
