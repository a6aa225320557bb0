// Helpers of the graph rewrites: names, constants.
#include "compiler/passes/ConvertLayout.h"
#include "compiler/passes/Passes.h"

#include "compiler/codegen/common/Layout.h"
#include "compiler/graph/InferShapes.h"

using namespace mlir;

namespace fathom {

void nameAfter(Operation *op, Operation *like, StringRef suffix) {
  if (auto name = like->getAttrOfType<StringAttr>("graph.name"))
    op->setAttr("graph.name", StringAttr::get(op->getContext(), name.getValue() + suffix));
}

Type placeholder(MLIRContext *context) { return RankedTensorType::get({}, Float32Type::get(context)); }

LogicalResult settleTypes(func::FuncOp function) {
  return graph::symbolsFor(function).empty() ? success() : graph::inferAgain(function);
}

Value makeConstant(OpBuilder &b, Operation *like, DenseElementsAttr value) {
  return graph::ConstantOp::create(b, like->getLoc(), value.getType(), value);
}

Value makeInts(OpBuilder &b, Operation *like, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, b.getI64Type());
  return makeConstant(b, like, DenseElementsAttr::get(type, values));
}

Value makeScalar(OpBuilder &b, Operation *like, Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  return makeConstant(b, like, DenseElementsAttr::get(type, b.getFloatAttr(element, value)));
}

Value makeNone(OpBuilder &b, Location loc) { return graph::NoneOp::create(b, loc, b.getNoneType()); }

bool isConstantValue(Value value) { return bool(bufferRoot(value).getDefiningOp<graph::ConstantOp>()); }

int64_t constantBytes(Operation *root) {
  int64_t bytes = 0;
  root->walk([&](graph::ConstantOp op) {
    bytes += op.getType().getNumElements() * elementBytes(op.getType().getElementType());
  });
  return bytes;
}

} // namespace fathom
