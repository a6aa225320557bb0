// Shape functions of matrix products, convolutions and pooling.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

FailureOr<Sizes> matMulSizes(Operation *op, Value left, Value right, int64_t together) {
  if (failed(checkRankAtLeast(op, left, 1, "the left input")) ||
      failed(checkRankAtLeast(op, right, 1, "the right input")))
    return failure();
  Sizes lhs = sizesOf(left), rhs = sizesOf(right);
  bool isVectorLhs = lhs.size() == 1, isVectorRhs = rhs.size() == 1;
  AffineExpr one = getAffineConstantExpr(1, op->getContext());
  if (isVectorLhs)
    lhs.insert(lhs.begin(), one);
  if (isVectorRhs)
    rhs.push_back(one);
  if (failed(unify(op, lhs.back(), size::mul(rhs[rhs.size() - 2], together),
                   "the columns of the left and the rows of the right input")))
    return failure();
  FailureOr<Sizes> sizes = broadcast(op, {Sizes(ArrayRef(lhs).drop_back(2)), Sizes(ArrayRef(rhs).drop_back(2))});
  if (failed(sizes))
    return failure();
  if (!isVectorLhs)
    sizes->push_back(lhs[lhs.size() - 2]);
  if (!isVectorRhs)
    sizes->push_back(rhs.back());
  return sizes;
}

// What a product of bytes needs beside sizes.
static LogicalResult checkQuads(Operation *op) {
  bool hasI32 = llvm::all_of(op->getOperands().drop_front(),
                             [](Value value) { return isAbsent(value) || elementOf(value).isSignlessInteger(32); });
  if (hasI32 && elementOf(op->getOperand(0)).isUnsignedInteger(8))
    return success();
  return emitError(op, ErrorCode::BadType) << "a product with quads needs uint8 on its left side and int32 elsewhere";
}

LogicalResult MatMulOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (quadsOf(*this)) {
    FailureOr<Sizes> sizes = matMulSizes(*this, getLhs(), getRhs(), bytesOfQuad);
    return failed(checkQuads(*this)) || failed(sizes) ? failure()
                                                      : addResult(*this, types, *sizes, elementOf(getRhs()));
  }
  if (failed(checkKind(*this, getLhs(), Kind::Wide, "the left input")) ||
      failed(checkSameElement(*this, getOperands())))
    return failure();
  FailureOr<Sizes> sizes = matMulSizes(*this, getLhs(), getRhs());
  return failed(sizes) ? failure() : addResult(*this, types, *sizes, elementOf(getLhs()));
}

LogicalResult GemmOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (failed(checkKind(*this, getLhs(), Kind::Wide, "the left input")) ||
      failed(checkSameElement(*this, getOperands())) || failed(checkRank(*this, getLhs(), 2, "the left input")) ||
      failed(checkRank(*this, getRhs(), 2, "the right input")))
    return failure();
  Sizes lhs = sizesOf(getLhs()), rhs = sizesOf(getRhs());
  if (getTransA())
    std::swap(lhs[0], lhs[1]);
  if (getTransB())
    std::swap(rhs[0], rhs[1]);
  if (failed(unify(*this, lhs[1], rhs[0], "the columns of the left and the rows of the right input")))
    return failure();
  Sizes result = {lhs[0], rhs[1]};
  if (!isAbsent(getBias()) && failed(checkBroadcastTo(*this, getBias(), result, "bias")))
    return failure();
  return addResult(*this, types, result, elementOf(getLhs()));
}

static LogicalResult checkConvolution(Operation *op, Value input, Value weight, Value bias, int64_t group) {
  if (failed(checkRankAtLeast(op, input, 3, "the input")) || failed(checkRank(op, weight, rankOf(input), "weight")))
    return failure();
  if (group < 1 || group > INT32_MAX)
    return emitError(op, ErrorCode::BadAttribute) << "group " << group << " is out of range";
  return !bias || isAbsent(bias) ? success() : checkRank(op, bias, 1, "bias");
}

static AffineExpr windowOutputs(AffineExpr size, const Window &window, size_t dim) {
  AffineExpr slack = size::add(size, window.padsBegin[dim] + window.padsEnd[dim] - effectiveKernel(window, dim));
  return size::add(size::floorDiv(slack, window.strides[dim]), 1);
}

static LogicalResult checkFits(Operation *op, AffineExpr size, const Window &window, size_t dim) {
  AffineExpr padded = size::add(size, window.padsBegin[dim] + window.padsEnd[dim]);
  if (!constantSize(padded) || *constantSize(padded) >= effectiveKernel(window, dim))
    return success();
  return emitError(op, ErrorCode::BadShape) << "a window of " << effectiveKernel(window, dim) << " does not fit into "
                                            << text(op, padded) << " padded elements of spatial dimension " << dim;
}

static LogicalResult checkFloats(Operation *op, Value input) {
  return failed(checkKind(op, input, Kind::Float, "the input")) ? failure() : checkSameElement(op, op->getOperands());
}

FailureOr<Sizes> convolutionSizes(Operation *op, Value image, Value kernels, Value bias, int64_t group,
                                  int64_t together) {
  if (failed(checkConvolution(op, image, kernels, bias, group)))
    return failure();
  FailureOr<Window> window = getWindow(op);
  if (failed(window))
    return failure();
  Sizes input = sizesOf(image), weight = sizesOf(kernels);
  if (failed(unify(op, input[1], size::mul(weight[1], group * together),
                   "the input's channels and the weight's (times group)")))
    return failure();
  if (group > 1 && (!constantSize(weight[0]) || !constantSize(weight[1])))
    return emitError(op, ErrorCode::UnsupportedShape)
           << "groups need constant channels, but weight has " << text(op, weight);
  if (!size::exactDiv(weight[0], getAffineConstantExpr(group, op->getContext())))
    return emitError(op, ErrorCode::BadAttribute)
           << "group " << group << " does not divide " << text(op, weight[0]) << " output channels";
  if (bias && !isAbsent(bias) && failed(unify(op, weight[0], sizesOf(bias)[0], "the output channels and bias")))
    return failure();
  Sizes result = {input[0], weight[0]};
  for (size_t i = 0; i < window->kernel.size(); ++i) {
    if (failed(checkFits(op, input[i + 2], *window, i)))
      return failure();
    result.push_back(windowOutputs(input[i + 2], *window, i));
  }
  return result;
}

LogicalResult ConvOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (quadsOf(*this)) {
    FailureOr<Sizes> sizes = convolutionSizes(*this, getInput(), getWeight(), getBias(), getGroup(), bytesOfQuad);
    return failed(checkQuads(*this)) || failed(sizes) ? failure()
                                                      : addResult(*this, types, *sizes, elementOf(getWeight()));
  }
  if (failed(checkFloats(*this, getInput())))
    return failure();
  FailureOr<Sizes> sizes = convolutionSizes(*this, getInput(), getWeight(), getBias(), getGroup());
  return failed(sizes) ? failure() : addResult(*this, types, *sizes, elementOf(getInput()));
}

LogicalResult StrassenOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes result = sizesOf(getLhs()), weight = sizesOf(getWeight());
  std::optional<int64_t> stored = weight.size() == 3 ? constantSize(weight[0]) : std::nullopt;
  if (getAxis() < 1 || getAxis() >= int64_t(result.size()) || !stored || *stored < 4 || *stored > 7)
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "a product in quarters needs rows along an axis and a weight of [4 to 7, rows, columns], not "
           << text(*this, weight);
  AffineExpr &size = result[getAxis()];
  if (failed(unify(*this, size, size::mul(weight[1], 2), "the axis and twice the weight's rows")))
    return failure();
  size = size::mul(weight[2], 2);
  return addResult(*this, types, result, elementOf(getLhs()));
}

LogicalResult WinogradConvOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes input = sizesOf(getInput()), weight = sizesOf(getWeight());
  if (input.size() != 4 || weight.size() != 3 || getPads().size() != 4 || (getTile() != 2 && getTile() != 4) ||
      !isConstant(weight[0], (getTile() + 2) * (getTile() + 2)))
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "tiles of 2 or 4 pixels need an image, four pads and a weight of [16 or 36, channels, channels], not "
           << text(*this, weight);
  if (failed(unify(*this, input[1], size::mul(weight[1], getGroup()), "the input's channels and the weight's")))
    return failure();
  Sizes result = {input[0], weight[2]};
  for (int64_t d = 0; d < 2; ++d)
    result.push_back(size::add(input[2 + d], getPads()[d] + getPads()[2 + d] - 2));
  return addResult(*this, types, result, elementOf(getInput()));
}

LogicalResult ConvTransposeOp::inferTypes(SmallVectorImpl<Type> &types) {
  int64_t group = getGroup();
  if (failed(checkFloats(*this, getInput())) ||
      failed(checkConvolution(*this, getInput(), getWeight(), getBias(), group)))
    return failure();
  FailureOr<Window> window = getWindow(*this);
  if (failed(window))
    return failure();
  Sizes input = sizesOf(getInput()), weight = sizesOf(getWeight());
  FailureOr<AffineExpr> channels = unify(*this, input[1], weight[0], "the input's channels and the weight's");
  if (failed(channels))
    return failure();
  bool isDivided = bool(size::exactDiv(*channels, getAffineConstantExpr(group, getContext())));
  if (!isDivided && !constantSize(*channels))
    return fathom::emitError(*this, ErrorCode::UnsupportedShape)
           << "groups need constant channels, but weight has " << text(*this, weight);
  if (!isDivided)
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "group " << group << " does not divide " << text(*this, *channels) << " input channels";
  AffineExpr outputChannels = size::mul(weight[1], group);
  if (!isAbsent(getBias()) &&
      failed(unify(*this, outputChannels, sizesOf(getBias())[0], "the output channels and bias")))
    return failure();
  Sizes result = {input[0], outputChannels};
  for (size_t i = 0; i < window->kernel.size(); ++i) {
    int64_t extra = getOutputPadding() ? (*getOutputPadding())[i] : 0;
    int64_t rest = extra + effectiveKernel(*window, i) - window->strides[i] - window->padsBegin[i] - window->padsEnd[i];
    result.push_back(size::add(size::mul(input[i + 2], window->strides[i]), rest));
  }
  return addResult(*this, types, result, elementOf(getInput()));
}

// Outputs of a pool that rounds up: the last window is left out where it would start in the end padding, so that the
// count is the smaller of ceil((size + begin + end - kernel) / stride) + 1 and ceil((size + begin) / stride). Which of
// them that is does not depend on the size. Of more windows than one that start there, one is left out all the same.
static AffineExpr ceilOutputs(AffineExpr size, const Window &window, size_t dim) {
  int64_t stride = window.strides[dim], reach = window.padsEnd[dim] + stride - effectiveKernel(window, dim);
  if (reach > 0)
    reach = std::max<int64_t>(reach - stride, 0);
  return size::ceilDiv(size::add(size, window.padsBegin[dim] + reach), stride);
}

static LogicalResult inferPool(Operation *op, SmallVectorImpl<Type> &types, bool ceil) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window))
    return failure();
  Sizes input = sizesOf(op->getOperand(0)), result = {input[0], input[1]};
  for (size_t i = 0; i < window->kernel.size(); ++i) {
    AffineExpr outputs = ceil ? ceilOutputs(input[i + 2], *window, i) : windowOutputs(input[i + 2], *window, i);
    // Where sizes are rounded up, there may be a window that ends behind the padding.
    bool hasWindow = ceil && constantSize(outputs).value_or(1) > 0;
    if (!hasWindow && failed(checkFits(op, input[i + 2], *window, i)))
      return failure();
    result.push_back(outputs);
  }
  return addResult(op, types, result, elementOf(op->getOperand(0)));
}

LogicalResult AveragePoolOp::inferTypes(SmallVectorImpl<Type> &types) {
  return failed(checkKind(*this, getInput(), Kind::Float, "the input")) ? failure()
                                                                        : inferPool(*this, types, getCeilMode() != 0);
}

LogicalResult LpPoolOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (getP() < 1)
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "p must be positive, but is " << getP();
  return failed(checkKind(*this, getInput(), Kind::Float, "the input")) ? failure()
                                                                        : inferPool(*this, types, getCeilMode() != 0);
}

LogicalResult MaxPoolOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (getStorageOrder() != 0 && getStorageOrder() != 1)
    return fathom::emitError(*this, ErrorCode::BadAttribute)
           << "storage_order must be 0 or 1, but is " << getStorageOrder();
  if (failed(checkKind(*this, getInput(), Kind::Numeric, "the input")) ||
      failed(inferPool(*this, types, getCeilMode() != 0)))
    return failure();
  if (getOperation()->getNumResults() == 2)
    types.push_back(cast<RankedTensorType>(types[0]).clone(IntegerType::get(getContext(), 64)));
  return success();
}

static LogicalResult inferGlobalPool(Operation *op, SmallVectorImpl<Type> &types) {
  Value input = op->getOperand(0);
  if (failed(checkKind(op, input, Kind::Float, "the input")) || failed(checkRankAtLeast(op, input, 3, "the input")))
    return failure();
  Sizes sizes = sizesOf(input);
  std::fill(sizes.begin() + 2, sizes.end(), getAffineConstantExpr(1, op->getContext()));
  return addResult(op, types, sizes, elementOf(input));
}
LogicalResult GlobalAveragePoolOp::inferTypes(SmallVectorImpl<Type> &types) { return inferGlobalPool(*this, types); }
LogicalResult GlobalMaxPoolOp::inferTypes(SmallVectorImpl<Type> &types) { return inferGlobalPool(*this, types); }
LogicalResult GlobalLpPoolOp::inferTypes(SmallVectorImpl<Type> &types) {
  if (getP() < 1)
    return fathom::emitError(*this, ErrorCode::BadAttribute) << "p must be positive, but is " << getP();
  return inferGlobalPool(*this, types);
}

} // namespace fathom::graph
