// The rules.
#include "compiler/plan/PieceRules.h"

#include "compiler/cost/Estimate.h"
#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/kernel/Backend.h"
#include "compiler/plan/FuseOps.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

bool goesByStrides(Operation *op, const Backend &backend) {
  if (needsNoKernel(op) && !isInPlace(op))
    return false;
  return kernelClassOf(op, backend).goesByStrides;
}

bool keepsQuads(Value value, RankedTensorType there) {
  bool isMultiplied = llvm::any_of(value.getUsers(), [](Operation *user) { return quadsOf(user).has_value(); });
  return !isMultiplied || llvm::all_of(layoutOf(there).strides, [](AffineExpr stride) {
    return isConstant(stride, 1) || stride.getLargestKnownDivisor() % bytesOfQuad == 0;
  });
}

bool leavesBlock(Value value) {
  SmallVector<Value> same{value};
  while (!same.empty())
    for (Operation *user : same.pop_back_val().getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return true;
      if (isView(user))
        same.push_back(user->getResult(0));
    }
  return false;
}

bool sameMemory(RankedTensorType one, RankedTensorType other) {
  Layout a = layoutOf(one), b = layoutOf(other);
  if (a.block || b.block || a.haloLow != b.haloLow || a.haloHigh != b.haloHigh || a.offset != b.offset)
    return false;
  for (auto [d, size] : llvm::enumerate(a.sizes))
    if (!isConstant(size, 1) && a.strides[d] != b.strides[d])
      return false;
  return true;
}

std::string whySlower(Value value, RankedTensorType there, const Target &target) {
  Layout mine = layoutOf(cast<RankedTensorType>(value.getType())), piece = layoutOf(there);
  int64_t bytes = elementBytes(there.getElementType()), run = bytes;
  // What lies side by side, and the dimension that steps from one such run to the next.
  size_t outer = piece.order.size();
  while (outer > 0) {
    int64_t d = piece.order[--outer];
    run *= constantSize(piece.sizes[d]).value_or(lineBytes);
    if (piece.room[d])
      break;
  }
  if (run < lineBytes)
    return "so few of its elements lie side by side there";
  // What others read should not lie so that its rows throw each other out of the cache.
  auto collides = [&](const Layout &layout) {
    for (int64_t d : llvm::reverse(ArrayRef(piece.order).take_front(outer)))
      if (!isConstant(layout.sizes[d], 1))
        return cost::setsFilled(target.calibration.piecesRowsTogether,
                                constantSize(layout.strides[d]).value_or(0) * bytes, target.caches[0]) > 1;
    return false;
  };
  bool hasReaders = llvm::any_of(value.getUsers(), [](Operation *user) { return !isa<ConcatOp>(user); });
  return hasReaders && collides(piece) && !collides(mine) ? "its rows would collide in the cache" : "";
}

} // namespace fathom
