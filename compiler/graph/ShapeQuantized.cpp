// Shape functions of products and convolutions of quantised numbers.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

static LogicalResult checkBytes(Operation *op, Value value, StringRef name) {
  Type element = elementOf(value);
  if (element.isInteger(8))
    return success();
  return emitError(op, ErrorCode::BadType) << name << " must have integers of 8 bits";
}

static LogicalResult checkZeroPoint(Operation *op, Value zero, Value numbers, StringRef name) {
  if (isAbsent(zero))
    return success();
  if (elementOf(zero) != elementOf(numbers))
    return emitError(op, ErrorCode::BadType) << name << " must have the type of the numbers that it belongs to";
  return checkBroadcastTo(op, zero, sizesOf(numbers), name);
}

static LogicalResult checkScale(Operation *op, Value scale, Value numbers, StringRef name) {
  return failed(checkKind(op, scale, Kind::Float, name)) ? failure()
                                                         : checkBroadcastTo(op, scale, sizesOf(numbers), name);
}

LogicalResult QuadsOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkBytes(*this, getInput(), "the input")) || failed(checkAxis(*this, getAxis(), rankOf(getInput()))))
    return failure();
  Sizes sizes = sizesOf(getInput());
  AffineExpr &size = sizes[*normalizeAxis(getAxis(), sizes.size())];
  size = size::floorDiv(size::add(size, bytesOfQuad - 1), bytesOfQuad);
  return addResult(*this, types, sizes, IntegerType::get(getContext(), 32));
}

LogicalResult DynamicQuantizeLinearOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!elementOf(getInput()).isF32())
    return fathom::emitError(*this, ErrorCode::BadType) << "the input must be float";
  Type byte = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  return success(succeeded(addResult(*this, types, sizesOf(getInput()), byte)) &&
                 succeeded(addResult(*this, types, {}, elementOf(getInput()))) &&
                 succeeded(addResult(*this, types, {}, byte)));
}

LogicalResult MatMulIntegerOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkBytes(*this, getLhs(), "the left input")) || failed(checkBytes(*this, getRhs(), "the right input")))
    return failure();
  FailureOr<Sizes> sizes = matMulSizes(*this, getLhs(), getRhs());
  if (failed(sizes) || failed(checkZeroPoint(*this, getLhsZeroPoint(), getLhs(), "the left zero point")) ||
      failed(checkZeroPoint(*this, getRhsZeroPoint(), getRhs(), "the right zero point")))
    return failure();
  return addResult(*this, types, *sizes, IntegerType::get(getContext(), 32));
}

LogicalResult QLinearMatMulOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkBytes(*this, getLhs(), "the left input")) || failed(checkBytes(*this, getRhs(), "the right input")) ||
      failed(checkBytes(*this, getZeroPoint(), "the result's zero point")))
    return failure();
  FailureOr<Sizes> sizes = matMulSizes(*this, getLhs(), getRhs());
  if (failed(sizes) || failed(checkSameElement(*this, {getLhsScale(), getRhsScale(), getScale()})) ||
      failed(checkScale(*this, getLhsScale(), getLhs(), "the left scale")) ||
      failed(checkScale(*this, getRhsScale(), getRhs(), "the right scale")) ||
      failed(checkZeroPoint(*this, getLhsZeroPoint(), getLhs(), "the left zero point")) ||
      failed(checkZeroPoint(*this, getRhsZeroPoint(), getRhs(), "the right zero point")) ||
      failed(checkBroadcastTo(*this, getScale(), *sizes, "the result's scale")) ||
      failed(checkBroadcastTo(*this, getZeroPoint(), *sizes, "the result's zero point")))
    return failure();
  return addResult(*this, types, *sizes, elementOf(getZeroPoint()));
}

LogicalResult ConvIntegerOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkBytes(*this, getInput(), "the input")) || failed(checkBytes(*this, getWeight(), "weight")))
    return failure();
  FailureOr<Sizes> sizes = convolutionSizes(*this, getInput(), getWeight(), Value(), getGroup());
  if (failed(sizes) || failed(checkZeroPoint(*this, getInputZeroPoint(), getInput(), "the input's zero point")) ||
      failed(checkZeroPoint(*this, getWeightZeroPoint(), getWeight(), "the weight's zero point")))
    return failure();
  return addResult(*this, types, *sizes, IntegerType::get(getContext(), 32));
}

LogicalResult QLinearConvOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkBytes(*this, getInput(), "the input")) || failed(checkBytes(*this, getWeight(), "weight")) ||
      failed(checkBytes(*this, getZeroPoint(), "the result's zero point")))
    return failure();
  if (!isAbsent(getBias()) && !elementOf(getBias()).isSignlessInteger(32))
    return fathom::emitError(*this, ErrorCode::BadType) << "bias must have integers of 32 bits";
  FailureOr<Sizes> sizes = convolutionSizes(*this, getInput(), getWeight(), getBias(), getGroup());
  if (failed(sizes) || failed(checkSameElement(*this, {getInputScale(), getWeightScale(), getScale()})) ||
      failed(checkScale(*this, getInputScale(), getInput(), "the input's scale")) ||
      failed(checkScale(*this, getWeightScale(), getWeight(), "the weight's scale")) ||
      failed(checkZeroPoint(*this, getInputZeroPoint(), getInput(), "the input's zero point")) ||
      failed(checkZeroPoint(*this, getWeightZeroPoint(), getWeight(), "the weight's zero point")) ||
      failed(checkBroadcastTo(*this, getScale(), *sizes, "the result's scale")) ||
      failed(checkBroadcastTo(*this, getZeroPoint(), *sizes, "the result's zero point")))
    return failure();
  return addResult(*this, types, *sizes, elementOf(getZeroPoint()));
}

} // namespace fathom::graph
