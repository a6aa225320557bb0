// Looks at the graph between the passes: its ops, its features, and its hash.
#include "tools/fathom/passes/PassReport.h"

#include "compiler/driver/Compilation.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/GraphHash.h"
#include "compiler/passes/select/Classes.h"
#include "compiler/passes/select/Rules.h"
#include "compiler/support/LargeStack.h"
#include "tools/fathom/passes/AskedModel.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;

namespace fathom {
namespace {

// Ops by name; constants are no ops.
using Counts = std::map<std::string, int64_t>;

Counts countOps(mlir::ModuleOp module) {
  Counts counts;
  module.walk([&](mlir::Operation *op) {
    if (!op->hasTrait<mlir::OpTrait::ConstantLike>() && !op->hasTrait<mlir::OpTrait::IsTerminator>() &&
        !isa<mlir::ModuleOp, mlir::func::FuncOp>(op))
      ++counts[op->getName().stripDialect().str()];
  });
  return counts;
}

struct Step {
  std::string pass;
  double seconds;
  std::string unchanged; // why it could not change anything; empty: it could
  bool isChanged;
  uint64_t hash; // of the graph behind it
  Counts before, after;
};

// Told of every pass that has run.
class Observer {
public:
  explicit Observer(mlir::ModuleOp module) : module(module) { look(); }

  void ran(StringRef pass, double seconds) {
    Step step{pass.str(), seconds, whyUnchanged(pass, features), false, hash, counts, {}};
    uint64_t before = hash;
    look();
    step.isChanged = hash != before, step.hash = hash, step.after = counts;
    steps.push_back(std::move(step));
  }

  uint64_t graphHash() const { return hash; }

  std::vector<Step> steps;

private:
  void look() { hash = hasher.of(module), features = featuresOf(module), counts = countOps(module); }

  mlir::ModuleOp module;
  GraphHash hasher;
  uint64_t hash;
  GraphFeatures features;
  Counts counts;
};

// Ops of which there are more or fewer, as numbers before and after.
std::vector<std::tuple<std::string, int64_t, int64_t>> differences(const Step &step) {
  std::vector<std::tuple<std::string, int64_t, int64_t>> all;
  auto count = [](const Counts &counts, const std::string &name) {
    auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  };
  Counts names = step.before;
  names.insert(step.after.begin(), step.after.end());
  for (const auto &[name, ignored] : names)
    if (int64_t before = count(step.before, name), after = count(step.after, name); before != after)
      all.emplace_back(name, before, after);
  return all;
}

std::string describe(const Step &step) {
  if (!step.isChanged)
    return step.unchanged.empty() ? "nothing to do" : "not applicable: " + step.unchanged;
  std::string text;
  for (const auto &[name, before, after] : differences(step))
    text += formatv("{0}{1} {2} -> {3}", text.empty() ? "" : ", ", name, before, after);
  return text.empty() ? "operands, attributes or types" : text;
}

json::Object describeForPrograms(const Step &step) {
  json::Object ops;
  for (const auto &[name, before, after] : differences(step))
    ops[name] = json::Array{before, after};
  return json::Object{
      {"pass", step.pass},           {"seconds", step.seconds},   {"applicable", step.unchanged.empty()},
      {"reason", step.unchanged},    {"changed", step.isChanged}, {"ops", std::move(ops)},
      {"hash", utohexstr(step.hash)}};
}

struct Report {
  uint64_t hash; // of the graph in front of all
  std::vector<Step> steps;
  std::vector<std::pair<std::string, std::string>> idle; // passes that were left out, and why
};

void print(const Report &report) {
  size_t width = 4;
  double total = 0;
  for (const Step &step : report.steps)
    width = std::max(width, step.pass.size()), total += step.seconds;
  outs() << left_justify("pass", width) << "        ms  what it changed\n";
  for (const Step &step : report.steps)
    outs() << left_justify(step.pass, width) << formatv("  {0,8:f2}  ", 1e3 * step.seconds) << describe(step) << "\n";
  outs() << left_justify("all", width) << formatv("  {0,8:f2}\n", 1e3 * total);
  for (const auto &[pass, why] : report.idle)
    outs() << "left out: " << pass << ", as " << why << "\n";
}

mlir::LogicalResult runPasses(mlir::ModuleOp module, const CompileOptions &options, Report &report) {
  mlir::FailureOr<Pipeline> pipeline = pipelineFor(options, module.getLoc());
  auto compilation = Compilation::begin(options, module.getLoc());
  if (failed(pipeline) || failed(compilation))
    return mlir::failure();
  PassContext &context = (*compilation)->context;
  (*compilation)->describe(module, *pipeline);
  GraphFeatures features = featuresOf(module);
  for (StringRef pass : pipeline->names())
    if (context.idle.erase(pass))
      report.idle.emplace_back(pass, whyUnchanged(pass, features));
  for (const auto &[pass, why] : report.idle)
    context.idle.insert(pass);
  Observer observer(module);
  report.hash = observer.graphHash();
  context.onPass = [&](StringRef pass, double seconds) { observer.ran(pass, seconds); };
  mlir::LogicalResult result = pipeline->run(module, context);
  report.steps = std::move(observer.steps);
  return result;
}

} // namespace

Expected<int> explainPasses(StringRef model, const OptionValues &options) {
  AskedModel asked(model, options);
  if (!asked.module)
    return asked.log.exitCode();
  auto pipeline = pipelineFor(asked.options, asked.module->getLoc());
  if (failed(pipeline))
    return asked.log.exitCode();
  std::vector<NetworkClass> classes = classesOf(*asked.module);
  GraphFeatures features = featuresOf(*asked.module);
  std::vector<StringRef> idle = idlePasses(pipeline->names(), features);
  if (options.flag("json")) {
    json::Object kinds, reasons;
    for (const NetworkClass &one : classes)
      kinds[one.name] = one.why;
    for (StringRef pass : idle)
      reasons[pass] = whyUnchanged(pass, features);
    printJson(json::Object{{"model", model}, {"classes", std::move(kinds)}, {"idle", std::move(reasons)}},
              /*oneLine=*/true);
    return 0;
  }
  for (const NetworkClass &one : classes)
    outs() << formatv("class {0} ({1}): {2}\n", one.name, one.meaning, one.why);
  if (classes.empty())
    outs() << "of no class that is known\n";
  for (StringRef pass : idle)
    outs() << pass << " cannot change it: " << whyUnchanged(pass, features) << ", and no pass makes any\n";
  return 0;
}

Expected<int> reportPasses(StringRef model, const OptionValues &options) {
  AskedModel asked(model, options);
  if (!asked.module)
    return asked.log.exitCode();
  Report report;
  mlir::LogicalResult result = mlir::failure();
  onLargeStack([&] { result = runPasses(*asked.module, asked.options, report); });
  if (failed(result))
    return asked.log.exitCode();
  if (!options.flag("json"))
    return print(report), 0;
  json::Array steps;
  for (const Step &step : report.steps)
    steps.push_back(describeForPrograms(step));
  json::Object idle;
  for (const auto &[pass, why] : report.idle)
    idle[pass] = why;
  printJson(json::Object{{"model", model},
                         {"hash", utohexstr(report.hash)},
                         {"passes", std::move(steps)},
                         {"left_out", std::move(idle)}},
            /*oneLine=*/true);
  return 0;
}

} // namespace fathom
