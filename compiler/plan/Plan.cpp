// The Plan's text form, in YAML.
#include "compiler/plan/Plan.h"

#include "compiler/kernel/KernelClass.h"
#include "compiler/support/YamlText.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace fathom;

LLVM_YAML_IS_SEQUENCE_VECTOR(PlannedLayout)
LLVM_YAML_IS_SEQUENCE_VECTOR(PlannedKernel)
LLVM_YAML_IS_SEQUENCE_VECTOR(PlannedChoice)
LLVM_YAML_IS_SEQUENCE_VECTOR(Version)

namespace llvm::yaml {

template <> struct CustomMappingTraits<Schedule> {
  static void inputOne(IO &io, StringRef key, Schedule &schedule) {
    int64_t value = 0;
    io.mapRequired(key.str().c_str(), value);
    schedule.set(key, value);
  }
  static void output(IO &io, Schedule &schedule) {
    for (auto &[name, value] : schedule.knobs)
      io.mapRequired(name.c_str(), value);
  }
};

template <> struct MappingTraits<PlannedLayout> {
  static const bool flow = true;
  static void mapping(IO &io, PlannedLayout &layout) {
    io.mapRequired("value", layout.value);
    io.mapRequired("order", layout.order);
    io.mapOptional("halo", layout.halo);
    io.mapOptional("within", layout.within, std::string());
  }
};

template <> struct MappingTraits<PlannedChoice> {
  static const bool flow = true;
  static void mapping(IO &io, PlannedChoice &choice) {
    io.mapRequired("op", choice.op);
    io.mapRequired("choice", choice.kind);
    io.mapRequired("take", choice.take);
  }
};

template <> struct MappingTraits<Version> {
  static void mapping(IO &io, Version &version) {
    io.mapRequired("up_to", version.upTo);
    io.mapRequired("schedule", version.schedule);
  }
};

template <> struct MappingTraits<PlannedKernel> {
  static void mapping(IO &io, PlannedKernel &kernel) {
    io.mapRequired("kernel", kernel.name);
    io.mapRequired("class", kernel.kernelClass);
    io.mapRequired("ops", kernel.ops);
    io.mapRequired("schedule", kernel.schedule);
    io.mapOptional("versions", kernel.versions);
  }
};

template <> struct MappingTraits<Plan> {
  static void mapping(IO &io, Plan &plan) {
    int version = planVersion;
    io.mapRequired("fathom-plan", version);
    if (version < 1 || version > planVersion)
      io.setError("plan version " + Twine(version) + " is none of 1 to " + Twine(planVersion));
    plan.version = version;
    io.mapRequired("target", plan.target);
    io.mapOptional("choices", plan.choices);
    io.mapOptional("layouts", plan.layouts);
    if (io.outputting() || plan.choices.empty())
      io.mapRequired("kernels", plan.kernels);
    else
      io.mapOptional("kernels", plan.kernels);
  }
};

} // namespace llvm::yaml

namespace fathom {

PlanIndex::PlanIndex(const Plan &plan) {
  // An op that several kernels list is refused with the groups; until then it is of the first.
  for (const PlannedKernel &kernel : plan.kernels)
    for (const std::string &op : kernel.ops)
      kernels.try_emplace(op, &kernel);
  for (const PlannedLayout &layout : plan.layouts)
    layouts.try_emplace(layout.value, &layout);
}

// Knobs that a plan of an older version could not have.
static void addNewerKnobs(Schedule &schedule, const Family &family, int version) {
  Schedule initial = family.initial();
  for (const Knob &knob : family.knobs())
    if (knob.since > version && !schedule.has(knob.name))
      schedule.set(knob.name, initial.value(knob.name));
}

std::string printPlan(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::yaml::Output yaml(out, nullptr, /*WrapColumn=*/0);
  yaml << const_cast<Plan &>(plan);
  return text;
}

llvm::Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef fileName) {
  llvm::Expected<Plan> parsed = parseYaml<Plan>(text, fileName, "plan");
  if (!parsed)
    return parsed;
  Plan &plan = *parsed;
  for (PlannedKernel &kernel : plan.kernels) {
    const KernelClass *klass = findKernelClass(kernel.kernelClass);
    auto complete = [&](Schedule &schedule) {
      if (klass)
        addNewerKnobs(schedule, klass->family, plan.version);
      // They come in the order of a hash table, which is another one for the same names.
      llvm::sort(schedule.knobs);
    };
    complete(kernel.schedule);
    for (Version &version : kernel.versions)
      complete(version.schedule);
  }
  llvm::StringSet<> values;
  for (const PlannedLayout &layout : plan.layouts)
    if (!values.insert(layout.value).second)
      return llvm::createStringError("plan '%s' gives '%s' two layouts", fileName.str().c_str(), layout.value.c_str());
  return parsed;
}

} // namespace fathom
