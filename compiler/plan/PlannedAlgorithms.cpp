// The algorithms that a plan's kernels say by their classes.
#include "compiler/plan/PlannedAlgorithms.h"

#include "compiler/graph/OpNames.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/plan/TransformedWeights.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr StringLiteral needOfStrassen = "32-bit floats times constant weights, of known sizes and an even depth and "
                                         "number of columns: products of matrices, or windows of one pixel";

InFlightDiagnostic refusePlan(Operation *op, const PlannedKernel &kernel, StringRef need) {
  return emitError(op, ErrorCode::BadPlan)
         << "kernel '" << kernel.name << "': class '" << kernel.kernelClass << "' is for " << need;
}

using Choices = std::vector<AlgorithmChoice>;

template <typename Op>
LogicalResult strassenAsPlanned(Op op, const PlannedKernel &kernel, const AlgorithmOptions &options, Choices &into) {
  if (!options.allowsStrassen())
    return hint(refusePlan(op, kernel, "rows that may have the rounding errors of their neighbours"),
                "Strassen's method needs --fp fastest");
  if (!takesStrassen(op))
    return refusePlan(op, kernel, needOfStrassen);
  // Another number is refused with the schedule.
  int64_t stored = typed<StrassenSchedule>(kernel.schedule).stored;
  into.push_back({op, AlgorithmChoice::Strassen, "", std::clamp(stored, strassen::basis, strassen::products)});
  return success();
}

LogicalResult asPlanned(ConvOp conv, const PlanIndex &plan, const AlgorithmOptions &options, Choices &into) {
  const PlannedKernel *kernel = plan.kernelOf(opName(conv));
  Algorithm algorithm = kernel ? algorithmOf(*kernel) : Algorithm::None;
  if (algorithm == Algorithm::SpatialPack) {
    if (isDepthwise(conv) || !canSpatialPack(conv))
      return refusePlan(conv, *kernel, "convolutions of 32-bit floats with known channels, several of them in a group");
    into.push_back({conv, AlgorithmChoice::Named, spatialPackName(conv).str()});
  }
  if (algorithm == Algorithm::Strassen)
    return strassenAsPlanned(conv, *kernel, options, into);
  if (algorithm != Algorithm::Winograd)
    return success();
  if (!options.transformsWeights())
    return hint(refusePlan(conv, *kernel, "results that may round differently"), "Winograd's method needs --fp fast");
  int64_t tile = typed<WinogradSchedule>(kernel->schedule).tile;
  if (!takesWinograd(conv) || (tile != 2 && tile != 4))
    return refusePlan(conv, *kernel,
                      "constant windows of 3 x 3 that move by one over several channels, with tile = 2 or 4");
  into.push_back({conv, AlgorithmChoice::Winograd, "", tile});
  return success();
}

LogicalResult asPlanned(MatMulOp product, const PlanIndex &plan, const AlgorithmOptions &options, Choices &into) {
  const PlannedKernel *kernel = plan.kernelOf(opName(product));
  if (!kernel || algorithmOf(*kernel) != Algorithm::Strassen)
    return success();
  return strassenAsPlanned(product, *kernel, options, into);
}

} // namespace

Algorithm algorithmOf(const PlannedKernel &kernel) {
  const KernelClass *klass = findKernelClass(kernel.kernelClass);
  return klass ? klass->algorithm : Algorithm::None;
}

FailureOr<std::vector<AlgorithmChoice>> plannedAlgorithms(func::FuncOp main, const PlanIndex &plan,
                                                          const AlgorithmOptions &options) {
  SmallVector<ConvOp> convolutions;
  SmallVector<MatMulOp> products;
  main.walk([&](ConvOp conv) { convolutions.push_back(conv); });
  main.walk([&](MatMulOp product) { products.push_back(product); });
  Choices choices;
  auto follow = [&](auto op) { return succeeded(asPlanned(op, plan, options, choices)); };
  if (!llvm::all_of(convolutions, follow) || !llvm::all_of(products, follow))
    return failure();
  return choices;
}

} // namespace fathom
