// Decisions by estimated cost.
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/plan/AttentionChoice.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/DraftAlgorithms.h"
#include "compiler/plan/JoinedPhases.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class DraftChooser final : public Chooser {
public:
  explicit DraftChooser(const Target &target) : target(target) {}

  TransposedForm form(ConvTransposeOp op, const AlgorithmOptions &) override {
    if (takesProductOfPixel(op))
      return TransposedForm::ProductOfPixel;
    bool joins = takesJoinedPhases(op) && gainsFromJoinedPhases(op, target);
    return joins ? TransposedForm::JoinedPhases : TransposedForm::Itself;
  }
  FailureOr<std::vector<AlgorithmChoice>> algorithms(func::FuncOp main, const AlgorithmOptions &options) override {
    return draftAlgorithms(main, target, options);
  }

  FailureOr<LayoutChoice> layout(Value, LayoutChoice natural) override { return natural; }
  bool fuses(const Attention &attention) override { return isWorthFusing(attention); }
  FailureOr<int64_t> panelWidth(Operation *, const KernelClass &klass, Operation *anchor) override {
    return klass.family.panelWidth(klass.family.spaceOf(anchor, target)->best());
  }

  bool placesByCost() const override { return true; }
  Placing placing(Value, ConcatOp) override { return Placing::IfPossible; }
  bool copies(SliceOp) override { return false; }

  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override {
    return fuseOps(main, backendOf(target), &target);
  }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override {
    auto [known, isNew] = schedules.try_emplace(kernel.text);
    ScheduleChoice &choice = known->second;
    if (isNew) {
      choice.schedule = kernel.kernelClass.family.spaceOf(kernel.site(), target)->best();
      choice.versions = chooseVersions(kernel.function, kernel.kernelClass, kernel.anchor, target, choice.schedule);
    }
    return choice;
  }

private:
  const Target &target;
  llvm::StringMap<ScheduleChoice> schedules; // by the function's text
};

} // namespace

std::unique_ptr<Chooser> draftChooser(const Target &target) { return std::make_unique<DraftChooser>(target); }

} // namespace fathom
