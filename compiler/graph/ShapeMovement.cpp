// Shape functions of ops that make constants, or reshape, repeat, join and cut tensors.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

// The number of elements that a value in this layout has in memory; nullopt for symbolic sizes.
static std::optional<int64_t> physicalElements(RankedTensorType type, EncodingAttr layout) {
  if (!type.hasStaticShape())
    return std::nullopt;
  int64_t count = 1;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t extent = size;
    if (!layout.getHalo().empty())
      extent += layout.getHalo()[2 * dim] + layout.getHalo()[2 * dim + 1];
    if (layout.getBlock() && llvm::count(layout.getOrder(), int64_t(dim)) == 2)
      extent = llvm::alignTo(extent, layout.getBlock());
    if (extent && count > maxElements / extent)
      return std::nullopt;
    count *= extent;
  }
  return count;
}

LogicalResult ConstantOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (!getValueAttr())
    return fathom::emitError(*this, ErrorCode::BadTensor) << "value is missing";
  ShapedType type = getValue().getShapedType();
  if (!type.hasStaticShape() || !isGraphTensor(RankedTensorType::get(type.getShape(), type.getElementType())))
    return fathom::emitError(*this, ErrorCode::BadTensor) << "value has type " << type;
  // A constant that is already laid out holds its elements as they are in memory.
  auto result = dyn_cast<RankedTensorType>(getResult().getType());
  auto layout = result ? dyn_cast_or_null<EncodingAttr>(result.getEncoding()) : EncodingAttr();
  if (layout && layout.hasLayout() && type.getShape() != result.getShape()) {
    if (type.getElementType() != result.getElementType() || physicalElements(result, layout) != type.getNumElements())
      return fathom::emitError(*this, ErrorCode::BadTensor)
             << "value of type " << type << " does not fill a tensor of type " << result;
    types.push_back(withoutLayout(result));
    return success();
  }
  types.push_back(RankedTensorType::get(type.getShape(), type.getElementType()));
  return success();
}

LogicalResult IdentityOp::inferTypes(SmallVectorImpl<Type> &types) {
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}
LogicalResult RelayoutOp::inferTypes(SmallVectorImpl<Type> &types) {
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

// The half-open range of dimensions that a Shape op asks for.
std::pair<int64_t, int64_t> shapeRange(ShapeOp op) {
  int64_t rank = rankOf(op.getInput());
  auto clamp = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  int64_t begin = clamp(op.getStart()), end = op.getEnd() ? clamp(*op.getEnd()) : rank;
  return {begin, std::max(begin, end)};
}

LogicalResult ShapeOp::inferTypes(SmallVectorImpl<Type> &types) {
  auto [begin, end] = shapeRange(*this);
  return addResult(*this, types, getAffineConstantExpr(end - begin, getContext()), IntegerType::get(getContext(), 64));
}
LogicalResult SizeOp::inferTypes(SmallVectorImpl<Type> &types) {
  return addResult(*this, types, {}, IntegerType::get(getContext(), 64));
}

LogicalResult ReshapeOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Elements> target = neededElements(*this, getShape(), "shape");
  if (failed(target))
    return failure();
  Sizes input = sizesOf(getInput()), sizes(target->begin(), target->end());
  std::optional<size_t> unknown;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (isConstant(size, 0) && !getAllowzero()) {
      if (index >= input.size())
        return fathom::emitError(*this, ErrorCode::BadShape)
               << "size " << index << " is copied from an input of sizes " << text(*this, input);
      size = input[index];
    } else if (isConstant(size, -1)) {
      if (unknown)
        return fathom::emitError(*this, ErrorCode::BadShape) << "more than one size is -1 in " << text(*this, *target);
      unknown = index;
      size = getAffineConstantExpr(1, getContext());
    } else if (size::upperBound(size).value_or(0) < 0) {
      return fathom::emitError(*this, ErrorCode::BadShape) << "negative size in " << text(*this, *target);
    }
  }
  AffineExpr have = product(input, getContext()), want = product(sizes, getContext());
  if (!have || !want)
    return fathom::emitError(*this, ErrorCode::UnsupportedShape)
           << "too many elements or too complex sizes in " << text(*this, *target);
  AffineExpr filled = want;
  if (unknown) {
    Sizes sizesBeside = sizes;
    sizesBeside.erase(sizesBeside.begin() + *unknown);
    sizes[*unknown] = size::exactDiv(have, want);
    // For sizes that are only known at run time the division is checked there.
    bool isOpen = !(constantSize(have) && constantSize(want));
    if (!sizes[*unknown] && isOpen)
      sizes[*unknown] = size::wholeDiv(input, sizesBeside);
    if (!sizes[*unknown] && isOpen)
      sizes[*unknown] = size::floorDiv(have, want);
    filled = sizes[*unknown] ? size::mul(sizes[*unknown], want) : AffineExpr();
  }
  if (!filled || (constantSize(have) && constantSize(filled) && have != filled))
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "sizes " << text(*this, input) << " cannot be reshaped to " << text(*this, *target);
  if (!size::same(have, filled))
    assumeEqual(have, filled, "sizes " + text(*this, input) + " cannot be reshaped to " + text(*this, *target));
  return addResult(*this, types, sizes, elementOf(getInput()));
}

LogicalResult FlattenOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  int64_t rank = sizes.size(), axis = getAxis() < 0 ? getAxis() + rank : getAxis();
  if (axis < 0 || axis > rank)
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "axis " << getAxis() << " is out of range for a tensor of rank " << rank;
  ArrayRef<AffineExpr> all = sizes;
  return addResult(*this, types,
                   {product(all.take_front(axis), getContext()), product(all.drop_front(axis), getContext())},
                   elementOf(getInput()));
}

LogicalResult SqueezeOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput()), result;
  SmallVector<bool> dropped(input.size(), false);
  if (isAbsent(getAxes())) {
    for (auto [dim, size] : llvm::enumerate(input)) {
      if (!constantSize(size))
        return hint(fathom::emitError(*this, ErrorCode::UnsupportedShape)
                        << "without axes it cannot be known whether " << text(*this, size) << " is 1",
                    "give the axes to squeeze, or compile for one size with --dim");
      dropped[dim] = isConstant(size, 1);
    }
  } else {
    FailureOr<SmallVector<int64_t>> constants = neededConstants(*this, getAxes(), "axes");
    FailureOr<SmallVector<int64_t>> axes = failed(constants) ? constants : checkAxes(*this, *constants, input.size());
    if (failed(axes))
      return failure();
    for (int64_t axis : *axes) {
      if (constantSize(input[axis]).value_or(1) != 1)
        return fathom::emitError(*this, ErrorCode::BadShape)
               << "axis " << axis << " has size " << text(*this, input[axis]) << ", not 1";
      assumeEqual(input[axis], getAffineConstantExpr(1, getContext()));
      dropped[axis] = true;
    }
  }
  for (auto [size, isDropped] : llvm::zip_equal(input, dropped))
    if (!isDropped)
      result.push_back(size);
  return addResult(*this, types, result, elementOf(getInput()));
}

LogicalResult UnsqueezeOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput());
  FailureOr<SmallVector<int64_t>> constants = neededConstants(*this, getAxes(), "axes");
  if (failed(constants))
    return failure();
  size_t rank = input.size() + constants->size();
  FailureOr<SmallVector<int64_t>> axes = checkAxes(*this, *constants, rank);
  if (failed(axes))
    return failure();
  Sizes result;
  for (size_t dim = 0, next = 0; dim < rank; ++dim)
    result.push_back(llvm::is_contained(*axes, int64_t(dim)) ? getAffineConstantExpr(1, getContext()) : input[next++]);
  return addResult(*this, types, result, elementOf(getInput()));
}

LogicalResult TransposeOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput()), result;
  if (!getPerm()) {
    result.assign(input.rbegin(), input.rend());
    return addResult(*this, types, result, elementOf(getInput()));
  }
  if (getPerm()->size() != input.size())
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "perm has " << getPerm()->size() << " entries for a tensor of rank " << input.size();
  FailureOr<SmallVector<int64_t>> perm = checkAxes(*this, *getPerm(), input.size());
  if (failed(perm))
    return failure();
  for (int64_t dim : *perm)
    result.push_back(input[dim]);
  return addResult(*this, types, result, elementOf(getInput()));
}

// Sizes that an operand gives; none may be negative.
static FailureOr<Sizes> readSizes(Operation *op, Value operand, StringRef name) {
  FailureOr<Elements> elements = neededElements(op, operand, name);
  if (failed(elements))
    return failure();
  for (AffineExpr size : *elements)
    if (size::upperBound(size).value_or(0) < 0)
      return emitError(op, ErrorCode::BadShape) << name << " holds the negative size " << text(op, size);
  return Sizes(elements->begin(), elements->end());
}

LogicalResult ExpandOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Sizes> shape = readSizes(*this, getShape(), "shape");
  if (failed(shape))
    return failure();
  // A symbolic size of the input is 1 or what the shape says.
  Sizes input = sizesOf(getInput());
  for (auto [size, target] : llvm::zip(llvm::reverse(input), llvm::reverse(*shape))) {
    if (constantSize(size) || isConstant(target, 1) || size::same(size, target))
      continue;
    // A product of many symbols has no canonical square.
    AffineExpr distance = size::mul(size::add(size, -1), size::sub(target, size));
    assumeEqual(distance ? distance : (size - 1) * (target - size), getAffineConstantExpr(0, getContext()),
                "a size is neither 1 nor the one that it is broadcast to");
    size = target;
  }
  FailureOr<Sizes> result = broadcast(*this, {input, *shape});
  return failed(result) ? failure() : addResult(*this, types, *result, elementOf(getInput()));
}

LogicalResult TileOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Sizes> repeats = readSizes(*this, getRepeats(), "repeats");
  if (failed(repeats))
    return failure();
  Sizes sizes = sizesOf(getInput());
  if (repeats->size() != sizes.size())
    return fathom::emitError(*this, ErrorCode::BadShape)
           << repeats->size() << " repeats for a tensor of rank " << sizes.size();
  for (auto [size, repeat] : llvm::zip_equal(sizes, *repeats))
    size = size::mul(size, repeat);
  return addResult(*this, types, sizes, elementOf(getInput()));
}

LogicalResult ConcatOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (getInputs().empty())
    return fathom::emitError(*this, ErrorCode::BadGraph) << "has no inputs";
  if (!getAxisAttr())
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "axis is missing";
  Sizes result = sizesOf(getInputs()[0]);
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), result.size());
  if (failed(axis) || failed(checkSameElement(*this, getInputs())))
    return failure();
  for (Value input : getInputs().drop_front()) {
    Sizes sizes = sizesOf(input);
    if (failed(checkRank(*this, input, result.size(), "every input")))
      return failure();
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (int64_t(dim) == *axis) {
        result[dim] = size::add(result[dim], size);
        continue;
      }
      FailureOr<AffineExpr> common = unify(*this, result[dim], size, "the inputs along dimension " + Twine(dim));
      if (failed(common))
        return failure();
      result[dim] = *common;
    }
  }
  return addResult(*this, types, result, elementOf(getInputs()[0]));
}

LogicalResult SplitOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  FailureOr<int64_t> axis = checkAxis(*this, getAxis(), sizes.size());
  if (failed(axis))
    return failure();
  AffineExpr size = sizes[*axis];
  int64_t count = getOperation()->getNumResults();
  Sizes parts;
  if (!isAbsent(getSplit())) {
    FailureOr<Sizes> given = readSizes(*this, getSplit(), "split");
    if (failed(given))
      return failure();
    parts = *given;
    AffineExpr sum = getAffineConstantExpr(0, getContext());
    for (AffineExpr part : parts)
      sum = size::add(sum, part);
    if (!sum || failed(unify(*this, sum, size, "the sum of split and the axis")))
      return failure();
  } else {
    int64_t wanted = getNumOutputs().value_or(count);
    if (wanted < 1 || wanted != count)
      return fathom::emitError(*this, ErrorCode::BadAttribute)
             << "num_outputs is " << wanted << " where " << count << " results are taken";
    std::string parted = "size " + text(*this, size) + " cannot be split into " + std::to_string(count);
    // The last part is the smaller one.
    AffineExpr part = size::ceilDiv(size, count), last = size::sub(size, size::mul(part, count - 1));
    if (!last || constantSize(last).value_or(0) < 0)
      return fathom::emitError(*this, ErrorCode::BadShape) << parted << " parts";
    // Older operator sets want equal parts; whether a symbolic size is a multiple is seen when it is known.
    if (!getNumOutputs() && !constantSize(last) && !size::same(part, last)) {
      part = last = size::floorDiv(size, count);
      assumeEqual(size, size::mul(part, count), parted + " equal parts");
    }
    assumeAtLeast(last, getAffineConstantExpr(0, getContext()), parted + " parts");
    parts.assign(count, part);
    parts.back() = last;
  }
  for (AffineExpr part : parts) {
    sizes[*axis] = part;
    if (failed(addResult(*this, types, sizes, elementOf(getInput()))))
      return failure();
  }
  return success();
}

LogicalResult PadOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  if (failed(checkOneOf(*this, "mode", getMode(), {"constant", "reflect", "edge", "wrap"})))
    return failure();
  if (!isAbsent(getConstantValue()) &&
      (failed(checkSameElement(*this, {getInput(), getConstantValue()})) || !isScalar(getConstantValue())))
    return isScalar(getConstantValue())
               ? failure()
               : fathom::emitError(*this, ErrorCode::BadShape) << "constant_value must be a scalar";
  SmallVector<int64_t> given = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  if (!isAbsent(getAxes())) {
    FailureOr<SmallVector<int64_t>> constants = neededConstants(*this, getAxes(), "axes");
    if (failed(constants))
      return failure();
    given = *constants;
  }
  FailureOr<SmallVector<int64_t>> axes = checkAxes(*this, given, sizes.size());
  FailureOr<Elements> pads = neededElements(*this, getPads(), "pads");
  if (failed(axes) || failed(pads))
    return failure();
  if (pads->size() != 2 * axes->size())
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "pads has " << pads->size() << " entries for " << axes->size() << " axes";
  for (auto [index, axis] : llvm::enumerate(*axes)) {
    AffineExpr begin = (*pads)[index], end = (*pads)[index + axes->size()], size = sizes[axis];
    // A negative pad takes away. What is copied into the other one must be left: reflection reads as far inside as it
    // pads, the others need one element.
    auto fits = [&](AffineExpr margin, AffineExpr other) {
      std::optional<int64_t> have = constantSize(size), want = constantSize(margin), cut = constantSize(other);
      if (!have || !want)
        return true;
      int64_t left = *have + std::min<int64_t>(0, cut.value_or(0));
      bool isCopied = getMode() != "constant" && *want > 0;
      return *want >= -*have && (!isCopied || left > (getMode() == "reflect" ? *want : 0));
    };
    if (!fits(begin, end) || !fits(end, begin))
      return fathom::emitError(*this, ErrorCode::BadShape)
             << getMode() << " pads " << text(*this, begin) << " and " << text(*this, end) << " do not go with size "
             << text(*this, size);
    AffineExpr zero = getAffineConstantExpr(0, getContext());
    SymbolList symbols = symbolsFor(*this);
    std::string pair = isComputed(begin, symbols) || isComputed(end, symbols)
                           ? "that data decides"
                           : text(*this, begin) + " and " + text(*this, end);
    std::string words = getMode().str() + " pads " + pair + " do not go with " +
                        (isComputed(size, symbols) ? "a size that data decides" : "size " + text(*this, size));
    for (auto [margin, other] : {std::pair(begin, end), std::pair(end, begin)}) {
      assumeAtLeast(size::add(size, margin), zero, "pads take away more than there is");
      if (getMode() == "constant" || constantSize(margin).value_or(1) <= 0)
        continue;
      for (AffineExpr left : {size, size::add(size, other)})
        assumeAtLeast(getMode() == "reflect" ? size::add(left, -1) : size::mul(left, INT32_MAX), margin, words);
    }
    sizes[axis] = size::add(size::add(size, begin), end);
  }
  return addResult(*this, types, sizes, elementOf(getInput()));
}

LogicalResult ConstantOfShapeOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<Sizes> sizes = readSizes(*this, getShape(), "shape");
  if (failed(sizes))
    return failure();
  Type element = Float32Type::get(getContext());
  if (getValue()) {
    element = getValue()->getElementType();
    if (getValue()->getNumElements() != 1 || !isGraphTensor(RankedTensorType::get({}, element)))
      return fathom::emitError(*this, ErrorCode::BadAttribute)
             << "value must be one element of a supported type, but has type " << getValue()->getShapedType();
  }
  return addResult(*this, types, *sizes, element);
}

LogicalResult EyeLikeOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkRank(*this, getInput(), 2, "the input")))
    return failure();
  Type element = getDtype().value_or(elementOf(getInput()));
  if (!isGraphTensor(RankedTensorType::get({}, element)))
    return fathom::emitError(*this, ErrorCode::UnsupportedType) << "cannot make a matrix of " << element;
  return addResult(*this, types, sizesOf(getInput()), element);
}

LogicalResult TriluOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkRankAtLeast(*this, getInput(), 2, "the input")))
    return failure();
  if (!isAbsent(getK()) && (failed(checkKind(*this, getK(), Kind::Index, "k")) || !isScalar(getK())))
    return isScalar(getK()) ? failure() : fathom::emitError(*this, ErrorCode::BadShape) << "k must be a scalar";
  return addResult(*this, types, sizesOf(getInput()), elementOf(getInput()));
}

} // namespace fathom::graph
