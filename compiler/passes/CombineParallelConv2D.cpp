// Convolutions with equal windows over one input become one convolution with the filters of all: it reads its input
// once, and fills its register tiles better than each of them with few filters.
#include "compiler/graph/ByteProducts.h"
#include "compiler/passes/ParallelOps.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_COMBINEPARALLELCONV2DPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// By what convolutions can be told that become one; null for others.
Attribute kindOf(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv || quadsOf(op) || conv.getGroup() != 1 || !conv.getWeight().getDefiningOp<ConstantOp>() ||
      !(isa<NoneType>(conv.getBias().getType()) || conv.getBias().getDefiningOp<ConstantOp>()))
    return {};
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  Builder b(op->getContext());
  return commonKey(op,
                   {b.getDenseI64ArrayAttr(weight.getShape().drop_front()), TypeAttr::get(weight.getElementType())});
}

// The biases of all, zeros where there are none; none where no one has any.
Value joinedBias(OpBuilder &b, ArrayRef<Operation *> convs) {
  SmallVector<Value> parts;
  for (Operation *op : convs) {
    auto conv = cast<ConvOp>(op);
    auto weight = cast<RankedTensorType>(conv.getWeight().getType());
    auto type = RankedTensorType::get({weight.getDimSize(0)}, weight.getElementType());
    if (isa<NoneType>(conv.getBias().getType()))
      parts.push_back(makeConstant(b, op, cast<DenseElementsAttr>(b.getZeroAttr(type))));
    else
      parts.push_back(constantsOf(op, 2, convs[0]).front());
  }
  return createNamed<ConcatOp>(b, convs[0], ".biases", parts, 0);
}

void combine(ArrayRef<Operation *> convs) {
  OpBuilder b(convs[0]);
  Value weight = createNamed<ConcatOp>(b, convs[0], ".filters", constantsOf(convs, 1, convs[0]), 0);
  bool hasBias = !llvm::all_of(convs, [](Operation *op) { return isa<NoneType>(op->getOperand(2).getType()); });
  Value bias = hasBias ? joinedBias(b, convs) : makeNone(b, convs[0]->getLoc());
  Operation *whole = b.clone(*convs[0]);
  whole->setOperands({convs[0]->getOperand(0), weight, bias});
  nameAfter(whole, convs[0], ".parallel");
  (void)inferResultTypes(whole);
  replaceByParts(b, whole->getResult(0), convs, 1);
}

struct CombineParallelConv2DPass : impl::CombineParallelConv2DPassBase<CombineParallelConv2DPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Block *block) {
      for (const ParallelOps &convs : parallelOps(*block, kindOf))
        combine(convs);
    });
    return success();
  }
};

} // namespace
} // namespace fathom
