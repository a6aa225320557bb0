// Products of one matrix with several of weights become one product with the columns of all.
#include "compiler/graph/ByteProducts.h"
#include "compiler/passes/ParallelOps.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_COMBINEPARALLELDENSEPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// By what products can be told that become one; null for others.
Attribute kindOf(Operation *op) {
  auto product = dyn_cast<MatMulOp>(op);
  if (!product || quadsOf(op) || !product.getRhs().getDefiningOp<ConstantOp>() ||
      cast<RankedTensorType>(product.getLhs().getType()).getRank() < 2)
    return {};
  auto weight = cast<RankedTensorType>(product.getRhs().getType());
  if (weight.getRank() != 2)
    return {};
  return commonKey(op, {TypeAttr::get(weight.getElementType())});
}

void combine(ArrayRef<Operation *> products) {
  OpBuilder b(products[0]);
  Value weight = createNamed<ConcatOp>(b, products[0], ".columns", constantsOf(products, 1, products[0]), 1);
  Value whole = createNamed<MatMulOp>(b, products[0], ".parallel", products[0]->getOperand(0), weight);
  replaceByParts(b, whole, products, cast<RankedTensorType>(whole.getType()).getRank() - 1);
}

struct CombineParallelDensePass : impl::CombineParallelDensePassBase<CombineParallelDensePass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Block *block) {
      for (const ParallelOps &products : parallelOps(*block, kindOf))
        combine(products);
    });
    return success();
  }
};

} // namespace
} // namespace fathom
