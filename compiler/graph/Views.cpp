// Which ops only look at another buffer, how their results lie there, and what is seen through them.
#include "compiler/graph/Views.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/graph/ReshapedOrder.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

bool isView(Operation *op) {
  return isReshape(op) || isa<TransposeOp, IdentityOp>(op) || (isa<SliceOp>(op) && isInPlace(op));
}

Value bufferRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<int64_t> channelsLast(int64_t rank) {
  SmallVector<int64_t> order{0};
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.push_back(1);
  return order;
}

// Whether two orders of a tensor are the same for all dimensions of more than one element.
static bool sameOrder(RankedTensorType type, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Sizes sizes = sizesOf(type);
  auto counts = [&](int64_t d) { return !isConstant(sizes[d], 1); };
  return llvm::equal(llvm::make_filter_range(a, counts), llvm::make_filter_range(b, counts));
}

std::optional<SmallVector<int64_t>> viewedOrder(Operation *view, RankedTensorType input) {
  auto result = cast<RankedTensorType>(view->getResult(0).getType());
  Layout layout = layoutOf(input);
  if (layout.hasHalo() || layout.hasRoom() || layout.block)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> order;
  if (auto transpose = dyn_cast<TransposeOp>(view)) {
    SmallVector<int64_t> place(result.getRank());
    for (int64_t j = 0; j < result.getRank(); ++j)
      place[transpose.getPerm() ? (*transpose.getPerm())[j] : result.getRank() - 1 - j] = j;
    order = llvm::map_to_vector(layout.order, [&](int64_t d) { return place[d]; });
  } else if (isReshape(view)) {
    order = reshapedOrder(input, layout.order, result);
  }
  // Dimensions of one element lie anywhere: orders are spelled as others expect them.
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, result.getRank()));
  if (order && sameOrder(result, *order, rows))
    return rows;
  if (order && result.getRank() > 2 && sameOrder(result, *order, channelsLast(result.getRank())))
    return channelsLast(result.getRank());
  return order;
}

bool isConstantValue(Value value) { return bool(bufferRoot(value).getDefiningOp<graph::ConstantOp>()); }

int64_t constantBytes(Operation *root) {
  int64_t bytes = 0;
  root->walk([&](graph::ConstantOp op) {
    bytes += op.getType().getNumElements() * elementBytes(op.getType().getElementType());
  });
  return bytes;
}

bool isPackedWeight(Value value) {
  if (auto relayout = value.getDefiningOp<RelayoutOp>()) {
    if (!relayout.getType().hasStaticShape()) // where an element goes is only known when it runs
      return false;
    value = relayout.getInput();
  }
  return isConstantValue(value);
}

} // namespace fathom
