// Choices as entries: a site is a knob by its kind and its place among all sites, an alternative the knob's value.
#include "compiler/tune/ChoiceEntries.h"

#include "compiler/target/MachineFile.h"
#include "compiler/tune/Verdicts.h"
#include <chrono>

using namespace mlir;

namespace fathom::tune {

static std::string knobOf(const Site &site, size_t place) { return (name(site.kind) + "." + Twine(place)).str(); }

std::string choiceKey(const Program &proposed, ArrayRef<Site> sites, const CodegenOptions &options) {
  std::vector<Tuned> kernels;
  for (const TaskUse &use : tasksOf(proposed, options)) {
    kernels.emplace_back().key = use.task->key().str();
    kernels.back().kernels = use.kernels;
  }
  std::string text = keyInModel(modelHash(kernels), "choices");
  for (const Site &site : sites) {
    text += ("\n" + name(site.kind)).str();
    for (const Alternative &one : site.alternatives)
      text += " " + one.name;
  }
  return text;
}

llvm::Expected<bool> hasChoices(ScheduleDatabase &database, const Target &target, FloatMode fp) {
  bool any = false;
  Filter filter{choiceClass.str(), target.spelling(), generatorVersion.str(), fathom::name(fp).str()};
  if (llvm::Error error = database.visit(filter, [&](const Entry &) { return any = true, llvm::Error::success(); }))
    return std::move(error);
  return any;
}

llvm::Expected<std::optional<ChosenModel>> knownChoices(ScheduleDatabase &database, StringRef key, ArrayRef<Site> sites,
                                                        const Target &target, const Request &request) {
  Lookup lookup{key.str(),         choiceClass.str(),
                target.spelling(), generatorVersion.str(),
                request.fp,        hashOf(printMachineFile(target)),
                request.runThreads};
  auto entry = database.best(lookup);
  if (!entry)
    return entry.takeError();
  if (!*entry)
    return std::nullopt;
  ChosenModel model;
  model.entry = (*entry)->id();
  model.isMeasured = (*entry)->samples > 0;
  for (auto [place, site] : llvm::enumerate(sites)) {
    ChosenSite &one = model.sites.emplace_back(ChosenSite{site, site.proposed});
    const Schedule &knobs = (*entry)->schedule;
    std::string knob = knobOf(site, place);
    if (size_t taken = knobs.has(knob) ? size_t(knobs.value(knob)) : SIZE_MAX; taken < site.alternatives.size())
      one.taken = taken;
  }
  return model;
}

llvm::Error keepChoices(ScheduleDatabase &database, StringRef key, ChosenModel &model, const Target &target,
                        const Request &request) {
  Entry entry;
  entry.kernel = key.str(), entry.kernelClass = choiceClass.str();
  entry.target = target.spelling(), entry.machine = hashOf(printMachineFile(target));
  entry.generator = generatorVersion.str(), entry.fp = request.fp, entry.threads = request.runThreads;
  for (auto [place, one] : llvm::enumerate(model.sites))
    if (one.isChanged())
      entry.schedule.set(knobOf(one.site, place), int64_t(one.taken));
  llvm::sort(entry.schedule.knobs);
  if (model.isMeasured)
    entry.found = Found::Measured, entry.samples = 1, entry.nanoseconds = model.takenCost;
  else
    entry.found = Found::Static, entry.cycles = model.takenCost;
  entry.time =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  entry.provenance = "choices in the model " + request.model;
  if (llvm::Error error = database.insert(entry))
    return error;
  model.entry = entry.id();
  return llvm::Error::success();
}

} // namespace fathom::tune
