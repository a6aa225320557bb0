// Where pieces lie.
#include "compiler/graph/Pieces.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/Views.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr StringRef inPlaceName = "graph.in_place";

bool isInPlace(Operation *op) { return isa<ConcatOp, SliceOp>(op) && op->hasAttr(inPlaceName); }
void setInPlace(Operation *op) { op->setAttr(inPlaceName, UnitAttr::get(op->getContext())); }

Piece pieceOf(Value value) {
  SmallVector<Value> same{value};
  while (!same.empty())
    for (OpOperand &use : same.pop_back_val().getUses()) {
      if (isa<ConcatOp>(use.getOwner()) && isInPlace(use.getOwner()))
        return {cast<ConcatOp>(use.getOwner()), use.getOperandNumber()};
      if (isView(use.getOwner()) && !isa<SliceOp>(use.getOwner()))
        same.push_back(use.getOwner()->getResult(0));
    }
  return {};
}

AffineExpr offsetOf(const Piece &piece) {
  ConcatOp concat = piece.whole;
  RankedTensorType type = concat.getType();
  int64_t axis = *normalizeAxis(concat.getAxis(), type.getRank());
  AffineExpr start = getAffineConstantExpr(0, type.getContext());
  for (Value before : concat.getInputs().take_front(piece.operand))
    start = start + sizesOf(before)[axis];
  return size::simplified(start * layoutOf(type).strides[axis] * elementBytes(type.getElementType()));
}

RankedTensorType sliceType(SliceOp slice) {
  auto ranges = getSlice(slice);
  RankedTensorType type = slice.getType();
  Layout whole = layoutOf(cast<RankedTensorType>(slice.getInput().getType()));
  if (failed(ranges) || whole.block)
    return {};
  SmallVector<int64_t> halo(2 * type.getRank()), room = whole.room;
  bool isOutermost = true;
  for (int64_t d : whole.order) {
    const SliceRange &range = (*ranges)[d];
    bool isCut = range.size != whole.sizes[d];
    if (range.step != 1)
      return {};
    if (!isCut)
      halo[2 * d] = whole.haloLow[d], halo[2 * d + 1] = whole.haloHigh[d];
    if (isOutermost) {
      // Room behind the outermost dimension makes no difference.
      room[d] = 0;
    } else if (isCut) {
      std::optional<int64_t> others = constantSize(size::simplified(whole.sizes[d] - range.size));
      if (!others || *others < 0)
        return {};
      // Zeros around the input are not zeros around its parts.
      room[d] += *others + whole.haloLow[d] + whole.haloHigh[d];
    }
    isOutermost &= isConstant(range.size, 1) && !halo[2 * d] && !halo[2 * d + 1];
  }
  return withLayout(withoutLayout(type), whole.order, 0, halo, room);
}

AffineExpr offsetOf(SliceOp slice) {
  auto ranges = getSlice(slice);
  RankedTensorType type = slice.getType();
  Layout whole = layoutOf(cast<RankedTensorType>(slice.getInput().getType()));
  AffineExpr offset = getAffineConstantExpr(0, type.getContext());
  for (auto [d, range] : llvm::enumerate(*ranges))
    if (range.size != whole.sizes[d])
      offset = offset + (range.start + whole.haloLow[d]) * whole.strides[d];
  return size::simplified(offset * elementBytes(type.getElementType()));
}

} // namespace fathom
