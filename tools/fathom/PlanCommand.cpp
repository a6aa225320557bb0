// fathom plan knobs: what a plan's schedules can say.
#include "compiler/kernel/KernelClass.h"
#include "tools/fathom/Commands.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {

// The page docs/reference/knobs.md.
static void printKnobs(raw_ostream &out) {
  out << "# Knobs\n\n"
         "The numbers of a kernel's schedule in a [plan](../user/plan.md), class by class; `since` is the version of "
         "plans "
         "that\nhas a knob first. `fathom plan knobs` prints this page.\n";
  for (const KernelClass *klass : allKernelClasses()) {
    out << formatv("\n## {0}\n\n{1}{2}\n\n| knob | from | to | meaning | since |\n|---|---|---|---|---|\n", klass->name,
                   char(std::toupper(klass->meaning[0])), klass->meaning.drop_front());
    for (const Knob &knob : klass->family.knobs())
      out << formatv("| `{0}` | {1} | {2} | {3} | {4} |\n", knob.name, knob.min, knob.max, knob.meaning, knob.since);
  }
}

Expected<int> planCommand(const Arguments &arguments) {
  if (arguments.positional[0] != "knobs")
    return fail(usageError, "'fathom plan' prints knobs, not '" + arguments.positional[0] + "'",
                "'fathom compile MODEL.onnx --emit plan' prints the plan of a model");
  printKnobs(outs());
  return 0;
}

} // namespace fathom
