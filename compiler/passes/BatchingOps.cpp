// Products of one matrix with several of weights of one size become a batch of products. Its parts lie one behind the
// other, each in one stretch of memory, so that they can be seen through views.
#include "compiler/graph/ByteProducts.h"
#include "compiler/passes/ParallelOps.h"

#include "compiler/passes/Decompose.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_BATCHINGOPSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// By what products can be told that become a batch; null for others.
Attribute kindOf(Operation *op) {
  auto product = dyn_cast<MatMulOp>(op);
  if (!product || quadsOf(op) || !product.getRhs().getDefiningOp<ConstantOp>() ||
      typeOf(product.getLhs()).getRank() < 2 || typeOf(product.getRhs()).getRank() != 2)
    return {};
  return commonKey(op, {TypeAttr::get(product.getRhs().getType())});
}

void batch(ArrayRef<Operation *> products) {
  Operation *first = products[0];
  OpBuilder b(first);
  SmallVector<Value> weights;
  // Each with as many dimensions as the result has with the batch in front.
  int64_t rank = typeOf(first->getResult(0)).getRank();
  Sizes sizes(rank + 1, b.getAffineConstantExpr(1));
  Sizes matrix = sizesOf(first->getOperand(1));
  sizes[rank - 1] = matrix[0], sizes[rank] = matrix[1];
  for (Value weight : constantsOf(products, 1, first))
    weights.push_back(reshape(b, first, ".weight" + std::to_string(weights.size()), weight, sizes));
  Value joined = createNamed<ConcatOp>(b, first, ".weights", weights, 0);
  Sizes wide = sizesOf(first->getOperand(0));
  wide.insert(wide.begin(), b.getAffineConstantExpr(1));
  Value input = reshape(b, first, ".input", first->getOperand(0), wide);
  Value whole = createNamed<MatMulOp>(b, first, ".batch", input, joined);
  for (auto [i, op] : llvm::enumerate(products)) {
    int64_t start = int64_t(i);
    Value part = createNamed<SliceOp>(b, op, ".part", whole, makeInts(b, op, {start}), makeInts(b, op, {start + 1}),
                                      makeInts(b, op, {0}), makeNone(b, op->getLoc()));
    op->getResult(0).replaceAllUsesWith(reshape(b, op, "", part, sizesOf(op->getResult(0))));
  }
  for (Operation *op : products)
    op->erase();
}

struct BatchingOpsPass : impl::BatchingOpsPassBase<BatchingOpsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Block *block) {
      for (const ParallelOps &products : parallelOps(*block, kindOf))
        batch(products);
    });
    return settleTypes(function);
  }
};

} // namespace
} // namespace fathom
