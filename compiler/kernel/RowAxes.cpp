// Axes as an operand, as one attribute, or as the first of all that follow.
#include "compiler/kernel/RowAxes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static SmallVector<int64_t> reducedAxes(Operation *op, int64_t rank) {
  SmallVector<int64_t> axes;
  if (auto known = constantElementsOf(op->getOperand(1)))
    for (int64_t axis : *known)
      axes.push_back(*normalizeAxis(axis, rank));
  auto noop = op->getAttrOfType<IntegerAttr>("noop_with_empty_axes");
  if (axes.empty() && !(noop && noop.getInt()))
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  llvm::sort(axes);
  return axes;
}

SmallVector<int64_t> rowAxes(Operation *op) {
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  if (op->hasTrait<Reduction>() && !isa<ArgMaxOp, ArgMinOp>(op))
    return reducedAxes(op, rank);
  if (isa<CumSumOp>(op))
    return reducedAxes(op, rank);
  int64_t axis = *normalizeAxis(op->getAttrOfType<IntegerAttr>("axis").getInt(), rank);
  if (op->hasTrait<NormalizesRows>())
    return llvm::to_vector(llvm::seq<int64_t>(axis, rank));
  return {axis};
}

} // namespace fathom
