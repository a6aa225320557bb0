// Types and constants of ops that rewrites make.
#include "compiler/graph/Rewrite.h"

#include "compiler/graph/InferShapes.h"

using namespace mlir;

namespace fathom {

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

} // namespace fathom
