// Where pieces lie.
#include "compiler/passes/Pieces.h"

#include "compiler/codegen/common/Layout.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/passes/ConvertLayout.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr StringRef inPlaceName = "graph.in_place";

bool isInPlace(Operation *op) { return isa<ConcatOp>(op) && op->hasAttr(inPlaceName); }
void setInPlace(Operation *op) { op->setAttr(inPlaceName, UnitAttr::get(op->getContext())); }

Piece pieceOf(Value value) {
  SmallVector<Value> same{value};
  while (!same.empty())
    for (OpOperand &use : same.pop_back_val().getUses()) {
      if (isInPlace(use.getOwner()))
        return {cast<ConcatOp>(use.getOwner()), use.getOperandNumber()};
      if (isView(use.getOwner()))
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

} // namespace fathom
