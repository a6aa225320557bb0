// fathom tune: finds faster schedules for a model's kernels and tells what was gained.
#include "tools/fathom/compile/CompileCommand.h"
#include "tools/fathom/tune/TuneOnRay.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include <csignal>

using namespace llvm;

namespace fathom {
namespace {

constexpr int interrupted = 128 + SIGINT; // as shells have it

json::Value describe(const std::optional<tune::KernelInPlace> &inPlace) {
  if (!inPlace)
    return nullptr;
  return json::Object{{"planned_ns", inPlace->plannedNs}, {"best_ns", inPlace->bestNs}, {"taken", inPlace->isTaken}};
}

json::Object describe(const tune::Tuned &kernel) {
  auto schedule = [](const Schedule &knobs) {
    json::Object object;
    for (const auto &[name, value] : knobs.knobs)
      object[name] = value;
    return object;
  };
  return json::Object{{"kernel", kernel.kernel},
                      {"class", kernel.kernelClass},
                      {"uses", int64_t(kernel.uses)},
                      {"from", kernel.from},
                      {"trials", int64_t(kernel.trials)},
                      {"failed", int64_t(kernel.failed)},
                      {"known", int64_t(kernel.known)},
                      {"planned_cost", kernel.plannedCost},
                      {"best_cost", kernel.bestCost},
                      {"in_place", describe(kernel.inPlace)},
                      {"planned", schedule(kernel.planned)},
                      {"best", schedule(kernel.best)}};
}

// Planned over best in the model.
std::string spell(const std::optional<tune::KernelInPlace> &inPlace) {
  if (!inPlace)
    return "";
  return formatv("{0:f3}{1}", inPlace->plannedNs / inPlace->bestNs, inPlace->isTaken ? "" : " no").str();
}

json::Value describe(const std::optional<tune::ChosenModel> &model) {
  if (!model)
    return nullptr;
  json::Array sites;
  for (const tune::ChosenSite &one : model->sites)
    sites.push_back(json::Object{{"op", one.site.op},
                                 {"choice", name(one.site.kind)},
                                 {"proposed", one.site.alternatives[one.site.proposed].name},
                                 {"taken", one.site.alternatives[one.taken].name},
                                 {"proposed_cost", one.proposedCost},
                                 {"taken_cost", one.takenCost}});
  return json::Object{{"sites", std::move(sites)},
                      {"measured", model->isMeasured},
                      {"entry", model->entry},
                      {"proposed_cost", model->proposedCost},
                      {"taken_cost", model->takenCost}};
}

// Sites that took something else, with what the kernels around them cost in thousands of nanoseconds, or of cycles.
void printChoices(const tune::ChosenModel &model) {
  size_t changed = model.made().size();
  bool isKnown = model.proposedCost <= 0; // from an earlier run, which compared
  outs() << formatv("choices: {0} of {1} sites take what was not proposed{2}\n", changed, model.sites.size(),
                    isKnown ? ", as the database has it" : "");
  if (!changed)
    return;
  outs() << formatv("{0,-40} {1,-10} {2,-20} {3,-20} {4,12} {5,12} {6,7}\n", "site", "choice", "proposed", "taken",
                    "proposed", "taken", "ratio");
  for (const tune::ChosenSite &one : model.sites) {
    if (!one.isChanged())
      continue;
    outs() << formatv("{0,-40} {1,-10} {2,-20} {3,-20}", printable(one.site.op).substr(0, 40), name(one.site.kind),
                      one.site.alternatives[one.site.proposed].name, one.site.alternatives[one.taken].name);
    if (!isKnown)
      outs() << formatv(" {0,12:f1} {1,12:f1} {2,7:f3}", one.proposedCost / 1e3, one.takenCost / 1e3,
                        one.proposedCost / one.takenCost);
    outs() << "\n";
  }
  if (!isKnown)
    outs() << formatv("the whole model: {0:f1} {2} proposed, {1:f1} chosen, ratio {3:f3}\n", model.proposedCost / 1e3,
                      model.takenCost / 1e3, model.isMeasured ? "us" : "kcycles", model.proposedCost / model.takenCost);
}

// Costs are in thousands of nanoseconds, or of cycles.
void printTable(ArrayRef<tune::Tuned> kernels, StringRef unit) {
  outs() << formatv("{0,-40} {1,-14} {2,5} {3,7} {4,7} {5,12} {6,12} {7,7} {8,9}\n", "kernel", "class", "uses",
                    "trials", "known", "planned", "found", "ratio", "in place");
  double planned = 0, best = 0;
  for (const tune::Tuned &kernel : kernels) {
    if (!kernel.trials)
      continue;
    double uses = double(kernel.uses);
    if (kernel.failed)
      notes() << kernel.kernel << ": " << kernel.failed << " candidates failed, the last one "
              << printable(kernel.problem) << "\n";
    planned += kernel.plannedCost * uses, best += kernel.bestCost * uses;
    outs() << formatv("{0,-40} {1,-14} {2,5} {3,7} {4,7} {5,12:f1} {6,12:f1} {7,7:f3} {8,9}\n",
                      StringRef(kernel.kernel).take_front(40), kernel.kernelClass, kernel.uses, kernel.trials,
                      kernel.known, kernel.plannedCost / 1e3, kernel.bestCost / 1e3,
                      kernel.plannedCost / kernel.bestCost, spell(kernel.inPlace));
  }
  if (best > 0)
    outs() << formatv("all of them, as often as they are used: {0:f1} {3} planned, {1:f1} found, ratio {2:f3}\n",
                      planned / 1e3, best / 1e3, planned / best, unit);
}

} // namespace

Expected<int> tuneCommand(const Arguments &arguments) {
  OptionValues options = arguments.options;
  // The plan is what there is to write; without a file for it, it goes nowhere.
  if (Error error = options.set(*findOption("emit", CompileBit), "plan"))
    return std::move(error);
  if (!options.has("tune"))
    if (Error error = options.set(*findOption("tune", TuneBit), "measure"))
      return std::move(error);
  if (std::string mode = options.text("tune"); mode == "off" || mode == "draft")
    return fail(usageError, "there is nothing to tune with --tune " + mode,
                "give --tune static or measure, or leave it out");
  if (options.has("ray"))
    return tuneOnRay(arguments);
  for (StringRef name : {"ray-tasks", "ray-cpus"})
    if (options.has(name))
      return fail(usageError, "option --" + name + " is for tuning on a cluster", "name it with --ray ADDRESS");
  CompileReport report;
  std::string output = options.has("output") ? options.text("output") : "/dev/null";
  static Cancellation stop;
  sys::SetInterruptFunction([] { stop.cancel(); });
  if (int exitCode = compileTo(arguments.positional[0], output, options, TuneBit, report, &stop))
    return exitCode;
  if (options.flag("json")) {
    json::Array kernels;
    for (const tune::Tuned &kernel : report.tuned)
      kernels.push_back(describe(kernel));
    json::Value model = nullptr, sources = nullptr;
    if (report.sources) {
      json::Object scores;
      for (const tune::SourceScore &source : report.sources->scores)
        scores[source.model] = source.score;
      sources = json::Object{{"chosen", report.sources->isWholePool ? "all" : report.sources->chosen},
                             {"scores", std::move(scores)}};
    }
    if (report.inPlace)
      model = json::Object{{"planned_ns", report.inPlace->plannedNs}, {"chosen_ns", report.inPlace->chosenNs}};
    printJson(json::Object{{"kernels", std::move(kernels)},
                           {"model", std::move(model)},
                           {"sources", std::move(sources)},
                           {"choices", describe(report.chosen)}},
              /*oneLine=*/true);
  } else {
    if (report.sources)
      printSources(*report.sources, outs());
    if (report.chosen)
      printChoices(*report.chosen);
    printTable(report.tuned, options.text("tune").substr(0, 7) == "measure" ? "us" : "kcycles");
    if (report.inPlace)
      outs() << formatv("the whole model: {0:f1} us planned, {1:f1} us with what it keeps, ratio {2:f3}\n",
                        report.inPlace->plannedNs / 1e3, report.inPlace->chosenNs / 1e3,
                        report.inPlace->plannedNs / report.inPlace->chosenNs);
  }
  if (!stop.isCancelled())
    return 0;
  notes() << "stopped; what was measured is in the database, and the same command goes on from there\n";
  return interrupted;
}

} // namespace fathom
