// Verifiers of branches and loops, and shape functions of ops whose results' sizes come from data.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

LogicalResult PinOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  if (getPositions().size() != getSymbols().size())
    return emitOpError("gives ") << getPositions().size() << " positions for " << getSymbols().size() << " symbols";
  if (!isKind(type.getElementType(), Kind::Integer) || !type.hasStaticShape())
    return emitOpError("reads an integer tensor of static size, not ") << type;
  for (int64_t position : getPositions())
    if (position < 0 || position >= type.getNumElements())
      return emitOpError("reads element ") << position << " of " << type.getNumElements();
  for (int64_t symbol : getSymbols())
    if (symbol < 0)
      return emitOpError("names symbol ") << symbol;
  return success();
}

// Checks that what a region yields has the element types and ranks of these results.
static LogicalResult checkYield(Operation *op, Region &region, TypeRange results, unsigned before, unsigned slices) {
  auto yield = dyn_cast_or_null<YieldOp>(region.front().empty() ? nullptr : &region.front().back());
  if (!yield)
    return op->emitOpError("has a region that does not end with graph.Yield");
  if (yield.getNumOperands() != before + results.size())
    return op->emitOpError("yields ") << yield.getNumOperands() << " values, not " << before + results.size();
  for (auto [index, type] : llvm::enumerate(results)) {
    auto given = cast<RankedTensorType>(yield.getOperand(before + index).getType()),
         wanted = cast<RankedTensorType>(type);
    bool isSlice = index + slices >= results.size();
    if (given.getElementType() != wanted.getElementType() || given.getRank() + isSlice != wanted.getRank())
      return op->emitOpError("yields ") << given << " for a result of type " << wanted;
  }
  return success();
}

LogicalResult IfOp::verify() {
  if (!isScalar(getCondition()) || !isKind(elementOf(getCondition()), Kind::Bool))
    return emitOpError("needs one bool as its condition");
  for (Region *region : {&getThenBranch(), &getElseBranch()})
    if (failed(checkYield(*this, *region, getResultTypes(), 0, 0)))
      return failure();
  return success();
}

LogicalResult LoopOp::verify() {
  if (!isAbsent(getTrip()) && (!isScalar(getTrip()) || !elementOf(getTrip()).isInteger(64)))
    return emitOpError("needs one i64 as the number of iterations");
  if (!isAbsent(getCondition()) && (!isScalar(getCondition()) || !isKind(elementOf(getCondition()), Kind::Bool)))
    return emitOpError("needs one bool as its condition");
  Block &body = getBody().front();
  size_t carried = getCarried().size();
  if (body.getNumArguments() != carried + 2 || getNumResults() < carried)
    return emitOpError("carries ") << carried << " values, but its body takes " << body.getNumArguments()
                                   << " and it has " << getNumResults() << " results";
  for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(2), getCarried()))
    if (!isGraphTensor(argument.getType()) || elementOf(argument) != elementOf(value) ||
        rankOf(argument) != rankOf(value))
      return emitOpError("carries ") << value.getType() << " into a body that takes " << argument.getType();
  return checkYield(*this, getBody(), getResultTypes(), 1, getNumResults() - carried);
}

LogicalResult DynamicSliceOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes result = sizesOf(getInput());
  FailureOr<SmallVector<int64_t>> axes = checkAxes(*this, getAxes(), result.size());
  FailureOr<Elements> sizes =
      failed(axes) ? FailureOr<Elements>(failure()) : neededElements(*this, getSizes(), "sizes");
  if (failed(sizes) || failed(checkKind(*this, getStarts(), Kind::Index, "starts")))
    return failure();
  auto starts = cast<RankedTensorType>(getStarts().getType());
  if (sizes->size() != axes->size() || getSteps().size() != axes->size() || starts.getRank() != 1 ||
      starts.getDimSize(0) != int64_t(axes->size()))
    return fathom::emitError(*this, ErrorCode::BadShape) << "starts, sizes, axes and steps differ in length";
  for (auto [axis, size] : llvm::zip_equal(*axes, *sizes))
    result[axis] = size;
  return addResult(*this, types, result, elementOf(getInput()));
}

LogicalResult NonZeroOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Elements> count = neededElements(*this, getCount(), "count");
  if (failed(count) || count->size() != 1)
    return failure();
  AffineExpr rank = getAffineConstantExpr(rankOf(getInput()), getContext());
  return addResult(*this, types, {rank, count->front()}, IntegerType::get(getContext(), 64));
}

LogicalResult NonMaxSuppressionOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, getBoxes(), 3, "boxes")) || failed(checkRank(*this, getScores(), 3, "scores")) ||
      failed(checkSameElement(*this, {getBoxes(), getScores()})) || failed(checkRank(*this, getOrder(), 3, "order")))
    return failure();
  for (Value operand : {Value(getBoxes()), Value(getIouThreshold()), Value(getScoreThreshold())})
    if (!isAbsent(operand) && !elementOf(operand).isF32())
      return fathom::emitError(*this, ErrorCode::UnsupportedType) << "boxes, scores and thresholds must be float";
  for (Value operand : {Value(getMaxOutput()), Value(getIouThreshold()), Value(getScoreThreshold())})
    if (!isAbsent(operand) && !isScalar(operand))
      return fathom::emitError(*this, ErrorCode::BadShape) << "thresholds and limits must be scalars";
  Sizes boxes = sizesOf(getBoxes()), scores = sizesOf(getScores());
  FailureOr<AffineExpr> batch = unify(*this, boxes[0], scores[0], "boxes and scores"),
                        count = unify(*this, boxes[1], scores[2], "boxes and scores");
  if (failed(batch) || failed(count) ||
      failed(unify(*this, boxes[2], getAffineConstantExpr(4, getContext()), "a box and its coordinates")))
    return failure();
  AffineExpr each = *count;
  if (std::optional<SmallVector<int64_t>> limit = constantElementsOf(getMaxOutput())) {
    int64_t most = std::max<int64_t>(limit->front(), 0);
    // "All of them" is written as a huge number.
    if (most < constantSize(each).value_or(1 << 20))
      each = getAffineConstantExpr(most, getContext());
  }
  Type i64 = IntegerType::get(getContext(), 64);
  if (failed(addResult(*this, types, {*batch, scores[1], each, getAffineConstantExpr(3, getContext())}, i64)))
    return failure();
  return addResult(*this, types, {*batch, scores[1]}, i64);
}

LogicalResult TensorScatterOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes cache = sizesOf(getPastCache()), update = sizesOf(getUpdate());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), cache.size());
  if (failed(axis) || failed(checkSameElement(*this, {getPastCache(), getUpdate()})) ||
      failed(checkRank(*this, getUpdate(), cache.size(), "update")) ||
      failed(checkOneOf(*this, "mode", getMode(), {"linear", "circular"})))
    return failure();
  for (auto [dim, size] : llvm::enumerate(update)) {
    if (int64_t(dim) == *axis) {
      if (size::lowerBound(size::sub(size, cache[dim])).value_or(0) > 0)
        return fathom::emitError(*this, ErrorCode::BadShape) << "update is longer than the cache";
      assumeAtLeast(cache[dim], size);
    } else if (failed(unify(*this, size, cache[dim], "update and cache"))) {
      return failure();
    }
  }
  if (!isAbsent(getWriteIndices()) && (failed(checkKind(*this, getWriteIndices(), Kind::Index, "write_indices")) ||
                                       failed(checkRank(*this, getWriteIndices(), 1, "write_indices")) ||
                                       failed(unify(*this, sizesOf(getWriteIndices())[0], cache[0], "write_indices"))))
    return failure();
  return addResult(*this, types, cache, elementOf(getPastCache()));
}

// The tables come from the importer, which has checked what they hold.
LogicalResult TreeEnsembleOp::inferTypes(SmallVectorImpl<Type> &types) {
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  RankedTensorType input = typeOf(getInput()), nodes = typeOf(getNodes()), trees = typeOf(getTrees());
  RankedTensorType weights = typeOf(getWeights());
  if (failed(checkKind(*this, getInput(), Kind::Float, "input")) ||
      failed(checkKind(*this, getWeights(), Kind::Float, "weights")) ||
      failed(checkRankAtLeast(*this, getInput(), 2, "input")))
    return failure();
  auto isTable = [](RankedTensorType type, ArrayRef<int64_t> widths) {
    return type.getRank() == 2 && type.hasStaticShape() && type.getDimSize(0) > 0 &&
           llvm::is_contained(widths, type.getDimSize(1));
  };
  bool isWide = input.getElementType().isF64();
  if (input.getRank() != 2 || !constantSize(sizesOf(input)[1]) || !(isWide || input.getElementType().isF32()))
    return fathom::emitError(*this, ErrorCode::BadShape) << "trees need rows of a known number of floats or doubles";
  if (!isTable(nodes, isWide ? ArrayRef<int64_t>{4} : ArrayRef<int64_t>{2, 4}) || !isTable(trees, {4}) ||
      !isTable(weights, {1, getTargets()}) || !nodes.getElementType().isInteger(32) ||
      !trees.getElementType().isInteger(32))
    return fathom::emitError(*this, ErrorCode::BadShape) << "nodes, trees or weights do not have the form of a table";
  if (getAggregate() != "SUM" && getAggregate() != "MIN" && getAggregate() != "MAX")
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "aggregate '" << getAggregate() << "' is not known";
  Sizes sizes{sizesOf(input)[0], getAffineConstantExpr(getTargets(), getContext())};
  types.push_back(tensorOf(sizes, weights.getElementType()));
  return success();
}

LogicalResult MatMulNBitsOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  auto weight = cast<RankedTensorType>(getWeight().getType());
  if (failed(checkKind(*this, getInput(), Kind::Float, "input")) ||
      failed(checkRankAtLeast(*this, getInput(), 1, "input")) ||
      failed(unify(*this, sizes.back(), getAffineConstantExpr(getK(), getContext()), "the input's columns and K")))
    return failure();
  if (getBits() != 4 && getBits() != 8)
    return fathom::emitError(*this, ErrorCode::UnsupportedAttribute) << getBits() << " bits; 4 and 8 are supported";
  if (getBlockSize() < 16 || !llvm::isPowerOf2_64(getBlockSize()) || getK() < 1 || getN() < 1)
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "block_size " << getBlockSize() << " must be a power of two of at least 16";
  int64_t blocks = llvm::divideCeil(getK(), getBlockSize()), bytes = getBlockSize() * getBits() / 8;
  if (!weight.hasStaticShape() || weight.getNumElements() != getN() * blocks * bytes)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "weight has type " << weight << ", which does not hold " << getN() << " rows of " << blocks << " blocks";
  sizes.back() = getAffineConstantExpr(getN(), getContext());
  return addResult(*this, types, sizes, elementOf(getInput()));
}

LogicalResult UniqueOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput());
  if (input.empty() || input.size() > 2)
    return fathom::emitError(*this, ErrorCode::BadShape) << "a vector or a matrix is needed";
  Type i64 = IntegerType::get(getContext(), 64);
  for (int i = 0; i < 3; ++i)
    if (failed(addResult(*this, types, {input[0]}, i64)))
      return failure();
  return addResult(*this, types, {getAffineConstantExpr(1, getContext())}, i64);
}

} // namespace fathom::graph
