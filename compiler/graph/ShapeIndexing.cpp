// Shape functions of ops that gather, scatter, count or resample along axes.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

static ArrayRef<AffineExpr> view(const Sizes &sizes) { return sizes; }

LogicalResult GatherOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput()), indices = sizesOf(getIndices());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), input.size());
  if (failed(axis) || failed(checkKind(*this, getIndices(), Kind::Index, "indices")))
    return failure();
  Sizes result(view(input).take_front(*axis));
  llvm::append_range(result, indices);
  llvm::append_range(result, view(input).drop_front(*axis + 1));
  return addResult(*this, types, result, elementOf(getInput()));
}

// Checks that along every axis but one `part` is not larger than `whole`.
static LogicalResult checkInside(Operation *op, Value part, Value whole, int64_t axis) {
  for (auto [dim, inner, outer] : llvm::enumerate(sizesOf(part), sizesOf(whole))) {
    if (int64_t(dim) == axis)
      continue;
    if (size::lowerBound(size::sub(inner, outer)).value_or(0) > 0)
      return emitError(op, ErrorCode::BadShape) << "indices have size " << text(op, inner) << " along dimension " << dim
                                                << " of an input with size " << text(op, outer);
    assumeAtLeast(outer, inner);
  }
  return success();
}

LogicalResult GatherElementsOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), rankOf(getInput()));
  if (failed(axis) || failed(checkKind(*this, getIndices(), Kind::Index, "indices")) ||
      failed(checkRank(*this, getIndices(), rankOf(getInput()), "indices")) ||
      failed(checkInside(*this, getIndices(), getInput(), *axis)))
    return failure();
  return addResult(*this, types, sizesOf(getIndices()), elementOf(getInput()));
}

// The constant length of the index tuples in the last dimension of `indices`.
static FailureOr<int64_t> tupleLength(Operation *op, Value indices, int64_t limit) {
  if (failed(checkKind(op, indices, Kind::Index, "indices")) || failed(checkRankAtLeast(op, indices, 1, "indices")))
    return failure();
  AffineExpr last = sizesOf(indices).back();
  std::optional<int64_t> length = constantSize(last);
  if (!length)
    return emitError(op, ErrorCode::UnsupportedShape)
           << "the last size of indices must be constant, but is " << text(op, last);
  if (*length < 1 || *length > limit)
    return emitError(op, ErrorCode::BadShape)
           << "the last size of indices is " << *length << ", but must be in [1, " << limit << "]";
  return *length;
}

LogicalResult GatherNDOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput()), indices = sizesOf(getIndices());
  int64_t batch = getBatchDims();
  if (batch < 0 || batch >= int64_t(input.size()) || batch >= int64_t(indices.size()))
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "batch_dims " << batch << " is out of range";
  FailureOr<int64_t> length = tupleLength(*this, getIndices(), input.size() - batch);
  if (failed(length))
    return failure();
  Sizes result(view(indices).drop_back());
  for (int64_t dim = 0; dim < batch; ++dim) {
    FailureOr<AffineExpr> common = unify(*this, input[dim], indices[dim], "batch dimensions");
    if (failed(common))
      return failure();
    result[dim] = *common;
  }
  llvm::append_range(result, view(input).drop_front(batch + *length));
  return addResult(*this, types, result, elementOf(getInput()));
}

static LogicalResult checkUpdates(Operation *op, Value input, Value updates, ArrayRef<AffineExpr> sizes,
                                  StringRef reduction) {
  if (failed(checkOneOf(op, "reduction", reduction, {"none", "add", "mul", "max", "min"})) ||
      failed(checkSameElement(op, {input, updates})) || failed(checkRank(op, updates, sizes.size(), "updates")))
    return failure();
  for (auto [update, size] : llvm::zip_equal(sizesOf(updates), sizes))
    if (failed(unify(op, update, size, "updates and indices")))
      return failure();
  return success();
}

LogicalResult ScatterElementsOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), rankOf(getInput()));
  if (failed(axis) || failed(checkKind(*this, getIndices(), Kind::Index, "indices")) ||
      failed(checkRank(*this, getIndices(), rankOf(getInput()), "indices")) ||
      failed(checkInside(*this, getIndices(), getInput(), *axis)) ||
      failed(checkUpdates(*this, getInput(), getUpdates(), sizesOf(getIndices()), getReduction())))
    return failure();
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

LogicalResult ScatterNDOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput());
  FailureOr<int64_t> length = tupleLength(*this, getIndices(), input.size());
  if (failed(length))
    return failure();
  Sizes indices = sizesOf(getIndices()), expected(view(indices).drop_back());
  llvm::append_range(expected, view(input).drop_front(*length));
  if (failed(checkUpdates(*this, getInput(), getUpdates(), expected, getReduction())))
    return failure();
  return addResult(*this, types, input, elementOf(getInput()));
}

// The only element of an operand that decides about a size.
static FailureOr<AffineExpr> neededScalar(Operation *op, Value value, StringRef name) {
  if (!isScalar(value))
    return emitError(op, ErrorCode::BadShape)
           << name << " must be a scalar, but has sizes " << text(op, sizesOf(value));
  FailureOr<Elements> elements = neededElements(op, value, name);
  return failed(elements) || elements->size() != 1 ? FailureOr<AffineExpr>() : (*elements)[0];
}

// The depth of a OneHot, which may be a float.
static FailureOr<AffineExpr> readDepth(OneHotOp op) {
  if (!isa<FloatType>(elementOf(op.getDepth())))
    return neededScalar(op, op.getDepth(), "depth");
  std::optional<SmallVector<double>> depth = constantFloatsOf(op.getDepth());
  if (!depth || depth->size() != 1)
    return emitError(op, ErrorCode::UnsupportedShape) << "depth must be a constant scalar";
  if (!(std::abs(depth->front()) <= double(maxElements)))
    return emitError(op, ErrorCode::BadShape) << "depth is " << depth->front();
  return getAffineConstantExpr(int64_t(depth->front()), op.getContext());
}

LogicalResult OneHotOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getIndices());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), sizes.size() + 1);
  if (failed(axis) || failed(checkKind(*this, getIndices(), Kind::Numeric, "indices")) ||
      failed(checkRank(*this, getValues(), 1, "values")))
    return failure();
  AffineExpr pair = sizesOf(getValues())[0];
  if (constantSize(pair).value_or(2) != 2)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "values must have 2 elements, but has sizes " << text(*this, sizesOf(getValues()));
  assumeEqual(pair, getAffineConstantExpr(2, getContext()));
  FailureOr<AffineExpr> depth = readDepth(*this);
  if (failed(depth))
    return failure();
  sizes.insert(sizes.begin() + *axis, *depth);
  return addResult(*this, types, sizes, elementOf(getValues()));
}

LogicalResult CumSumOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getInput(), Kind::Wide, "the input")) ||
      failed(checkKind(*this, getAxis(), Kind::Index, "axis")))
    return failure();
  if (!isScalar(getAxis()))
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "axis must be a scalar, but has sizes " << text(*this, sizesOf(getAxis()));
  if (std::optional<SmallVector<int64_t>> axis = constantElementsOf(getAxis()))
    if (failed(checkAxis(*this, axis->front(), rankOf(getInput()))))
      return failure();
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

LogicalResult TopKOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), sizes.size());
  if (failed(axis) || failed(checkKind(*this, getInput(), Kind::Numeric, "the input")))
    return failure();
  FailureOr<AffineExpr> k = neededScalar(*this, getK(), "k");
  if (failed(k))
    return failure();
  if (size::upperBound(*k).value_or(0) < 0 || size::lowerBound(size::sub(*k, sizes[*axis])).value_or(0) > 0)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "k is " << text(*this, *k) << " for an axis of size " << text(*this, sizes[*axis]);
  std::string size = text(*this, sizes[*axis]);
  assumeAtLeast(sizes[*axis], *k, "k is above the size " + (size == "?" ? "of the axis, which data decides" : size));
  sizes[*axis] = *k;
  if (failed(addResult(*this, types, sizes, elementOf(getInput()))))
    return failure();
  return addResult(*this, types, sizes, IntegerType::get(getContext(), 64));
}

LogicalResult ReverseSequenceOp::inferTypes(SmallVectorImpl<Type> &types) {
  int64_t batch = getBatchAxis(), time = getTimeAxis();
  if (std::min(batch, time) != 0 || std::max(batch, time) != 1)
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "batch_axis " << batch << " and time_axis " << time << " must be 0 and 1 or 1 and 0";
  if (failed(checkRankAtLeast(*this, getInput(), 2, "the input")) ||
      failed(checkRank(*this, getSequenceLens(), 1, "sequence_lens")) ||
      failed(checkKind(*this, getSequenceLens(), Kind::Index, "sequence_lens")))
    return failure();
  Sizes sizes = sizesOf(getInput());
  if (failed(unify(*this, sizes[batch], sizesOf(getSequenceLens())[0], "the batch and sequence_lens")))
    return failure();
  return addResult(*this, types, sizes, elementOf(getInput()));
}

// A size by a number that must divide it; a symbolic one is checked when it is known. Null where it does not.
static AffineExpr divided(AffineExpr size, int64_t by) {
  AffineExpr exact = size::exactDiv(size, getAffineConstantExpr(by, size.getContext()));
  if (exact || constantSize(size))
    return exact;
  AffineExpr quotient = size::floorDiv(size, by);
  assumeEqual(size, size::mul(quotient, by));
  return quotient;
}

LogicalResult DepthToSpaceOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getBlocksizeAttr() || getBlocksize() < 1 || getBlocksize() > INT16_MAX)
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "blocksize must be given and in range";
  if (failed(checkRank(*this, getInput(), 4, "the input")) ||
      failed(checkOneOf(*this, "mode", getMode(), {"DCR", "CRD"})))
    return failure();
  Sizes sizes = sizesOf(getInput());
  int64_t block = getBlocksize();
  AffineExpr channels = divided(sizes[1], block * block);
  if (!channels)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "blocksize " << block << " squared does not divide " << text(*this, sizes[1]) << " channels";
  return addResult(*this, types, {sizes[0], channels, size::mul(sizes[2], block), size::mul(sizes[3], block)},
                   elementOf(getInput()));
}

LogicalResult SpaceToDepthOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getBlocksizeAttr() || getBlocksize() < 1 || getBlocksize() > INT16_MAX)
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "blocksize must be given and in range";
  if (failed(checkRank(*this, getInput(), 4, "the input")) ||
      failed(checkOneOf(*this, "mode", getMode(), {"DCR", "CRD"})))
    return failure();
  Sizes sizes = sizesOf(getInput());
  int64_t block = getBlocksize();
  AffineExpr height = divided(sizes[2], block), width = divided(sizes[3], block);
  if (!height || !width)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "blocksize " << block << " does not divide the spatial sizes of " << text(*this, sizes);
  return addResult(*this, types, {sizes[0], size::mul(sizes[1], block * block), height, width}, elementOf(getInput()));
}

// How many steps of `delta` lie in [start, limit).
static FailureOr<AffineExpr> rangeSize(RangeOp op) {
  MLIRContext *context = op.getContext();
  if (isa<FloatType>(elementOf(op.getStart()))) {
    auto start = constantFloatsOf(op.getStart()), limit = constantFloatsOf(op.getLimit()),
         delta = constantFloatsOf(op.getDelta());
    if (!start || !limit || !delta)
      return emitError(op, ErrorCode::UnsupportedShape) << "a range of floats needs constant start, limit and delta";
    double steps = std::ceil((limit->front() - start->front()) / delta->front());
    if (delta->front() == 0 || !std::isfinite(steps) || steps > double(maxElements))
      return emitError(op, ErrorCode::BadShape) << "a range from " << start->front() << " to " << limit->front()
                                                << " by " << delta->front() << " has no size";
    return getAffineConstantExpr(std::max<int64_t>(int64_t(std::max(steps, 0.0)), 0), context);
  }
  FailureOr<AffineExpr> start = neededScalar(op, op.getStart(), "start"),
                        limit = neededScalar(op, op.getLimit(), "limit");
  FailureOr<AffineExpr> delta = neededScalar(op, op.getDelta(), "delta");
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  std::optional<int64_t> step = constantSize(*delta);
  if (!step || *step == 0 || *step == INT64_MIN)
    return emitError(op, step ? ErrorCode::BadShape : ErrorCode::UnsupportedShape)
           << "delta must be a constant other than 0, but is " << text(op, *delta);
  AffineExpr span = *step > 0 ? size::sub(*limit, *start) : size::sub(*start, *limit),
             zero = getAffineConstantExpr(0, context);
  SymbolList symbols = symbolsFor(op);
  if (size::isAtLeast(zero, span, symbols))
    return zero;
  AffineExpr steps = size::ceilDiv(span, std::abs(*step));
  if (!steps || !size::isAtLeast(span, zero, symbols))
    return hint(emitError(op, ErrorCode::UnsupportedShape) << "the range from " << text(op, *start) << " to "
                                                           << text(op, *limit) << " may be empty or too long",
                "declare a range for the symbolic dimension");
  return steps;
}

LogicalResult RangeOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getStart(), Kind::Numeric, "start")) || failed(checkSameElement(*this, getOperands())))
    return failure();
  for (Value operand : getOperands())
    if (!isScalar(operand))
      return fathom::emitError(*this, ErrorCode::BadShape)
             << "start, limit and delta must be scalars, but one has sizes " << text(*this, sizesOf(operand));
  FailureOr<AffineExpr> size = rangeSize(*this);
  return failed(size) ? failure() : addResult(*this, types, *size, elementOf(getStart()));
}

} // namespace fathom::graph
