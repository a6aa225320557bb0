// Shape functions of the elementwise ops: element types, broadcasting and their few attributes.
#include "compiler/graph/ShapeSupport.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fathom::graph {

static Kind kindOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case<AbsOp, SignOp, ShrinkOp>([](auto) { return Kind::Numeric; })
      .Case<NegOp, ReluOp>([](auto) { return Kind::Signed; })
      .Case<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, ModOp>([](auto) { return Kind::Numeric; })
      .Case<GreaterOp, GreaterOrEqualOp, LessOp, LessOrEqualOp>([](auto) { return Kind::Numeric; })
      .Case<BitShiftOp, BitwiseNotOp, BitwiseAndOp, BitwiseOrOp, BitwiseXorOp>([](auto) { return Kind::Integer; })
      .Case<NotOp, AndOp, OrOp, XorOp>([](auto) { return Kind::Bool; })
      .Case<PReluOp>([](auto) { return Kind::Wide; })
      .Case<EqualOp>([](auto) { return Kind::Any; })
      .Default([](auto) { return Kind::Float; });
}

// Attributes whose value decides whether the op means anything.
static LogicalResult checkAttributes(Operation *op) {
  if (auto gelu = dyn_cast<GeluOp>(op))
    return checkOneOf(op, "approximate", gelu.getApproximate(), {"none", "tanh"});
  if (auto shift = dyn_cast<BitShiftOp>(op)) {
    if (!shift.getDirectionAttr())
      return emitError(op, ErrorCode::BadAttribute) << "direction is missing";
    return checkOneOf(op, "direction", shift.getDirection(), {"LEFT", "RIGHT"});
  }
  if (auto mod = dyn_cast<ModOp>(op); mod && mod.getFmod() != 0 && mod.getFmod() != 1)
    return emitError(op, ErrorCode::BadAttribute) << "fmod must be 0 or 1, but is " << mod.getFmod();
  if (op->hasTrait<SoftmaxLike>())
    return success(succeeded(checkAxis(op, intAttr(op, "axis", -1), rankOf(op->getOperand(0)))));
  return success();
}

LogicalResult inferSameAs(Operation *op, SmallVectorImpl<Type> &types) {
  Value input = op->getOperand(0);
  if (failed(checkKind(op, input, kindOf(op), "the input")) || failed(checkAttributes(op)))
    return failure();
  return addResult(op, types, sizesOf(input), elementOf(input));
}

LogicalResult inferBroadcastAs(Operation *op, SmallVectorImpl<Type> &types, Type element) {
  SmallVector<Sizes> operands;
  for (Value operand : op->getOperands())
    if (!isAbsent(operand))
      operands.push_back(sizesOf(operand));
  if (auto pow = dyn_cast<PowOp>(op))
    if (failed(checkKind(op, pow.getLhs(), Kind::Wide, "the base")) ||
        failed(checkKind(op, pow.getRhs(), Kind::Numeric, "the exponent")))
      return failure();
  FailureOr<Sizes> sizes = broadcast(op, operands);
  return failed(sizes) ? failure() : addResult(op, types, *sizes, element);
}

LogicalResult inferBroadcast(Operation *op, SmallVectorImpl<Type> &types, bool predicate) {
  Value first = op->getOperand(0);
  if (failed(checkKind(op, first, kindOf(op), "the first input")) || failed(checkSameElement(op, op->getOperands())) ||
      failed(checkAttributes(op)))
    return failure();
  if (auto prelu = dyn_cast<PReluOp>(op))
    if (failed(checkBroadcastTo(op, prelu.getRhs(), sizesOf(prelu.getLhs()), "slope")))
      return failure();
  return inferBroadcastAs(op, types, predicate ? IntegerType::get(op->getContext(), 1) : elementOf(first));
}

LogicalResult WhereOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getCondition(), Kind::Bool, "the condition")) ||
      failed(checkSameElement(*this, {getX(), getY()})))
    return failure();
  return inferBroadcastAs(*this, types, elementOf(getX()));
}

LogicalResult ClipOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Numeric, "the input")) ||
      failed(checkSameElement(*this, getOperands())))
    return failure();
  for (Value bound : {getMin(), getMax()})
    if (!isAbsent(bound) && !isScalar(bound))
      return fathom::emitError(*this, ErrorCode::BadShape)
             << "min and max must be scalars, but one has sizes " << text(*this, sizesOf(bound));
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

LogicalResult CastOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getToAttr())
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "to is missing";
  // The importer makes other ops of casts from and to small types.
  if (!isGraphTensor(RankedTensorType::get({}, getTo())) || isSmall(getTo()) || isSmall(elementOf(getInput())))
    return fathom::emitError(*this, ErrorCode::UnsupportedType) << "cannot cast to " << getTo();
  return addResult(*this, types, sizesOf(getInput()), getTo());
}

LogicalResult BitCastOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getToAttr())
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "to is missing";
  Type from = storageOf(elementOf(getInput())), to = storageOf(getTo());
  if (!isGraphTensor(RankedTensorType::get({}, getTo())))
    return fathom::emitError(*this, ErrorCode::UnsupportedType) << "cannot cast to " << getTo();
  // A bool is a byte of which all but one bit are zero.
  if (from.isInteger(1) || to.isInteger(1) || from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return fathom::emitError(*this, ErrorCode::BadType)
           << "the bits of " << elementText(elementOf(getInput())) << " are not those of " << elementText(getTo());
  return addResult(*this, types, sizesOf(getInput()), getTo());
}

static LogicalResult checkQuantization(Operation *op, Value input, Value scale, Value zeroPoint) {
  if (failed(checkKind(op, scale, Kind::Float, "scale")) ||
      failed(checkBroadcastTo(op, scale, sizesOf(input), "scale")))
    return failure();
  if (isAbsent(zeroPoint))
    return success();
  if (failed(checkKind(op, zeroPoint, Kind::Integer, "zero_point")))
    return failure();
  return checkBroadcastTo(op, zeroPoint, sizesOf(input), "zero_point");
}

LogicalResult QuantizeLinearOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkQuantization(*this, getInput(), getScale(), getZeroPoint())) ||
      failed(checkSameElement(*this, {getInput(), getScale()})))
    return failure();
  Type element =
      isAbsent(getZeroPoint()) ? IntegerType::get(getContext(), 8, IntegerType::Unsigned) : elementOf(getZeroPoint());
  return addResult(*this, types, sizesOf(getInput()), element);
}

LogicalResult DequantizeLinearOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Integer, "the input")) ||
      failed(checkQuantization(*this, getInput(), getScale(), getZeroPoint())))
    return failure();
  if (!isAbsent(getZeroPoint()) && failed(checkSameElement(*this, {getInput(), getZeroPoint()})))
    return failure();
  return addResult(*this, types, sizesOf(getInput()), elementOf(getScale()));
}

} // namespace fathom::graph
