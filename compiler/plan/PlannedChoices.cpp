// Choices of a plan that lists all kernels: these have been followed already.
#include "compiler/plan/PlannedChoices.h"

#include "compiler/plan/PlannedAlgorithms.h"
#include "compiler/plan/Sites.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace fathom {

// The algorithms that a kernel of this class and schedule can be said to be.
static SmallVector<std::string> algorithmsOf(const PlannedKernel &kernel) {
  auto number = [&](StringRef knob) {
    return kernel.schedule.has(knob) ? std::to_string(kernel.schedule.value(knob)) : "";
  };
  switch (algorithmOf(kernel)) {
  case Algorithm::Contract:
    return {"contract"};
  case Algorithm::SpatialPack:
    return {"spatial_pack", "grouped_spatial_pack"};
  case Algorithm::Winograd:
    return {"winograd" + number("tile")};
  case Algorithm::Strassen:
    return {"strassen", "strassen" + number("stored")};
  case Algorithm::None:
  case Algorithm::Attention:
    return {};
  }
  llvm_unreachable("all algorithms are there");
}

LogicalResult checkChoices(const Plan &plan, Location loc) {
  PlanIndex index(plan);
  for (const PlannedChoice &choice : plan.choices) {
    auto refuse = [&](const Twine &why) {
      return emitError(loc, ErrorCode::BadPlan) << choice.kind << " of '" << choice.op << "': " << why;
    };
    bool isFusion = choice.kind == name(SiteKind::Fusion);
    if (choice.kind != name(SiteKind::Algorithm) && !isFusion)
      return refuse("there is no choice of a '" + choice.kind + "'");
    if (!plan.saysAll())
      continue;
    const PlannedKernel *kernel = index.kernelOf(choice.op);
    if (!kernel)
      return refuse("no kernel of the plan computes this op");
    // That of fusion is compared with the kernels' ops in the graph.
    if (!isFusion && !llvm::is_contained(algorithmsOf(*kernel), choice.take))
      return hint(refuse("'" + choice.take + "' is not what kernel '" + kernel->name + "' of class '" +
                         kernel->kernelClass + "' does"),
                  "a plan's kernels decide; take this choice out, or take out all layouts and kernels");
  }
  return success();
}

} // namespace fathom
