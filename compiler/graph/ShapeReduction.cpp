// Shape functions of reductions and normalisations.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

// Sizes after the marked dimensions are reduced.
static Sizes reduced(Value input, ArrayRef<int64_t> axes, bool keepDims) {
  Sizes result;
  for (auto [dim, size] : llvm::enumerate(sizesOf(input)))
    if (!llvm::is_contained(axes, int64_t(dim)))
      result.push_back(size);
    else if (keepDims)
      result.push_back(getAffineConstantExpr(1, input.getContext()));
  return result;
}

LogicalResult inferReduce(Operation *op, SmallVectorImpl<Type> &types) {
  Value input = op->getOperand(0), axesOperand = op->getOperand(1);
  bool keepDims = intAttr(op, "keepdims", 1) != 0;
  bool isNoop = intAttr(op, "noop_with_empty_axes", 0) != 0;
  Kind kind = isa<ReduceMaxOp, ReduceMinOp>(op)            ? Kind::Any
              : isa<ReduceLogSumOp, ReduceLogSumExpOp>(op) ? Kind::Float
                                                           : Kind::Wide;
  if (failed(checkKind(op, input, kind, "the input")))
    return failure();
  SmallVector<int64_t> given;
  if (!isAbsent(axesOperand)) {
    FailureOr<SmallVector<int64_t>> constants = neededConstants(op, axesOperand, "axes");
    if (failed(constants))
      return failure();
    given = *constants;
  }
  FailureOr<SmallVector<int64_t>> axes = checkAxes(op, given, rankOf(input));
  if (failed(axes))
    return failure();
  if (axes->empty() && !isNoop)
    llvm::append_range(*axes, llvm::seq<int64_t>(0, rankOf(input)));
  return addResult(op, types, reduced(input, *axes, keepDims), elementOf(input));
}

LogicalResult ReduceProdOp::inferTypes(SmallVectorImpl<Type> &types) { return inferReduce(*this, types); }

template <typename ArgOp> static LogicalResult inferArg(ArgOp op, SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> axis = checkAxis(op, op.getAxis(), rankOf(op.getInput()));
  if (failed(axis) || failed(checkKind(op, op.getInput(), Kind::Numeric, "the input")))
    return failure();
  return addResult(op, types, reduced(op.getInput(), *axis, op.getKeepdims() != 0),
                   IntegerType::get(op.getContext(), 64));
}
LogicalResult ArgMaxOp::inferTypes(SmallVectorImpl<Type> &types) { return inferArg(*this, types); }
LogicalResult ArgMinOp::inferTypes(SmallVectorImpl<Type> &types) { return inferArg(*this, types); }

LogicalResult LayerNormalizationOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), sizes.size());
  if (failed(axis) || failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkSameElement(*this, getOperands())))
    return failure();
  ArrayRef<AffineExpr> normalized = ArrayRef<AffineExpr>(sizes).drop_front(*axis);
  if (failed(checkBroadcastTo(*this, getScale(), normalized, "scale")) ||
      (!isAbsent(getBias()) && failed(checkBroadcastTo(*this, getBias(), normalized, "bias"))))
    return failure();
  // ONNX's numbers for the element types in which the statistics are computed.
  constexpr int64_t stashFloat = 1, stashBFloat16 = 16;
  if (getStashType() != stashFloat && getStashType() != stashBFloat16)
    return fathom::emitError(*this, ErrorCode::UnsupportedAttribute)
           << "stash_type " << getStashType() << " is neither float nor bfloat16";
  Type stash =
      getStashType() == stashFloat ? Type(Float32Type::get(getContext())) : Type(BFloat16Type::get(getContext()));
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(*axis, sizes.size()));
  Sizes statistics = reduced(getInput(), axes, /*keepDims=*/true);
  return success(succeeded(addResult(*this, types, sizes, elementOf(getInput()))) &&
                 succeeded(addResult(*this, types, statistics, stash)) &&
                 succeeded(addResult(*this, types, statistics, stash)));
}

LogicalResult RMSNormalizationOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), sizes.size());
  if (failed(axis) || failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkKind(*this, getScale(), Kind::Float, "scale")) ||
      failed(checkBroadcastTo(*this, getScale(), ArrayRef<AffineExpr>(sizes).drop_front(*axis), "scale")))
    return failure();
  return addResult(*this, types, sizes, elementOf(getScale()));
}

// Checks that each of `vectors` has one element per channel.
static LogicalResult checkChannels(Operation *op, Value input, ArrayRef<std::pair<Value, StringRef>> vectors) {
  Sizes sizes = sizesOf(input);
  AffineExpr channels = sizes.size() > 1 ? sizes[1] : getAffineConstantExpr(1, op->getContext());
  for (auto [vector, name] : vectors)
    if (failed(checkKind(op, vector, Kind::Float, name)) || failed(checkRank(op, vector, 1, name)) ||
        failed(unify(op, channels, sizesOf(vector)[0], "the channels and " + name)))
      return failure();
  return success();
}

LogicalResult BatchNormalizationOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkRankAtLeast(*this, getInput(), 1, "the input")) ||
      failed(checkChannels(*this, getInput(),
                           {{getScale(), "scale"}, {getBias(), "bias"}, {getMean(), "mean"}, {getVar(), "var"}})))
    return failure();
  if (failed(addResult(*this, types, sizesOf(getInput()), elementOf(getInput()))))
    return failure();
  if (!getTrainingMode())
    return success();
  return success(succeeded(addResult(*this, types, sizesOf(getMean()), elementOf(getMean()))) &&
                 succeeded(addResult(*this, types, sizesOf(getVar()), elementOf(getVar()))));
}

LogicalResult InstanceNormalizationOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkRankAtLeast(*this, getInput(), 3, "the input")) || failed(checkSameElement(*this, getOperands())) ||
      failed(checkChannels(*this, getInput(), {{getScale(), "scale"}, {getBias(), "bias"}})))
    return failure();
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

LogicalResult GroupNormalizationOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getNumGroupsAttr())
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "num_groups is missing";
  if (failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkRankAtLeast(*this, getInput(), 2, "the input")) || failed(checkSameElement(*this, getOperands())) ||
      failed(checkChannels(*this, getInput(), {{getScale(), "scale"}, {getBias(), "bias"}})))
    return failure();
  // One of the three may be known where the others are not.
  AffineExpr channels = sizesOf(getInput())[1];
  for (Value vector : {getScale(), getBias()})
    channels = constantSize(channels) ? channels : sizesOf(vector)[0];
  if (getNumGroups() >= 1 && !constantSize(channels))
    return hint(fathom::emitError(*this, ErrorCode::UnsupportedShape)
                    << "num_groups " << getNumGroups() << " needs a known number of channels, but the input has "
                    << text(*this, sizesOf(getInput())),
                "give the number of channels with --dim");
  if (getNumGroups() < 1 || !size::exactDiv(channels, getAffineConstantExpr(getNumGroups(), getContext())))
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "num_groups " << getNumGroups() << " does not divide " << text(*this, channels) << " channels";
  Sizes sizes = sizesOf(getInput());
  sizes[1] = channels;
  return addResult(*this, types, sizes, elementOf(getInput()));
}

LogicalResult LRNOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getSizeAttr() || getSize() < 1 || getSize() > INT32_MAX)
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "size must be from 1 to " << INT32_MAX;
  if (failed(checkKind(*this, getInput(), Kind::Float, "the input")) ||
      failed(checkRankAtLeast(*this, getInput(), 2, "the input")))
    return failure();
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

} // namespace fathom::graph
