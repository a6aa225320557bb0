// Decisions as a plan lists them, checked where they are asked for.
#include "compiler/graph/Layout.h"
#include "compiler/graph/OpNames.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/plan/ConvertLayout.h"
#include "compiler/plan/JoinedPhases.h"
#include "compiler/plan/PlannedAlgorithms.h"
#include "compiler/plan/PlannedChoices.h"
#include "compiler/plan/PlannedGroups.h"
#include "compiler/plan/Sites.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

LogicalResult checkPlanned(Operation *op, const std::optional<AnchorLayouts> &wanted, const PlannedLayout &planned,
                           int64_t rank) {
  SmallVector<int64_t> sorted(planned.order.begin(), planned.order.end());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return emitError(op, ErrorCode::BadPlan)
           << "layout of '" << planned.value << "': order must be a permutation of the " << rank << " dimensions";
  if (!planned.halo.empty() && (int64_t(planned.halo.size()) != 2 * rank ||
                                llvm::any_of(planned.halo, [](int64_t h) { return h < 0 || h > 1024; })))
    return emitError(op, ErrorCode::BadPlan)
           << "layout of '" << planned.value << "': halo must have " << 2 * rank << " entries between 0 and 1024";
  if (wanted && wanted->writesPixels && planned.order.back() != 1)
    return emitError(op, ErrorCode::BadPlan)
           << "layout of '" << planned.value << "': a convolution writes channels innermost";
  if (wanted && !wanted->writesPixels && planned.order.back() != rank - 1)
    return emitError(op, ErrorCode::BadPlan)
           << "layout of '" << planned.value << "': a matrix product writes columns innermost";
  return success();
}

// A value that never leaves its kernel has no buffer, so that what a plan says of its layout would be ignored: there is
// no halo, and only an anchor's order decides how loops run.
LogicalResult checkUnstoredLayouts(ArrayRef<FusionGroup> groups) {
  for (const FusionGroup &group : groups)
    for (Operation *op : ArrayRef(group).drop_back()) {
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !llvm::is_contained(group, user); }))
        continue;
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      auto refuse = [&](const Twine &why) {
        return emitError(op, ErrorCode::BadPlan) << "layout of '" << opName(op) << "': " << why.str() << ", as kernel '"
                                                 << opName(group.back()) << "' never stores this value";
      };
      if (layoutOf(type).hasHalo())
        return refuse("the halo must be empty");
      // The scores inside an attention do not decide how its loops run.
      bool isScores = isa<MatMulOp>(op) && llvm::any_of(group, [&](Operation *other) {
                        std::optional<Attention> attention = attentionOf(other);
                        return attention && attention->scores == op;
                      });
      SmallVector<int64_t> order =
          isScores ? llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())) : flowingOrder(op, type);
      // Where an elementwise op changes the order, the result has the new one.
      bool hasOrderOfResult = op->hasTrait<Elementwise>() &&
                              orderOf(type) == orderOf(cast<RankedTensorType>(group.back()->getResult(0).getType()));
      if ((isAnchor(op) && !isScores) || isa<RelayoutOp>(op) || orderOf(type) == order || hasOrderOfResult)
        continue;
      std::string text;
      llvm::interleave(order, [&](int64_t d) { text += std::to_string(d); }, [&] { text += ", "; });
      return refuse("the order must be that of what it is made from, [ " + text + " ]");
    }
  return success();
}

// A choice of fusion that the plan's kernels do not have.
LogicalResult checkFusion(ArrayRef<FusionGroup> groups, const Plan &plan) {
  llvm::StringMap<StringRef> chosen;
  for (const PlannedChoice &choice : plan.choices)
    if (choice.kind == name(SiteKind::Fusion))
      chosen[choice.op] = choice.take;
  for (const FusionGroup &group : groups)
    for (Operation *op : group) {
      StringRef wanted = chosen.lookup(opName(op)), is = isTogether(op, group) ? together : apart;
      if (!wanted.empty() && wanted != is)
        return hint(emitError(op, ErrorCode::BadPlan) << "fusion of '" << opName(op) << "': '" << wanted
                                                      << "' is not what its kernel is, but '" << is << "'",
                    "a plan's kernels decide; take this choice out, or take out all layouts and kernels");
    }
  return success();
}

class PlanChooser final : public Chooser {
public:
  PlanChooser(const Plan &plan, const Target &target)
      : plan(plan), index(plan), target(target), backend(backendOf(target)) {}

  TransposedForm form(ConvTransposeOp op, const AlgorithmOptions &) override {
    auto isPlanned = [&](StringRef suffix) { return index.kernelOf((opName(op) + suffix).str()) != nullptr; };
    if (takesProductOfPixel(op) && isPlanned(".taps"))
      return TransposedForm::ProductOfPixel;
    return takesJoinedPhases(op) && isPlanned(".phases") ? TransposedForm::JoinedPhases : TransposedForm::Itself;
  }
  FailureOr<std::vector<AlgorithmChoice>> algorithms(func::FuncOp main, const AlgorithmOptions &options) override {
    return plannedAlgorithms(main, index, options);
  }

  FailureOr<LayoutChoice> layout(Value result, LayoutChoice natural) override {
    Operation *op = result.getDefiningOp();
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    if (const PlannedLayout *planned = index.layoutOf(opName(op))) {
      heeded.insert(planned->value);
      if (failed(checkPlanned(op, backend.layoutsOf(op, target), *planned, rank)))
        return failure();
      return LayoutChoice{llvm::to_vector(planned->order), llvm::to_vector(planned->halo)};
    }
    if (cast<OpResult>(result).getResultNumber() != 0)
      return natural;
    // A plan lists every layout that is not row-major.
    LayoutChoice rows{llvm::to_vector(llvm::seq<int64_t>(0, rank)), {}};
    if (natural.order == rows.order)
      return rows;
    if (std::optional<AnchorLayouts> wanted = backend.layoutsOf(op, target); wanted && wanted->writesPixels)
      return emitError(op, ErrorCode::BadPlan)
             << "the plan gives '" << opName(op) << "' no layout, and a convolution writes channels innermost";
    return rows;
  }
  bool fuses(const Attention &attention) override {
    return index.kernelOf(opName(attention.scores)) == index.kernelOf(opName(attention.product));
  }
  FailureOr<int64_t> panelWidth(Operation *op, const KernelClass &klass, Operation *anchor) override {
    const PlannedKernel *planned = index.kernelOf(opName(op));
    // An op that no kernel computes is refused with the groups.
    if (!planned)
      return klass.family.panelWidth(klass.family.spaceOf(anchor, target)->best());
    if (llvm::Error error = checkSchedule(klass, planned->schedule, anchor, target))
      return refuse(op, *planned, llvm::toString(std::move(error)));
    return klass.family.panelWidth(planned->schedule);
  }
  LogicalResult endLayouts(Location loc) override {
    for (const PlannedLayout &layout : plan.layouts)
      if (!heeded.contains(layout.value) && layout.within.empty())
        return emitError(loc, ErrorCode::BadPlan)
               << "layout of '" << layout.value
               << "': no op of the graph has this name, or it is an input, a constant or a view, which have none";
    return success();
  }

  bool placesByCost() const override { return false; }
  Placing placing(Value root, ConcatOp whole) override {
    const PlannedLayout *layout = root.getDefiningOp() ? index.layoutOf(opName(root.getDefiningOp())) : nullptr;
    if (!layout || layout->within != opName(whole))
      return Placing::Never;
    placed.insert(layout->value);
    return Placing::Always;
  }
  // A relayout has the layout that its reader needs, whatever a plan says.
  bool isAsChosen(Value root) override {
    const PlannedLayout *planned = index.layoutOf(opName(root.getDefiningOp()));
    Layout layout = layoutOf(cast<RankedTensorType>(root.getType()));
    SmallVector<int64_t> halo;
    for (size_t d = 0; d < layout.haloLow.size() && layout.hasHalo(); ++d)
      halo.append({layout.haloLow[d], layout.haloHigh[d]});
    return llvm::equal(planned->order, layout.order) && llvm::equal(planned->halo, halo);
  }
  // Those that are kernels.
  bool copies(SliceOp slice) override { return index.kernelOf(opName(slice)) != nullptr; }
  LogicalResult endPieces(Location loc) override {
    for (const PlannedLayout &layout : plan.layouts)
      if (!layout.within.empty() && !placed.contains(layout.value))
        return emitError(loc, ErrorCode::BadPlan)
               << "layout of '" << layout.value << "': '" << layout.within << "' is no concatenation that has it";
    return success();
  }

  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override {
    FailureOr<std::vector<FusionGroup>> groups = plannedGroups(main, backend, plan);
    if (failed(groups) || failed(checkUnstoredLayouts(*groups)) || failed(checkFusion(*groups, plan)))
      return failure();
    return groups;
  }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override {
    const PlannedKernel &planned = *index.kernelOf(opName(kernel.last));
    const KernelClass &klass = kernel.kernelClass;
    if (planned.kernelClass != klass.name)
      return refuse(kernel.last, planned,
                    "its ops make it class '" + klass.name + "', not '" + planned.kernelClass + "'");
    if (planned.name != kernel.name)
      return refuse(kernel.last, planned, "it computes '" + kernel.name + "' and must be named so");
    if (llvm::Error error = checkSchedule(klass, planned.schedule, kernel.site(), target))
      return refuse(kernel.last, planned, llvm::toString(std::move(error)));
    if (llvm::Error error = checkVersions(planned.versions, klass, kernel.anchor, target))
      return refuse(kernel.last, planned, llvm::toString(std::move(error)));
    ScheduleChoice choice{inOrder(planned.schedule, klass), {}};
    for (const Version &version : planned.versions)
      choice.versions.push_back({version.upTo, inOrder(version.schedule, klass)});
    return choice;
  }

  ArrayRef<PlannedChoice> choices() const override { return plan.choices; }

private:
  static LogicalResult refuse(Operation *op, const PlannedKernel &kernel, const Twine &why) {
    return emitError(op->getLoc(), ErrorCode::BadPlan) << "kernel '" << kernel.name << "': " << why.str();
  }

  const Plan &plan;
  PlanIndex index;
  const Target &target;
  const Backend &backend;
  llvm::StringSet<> heeded, placed; // values whose layout, whose place in another was asked for
};

} // namespace

FailureOr<std::unique_ptr<Chooser>> chooserFor(const Plan *plan, const Target &target, Location loc) {
  if (!plan)
    return draftChooser(target);
  if (plan->target != target.spelling())
    return emitError(loc, ErrorCode::BadPlan)
           << "the plan is for target " << plan->target << " and this compilation for " << target.spelling();
  if (failed(checkChoices(*plan, loc)))
    return failure();
  if (!plan->saysAll())
    return std::unique_ptr<Chooser>(siteChooser(target, plan->choices, {}, /*isUsers=*/true));
  return std::unique_ptr<Chooser>(std::make_unique<PlanChooser>(*plan, target));
}

} // namespace fathom
