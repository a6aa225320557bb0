// fathom plan knobs: what a plan's schedules can say; fathom plan calibration: what its costs are estimated with.
#include "compiler/kernel/KernelClass.h"
#include "compiler/support/NumberText.h"
#include "tools/fathom/Commands.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {

// The page docs/reference/knobs.md.
static void printKnobs(raw_ostream &out) {
  out << "# Knobs\n\n"
         "The numbers of a kernel's schedule in a [plan](../user/plan.md), class by class; `since` is the version of\n"
         "plans that has a knob first. `fathom plan knobs` prints this page.\n";
  for (const KernelClass *klass : allKernelClasses()) {
    out << formatv("\n## {0}\n\n{1}{2}\n\n", klass->name, char(std::toupper(klass->meaning[0])),
                   klass->meaning.drop_front());
    if (!klass->fixed.empty())
      out << "Without tuning: `" << klass->fixed << "`\n\n";
    out << "| knob | from | to | meaning | since |\n|---|---|---|---|---|\n";
    for (const Knob &knob : klass->family.knobs())
      out << formatv("| `{0}` | {1} | {2} | {3} | {4} |\n", knob.name, knob.min, knob.max, knob.meaning, knob.since);
  }
}

// The page docs/reference/calibration.md, with the values that a target has.
static void printCalibration(raw_ostream &out, const Calibration &calibration) {
  out << "# Calibration\n\n"
         "The constants of cost models that no manual gives, and what they were fitted to. The description of a "
         "machine\n"
         "overrides single ones (`calibration: { task-start: 200 }`); `fathom plan calibration` prints this page, "
         "with\n"
         "`--target` the values that a machine has.\n\n"
         "| constant | value | from | to | meaning | source |\n|---|---|---|---|---|---|\n";
  for (const CalibrationField &field : calibrationFields()) {
    double value = calibration.*field.member;
    bool isDefault = value == Calibration::byDefault().*field.member;
    out << formatv("| `{0}` | {1} | {2} | {3} | {4} | {5} |\n", field.name, spellNumber(value), spellNumber(field.min),
                   spellNumber(field.max), field.meaning,
                   isDefault ? calibrationSource(field.name) : "The description of the machine");
  }
}

Expected<int> planCommand(const Arguments &arguments) {
  if (arguments.options.text("target") == "help")
    return printTargets(arguments.options);
  StringRef what = arguments.positional[0];
  bool hasTarget = arguments.options.has("target");
  if (what == "calibration") {
    if (!hasTarget) {
      printCalibration(outs(), Calibration::byDefault());
      return 0;
    }
    auto target = parseTarget(arguments.options.text("target"));
    if (!target)
      return fail(ErrorCode::BadTarget, toString(target.takeError()));
    printCalibration(outs(), target->calibration);
    return 0;
  }
  if (what != "knobs")
    return fail(usageError, "'fathom plan' prints knobs or calibration, not '" + what + "'",
                "'fathom compile MODEL.onnx --emit plan' prints the plan of a model");
  if (hasTarget)
    return fail(usageError, "knobs are the same for all targets", "--target is for 'fathom plan calibration'");
  printKnobs(outs());
  return 0;
}

} // namespace fathom
