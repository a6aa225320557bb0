// fathom calibrate: fits the models that estimate costs to measurements.
#include "compiler/package/OutputFile.h"
#include "compiler/tune/calibrate/Collect.h"
#include "compiler/tune/calibrate/Fit.h"
#include "compiler/tune/calibrate/SampleStore.h"
#include "tools/fathom/PlannedModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fathom::tune;

namespace fathom {
namespace {

// Kernels whose share of the model's estimated time is less are passed over.
constexpr double leastShare = 0.01;

void printValidation(ArrayRef<Validation> validations) {
  outs() << "Each kernel by coefficients that were fitted to the others; by pure latencies; by the draft. factor: by "
            "which times are\nwrong, in the geometric mean; order: Spearman's correlation; first: the best time over "
            "that of what is predicted best.\n";
  outs() << formatv("{0,-32} {1,-14} {2,7} {3,24} {4,24} {5,24}\n", "kernel", "class", "samples", "fitted", "latencies",
                    "draft");
  outs() << formatv("{0,-32} {1,-14} {2,7} {3,8}{4,8}{5,8} {3,8}{4,8}{5,8} {3,8}{4,8}{5,8}\n", "", "", "", "factor",
                    "order", "first");
  auto row = [](StringRef name, StringRef klass, size_t samples, ArrayRef<Ranking> rankings) {
    outs() << formatv("{0,-32} {1,-14} {2,7}", name.take_front(32), klass, samples);
    for (const Ranking &ranking : rankings)
      outs() << formatv(" {0,8:f2}{1,8:f3}{2,8:f3}", ranking.factor, ranking.spearman, ranking.first);
    outs() << "\n";
  };
  Ranking means[3] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  size_t samples = 0;
  for (const Validation &one : validations) {
    const Ranking *rankings[] = {&one.fitted, &one.latencies, &one.draft};
    row(printable(one.name), one.kernelClass, one.fitted.samples, {one.fitted, one.latencies, one.draft});
    samples += one.fitted.samples;
    for (auto [mean, ranking] : zip(means, rankings)) {
      mean.factor += ranking->factor / double(validations.size());
      mean.spearman += ranking->spearman / double(validations.size());
      mean.first += ranking->first / double(validations.size());
    }
  }
  row("mean", "", samples, means);
}

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
Expected<int> measureModel(StringRef path, const OptionValues &options, SampleStore &store) {
  PlannedModel model;
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
  Error problem = Error::success();
  size_t without = 0;
  for (auto [i, task] : enumerate(tasks)) {
    showProgress("measure", i, tasks.size());
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

} // namespace

Expected<int> calibrateCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.text("target") == "help")
    return printTargets(options);
  if (arguments.positional.empty() && !options.has("samples"))
    return fail(usageError, "there is nothing to measure and nothing that was measured",
                "give models, or with --samples a file of samples");
  for (const std::string &name : options.all("class"))
    if (none_of(allKernelClasses(), [&](const KernelClass *known) { return known->name == name; }))
      return fail(usageError, "there is no class of kernels '" + name + "'", "'fathom plan knobs' lists them");
  auto target = parseTarget(options.text("target"));
  if (!target)
    return fail(ErrorCode::BadTarget, toString(target.takeError()));
  // Without models, what the samples are of is what they say.
  bool measures = !arguments.positional.empty();
  std::string file = options.text("samples");
  auto store = measures ? SampleStore::open(file, target->spelling(), int(options.integer("tune-threads")))
                        : SampleStore::read(file);
  if (!store)
    return store.takeError();
  for (const std::string &path : arguments.positional) {
    Expected<int> exitCode = measureModel(path, options, *store);
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
  std::vector<Validation> validations = crossValidate(samples);
  calibration.score->source =
      formatv("fathom calibrate: {0} schedules of {1} kernels", samples.size(), byKernel(samples).size());
  if (options.has("output"))
    if (Error error =
            writeFile(options.text("output"), [&](raw_ostream &out) { out << printCalibration(calibration); }))
      return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  if (options.flag("json")) {
    json::Array kernels;
    for (const Validation &one : validations)
      kernels.push_back(describe(one));
    printJson(json::Object{{"samples", int64_t(samples.size())},
                           {"score", describe(*calibration.score)},
                           {"kernels", std::move(kernels)}},
              /*oneLine=*/true);
    return 0;
  }
  if (validations.empty())
    notes() << "with one kernel there is nothing to validate the fit with\n";
  else
    printValidation(validations);
  outs() << printCalibration(calibration);
  return 0;
}

} // namespace fathom
