// Decisions that do not go by cost: products and convolutions as they are written, and a fixed schedule for each class.
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/FixedSchedule.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/DraftAlgorithms.h"
#include "compiler/plan/JoinedPhases.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class OffChooser final : public Chooser {
public:
  explicit OffChooser(const Target &target) : target(target), plain(plainMachine(target)) {}

  TransposedForm form(ConvTransposeOp op, const AlgorithmOptions &) override {
    return takesProductOfPixel(op) ? TransposedForm::ProductOfPixel : TransposedForm::Itself;
  }
  FailureOr<std::vector<AlgorithmChoice>> algorithms(func::FuncOp main, const AlgorithmOptions &given) override {
    AlgorithmOptions options = given;
    for (std::string *algorithm : {&options.convolution, &options.product})
      if (*algorithm == "auto")
        *algorithm = "contract";
    return draftAlgorithms(main, plain, options);
  }

  FailureOr<LayoutChoice> layout(Value, LayoutChoice natural) override { return natural; }
  bool fuses(const Attention &) override { return false; }
  FailureOr<int64_t> panelWidth(Operation *, const KernelClass &klass, Operation *anchor) override {
    return klass.family.panelWidth(fixed(klass, anchor));
  }

  bool placesByCost() const override { return true; }
  Placing placing(Value, ConcatOp) override { return Placing::IfPossible; }
  bool copies(SliceOp) override { return false; }

  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override { return fuseOps(main, plain); }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override {
    auto [known, isNew] = schedules.try_emplace(kernel.text);
    if (isNew)
      known->second.schedule = fixed(kernel.kernelClass, kernel.site());
    return known->second;
  }

private:
  Schedule fixed(const KernelClass &klass, Operation *site) {
    return legalFixed(klass, *klass.family.spaceOf(site, target), *klass.family.spaceOf(site, plain), target);
  }

  const Target &target;
  Target plain;
  llvm::StringMap<ScheduleChoice> schedules; // by the function's text
};

} // namespace

std::unique_ptr<Chooser> offChooser(const Target &target) { return std::make_unique<OffChooser>(target); }

} // namespace fathom
