// Decisions by estimated cost.
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/plan/AttentionChoice.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/DraftAlgorithms.h"
#include "compiler/plan/JoinedPhases.h"
#include <map>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class DraftChooser final : public Chooser {
public:
  explicit DraftChooser(const Target &target)
      : target(target), hasAttention(backendOf(target).has(Algorithm::Attention)) {}

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
  bool fuses(const Attention &attention) override { return hasAttention && isWorthFusing(attention); }
  FailureOr<int64_t> panelWidth(Operation *, const KernelClass &klass, Operation *anchor) override {
    return klass.family.panelWidth(best(klass.family, anchor));
  }

  bool placesByCost() const override { return true; }
  Placing placing(Value, ConcatOp) override { return Placing::IfPossible; }
  bool copies(SliceOp) override { return false; }

  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override { return fuseOps(main, target); }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override {
    auto [known, isNew] = schedules.try_emplace(kernel.text);
    ScheduleChoice &choice = known->second;
    if (isNew) {
      choice.schedule = best(kernel.kernelClass.family, kernel.site());
      choice.versions = chooseVersions(kernel.function, kernel.kernelClass, kernel.anchor, target, choice.schedule);
    }
    return choice;
  }

private:
  // What an op and its kernel have in common, whatever was decided in between.
  static size_t kindOf(Operation *op) {
    llvm::hash_code kind = llvm::hash_value(op->getName().getAsOpaquePointer());
    for (Type type : op->getOperandTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        kind = llvm::hash_combine(kind, tensor.getElementType(), llvm::hash_combine_range(tensor.getShape()));
    return kind;
  }

  // The best schedule. Once the width of an op's panels is decided, its kernel is searched again only if what it is
  // fused with changes the problem; layers that are repeated are searched once.
  Schedule best(const Family &family, Operation *op) {
    std::unique_ptr<Space> space = family.spaceOf(op, target);
    std::vector<Search> &alike = searches[{&family, kindOf(op)}];
    for (const Search &search : alike)
      if (space->isWithin(*search.space) && space->violation(search.best).empty())
        return search.best;
    Schedule best = space->best();
    if (family.panelWidth(best))
      alike.push_back({std::move(space), best});
    return best;
  }

  struct Search {
    std::unique_ptr<Space> space;
    Schedule best;
  };

  const Target &target;
  bool hasAttention;
  std::map<std::pair<const Family *, size_t>, std::vector<Search>> searches;
  llvm::StringMap<ScheduleChoice> schedules; // by the function's text
};

} // namespace

std::unique_ptr<Chooser> draftChooser(const Target &target) { return std::make_unique<DraftChooser>(target); }

} // namespace fathom
