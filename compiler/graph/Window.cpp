// The geometry of convolution and pooling windows: checks the attributes and resolves auto_pad.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

// Attributes of windows are limited to this, so that sums and products of a few of them stay far from overflow.
static constexpr int64_t maxExtent = INT32_MAX;

int64_t effectiveKernel(const Window &window, int64_t dim) {
  return (window.kernel[dim] - 1) * window.dilations[dim] + 1;
}

static FailureOr<SmallVector<int64_t>> readList(Operation *op, StringRef name, size_t size, int64_t otherwise,
                                                int64_t least) {
  auto attribute = op->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!attribute)
    return SmallVector<int64_t>(size, otherwise);
  SmallVector<int64_t> values(attribute.asArrayRef());
  if (values.size() != size)
    return emitError(op, ErrorCode::BadAttribute)
           << name << " must have " << size << " entries, but has " << values.size();
  for (int64_t value : values)
    if (value < least || value > maxExtent)
      return emitError(op, ErrorCode::BadAttribute) << name << " holds " << value << ", which is out of range";
  return values;
}

static FailureOr<SmallVector<int64_t>> readKernel(Operation *op, size_t rank) {
  FailureOr<SmallVector<int64_t>> kernel = readList(op, "kernel_shape", rank, 0, 1);
  bool isConvolution = !op->hasTrait<Pooling>(), isGiven = bool(op->getAttr("kernel_shape"));
  if (failed(kernel) || (!isConvolution && isGiven))
    return kernel;
  if (!isConvolution)
    return emitError(op, ErrorCode::BadAttribute) << "kernel_shape is missing";
  Sizes weight = sizesOf(isa<QLinearConvOp>(op) ? cast<QLinearConvOp>(op).getWeight() : op->getOperand(1));
  if (weight.size() != rank + 2)
    return emitError(op, ErrorCode::BadShape)
           << "weight must have rank " << rank + 2 << ", but has sizes " << text(op, weight);
  for (size_t i = 0; i < rank; ++i) {
    std::optional<int64_t> size = constantSize(weight[i + 2]);
    if (!size && isGiven) {
      assumeEqual(weight[i + 2], getAffineConstantExpr((*kernel)[i], op->getContext()));
      continue;
    }
    if (!size)
      return hint(emitError(op, ErrorCode::UnsupportedShape)
                      << "weight must have constant spatial sizes, but has " << text(op, weight),
                  "give the node a kernel_shape");
    if (*size < 1 || *size > maxExtent)
      return emitError(op, ErrorCode::BadShape) << "weight has no usable spatial sizes: " << text(op, weight);
    if (isGiven && (*kernel)[i] != *size)
      return emitError(op, ErrorCode::BadAttribute)
             << "kernel_shape says " << (*kernel)[i] << " where weight has " << *size;
    (*kernel)[i] = *size;
  }
  return kernel;
}

static void splitPadding(Window &window, size_t dim, int64_t total, bool lower) {
  window.padsBegin[dim] = lower ? total - total / 2 : total / 2;
  window.padsEnd[dim] = total - window.padsBegin[dim];
}

// SAME: as many outputs as there are strides in the input.
static LogicalResult padSame(Operation *op, Window &window, bool lower) {
  Sizes input = sizesOf(op->getOperand(0));
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    std::optional<int64_t> size = constantSize(input[i + 2]);
    // A window that moves by one leaves as many outputs as inputs with the same padding for all sizes.
    if (!size && window.strides[i] == 1) {
      splitPadding(window, i, effectiveKernel(window, i) - 1, lower);
      continue;
    }
    if (!size)
      return hint(emitError(op, ErrorCode::UnsupportedShape)
                      << "auto_pad needs constant spatial sizes, but the input has " << text(op, input),
                  "export the model with explicit pads");
    int64_t stride = window.strides[i], outputs = llvm::divideCeil(*size, stride);
    splitPadding(window, i, std::max<int64_t>((outputs - 1) * stride + effectiveKernel(window, i) - *size, 0), lower);
  }
  return success();
}

// A transposed convolution may state its output sizes instead of its padding.
static LogicalResult padTransposed(ConvTransposeOp op, Window &window, StringRef autoPad) {
  Sizes input = sizesOf(op.getInput());
  size_t rank = window.kernel.size();
  FailureOr<SmallVector<int64_t>> extra = readList(op, "output_padding", rank, 0, 0);
  if (failed(extra))
    return failure();
  bool isGiven = op.getOutputShapeAttr() != nullptr, isSame = autoPad.starts_with("SAME");
  if (!isGiven && !isSame)
    return success();
  FailureOr<SmallVector<int64_t>> outputs = readList(op, "output_shape", rank, 0, 1);
  if (failed(outputs))
    return failure();
  for (size_t i = 0; i < rank; ++i) {
    std::optional<int64_t> size = constantSize(input[i + 2]);
    // As many outputs as strides in the input take the same padding for all sizes.
    if (!size && !isGiven)
      size = 1;
    if (!size)
      return emitError(op, ErrorCode::UnsupportedShape)
             << "output_shape needs constant spatial sizes, but the input has " << text(op, input);
    if (*size > maxExtent)
      return emitError(op, ErrorCode::BadShape) << "spatial size " << *size << " is too large";
    int64_t stride = window.strides[i], full = stride * (*size - 1) + (*extra)[i] + effectiveKernel(window, i);
    int64_t total = full - (isGiven ? (*outputs)[i] : *size * stride);
    // Outputs past what the window reaches are a negative padding at the end, as output_padding is.
    splitPadding(window, i, std::max<int64_t>(total, 0), autoPad != "SAME_UPPER");
    window.padsEnd[i] += std::min<int64_t>(total, 0);
  }
  return success();
}

FailureOr<Window> getWindow(Operation *op) {
  Value input = op->getOperand(0);
  int64_t rank = rankOf(input) - 2;
  if (rank < 1)
    return emitError(op, ErrorCode::BadShape)
           << "the input must have at least rank 3, but has sizes " << text(op, sizesOf(input));
  if (rank > 3)
    return emitError(op, ErrorCode::UnsupportedShape) << "more than 3 spatial dimensions: " << text(op, sizesOf(input));
  FailureOr<SmallVector<int64_t>> kernel = readKernel(op, rank);
  FailureOr<SmallVector<int64_t>> strides = readList(op, "strides", rank, 1, 1),
                                  dilations = readList(op, "dilations", rank, 1, 1);
  FailureOr<SmallVector<int64_t>> pads = readList(op, "pads", 2 * rank, 0, 0);
  if (failed(kernel) || failed(strides) || failed(dilations) || failed(pads))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (((*kernel)[i] - 1) * (*dilations)[i] > maxExtent)
      return emitError(op, ErrorCode::BadAttribute)
             << "kernel size " << (*kernel)[i] << " with dilation " << (*dilations)[i] << " is too large";
  ArrayRef<int64_t> all = *pads;
  Window window{*kernel, *strides, *dilations, SmallVector<int64_t>(all.take_front(rank)),
                SmallVector<int64_t>(all.take_back(rank))};
  auto attribute = op->getAttrOfType<StringAttr>("auto_pad");
  StringRef autoPad = attribute ? attribute.getValue() : "NOTSET";
  if (failed(checkOneOf(op, "auto_pad", autoPad, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})))
    return failure();
  if (autoPad != "NOTSET") {
    window.padsBegin.assign(rank, 0);
    window.padsEnd.assign(rank, 0);
  }
  if (auto transposed = dyn_cast<ConvTransposeOp>(op)) {
    if (failed(padTransposed(transposed, window, autoPad)))
      return failure();
  } else if (autoPad.starts_with("SAME") && failed(padSame(op, window, autoPad == "SAME_LOWER"))) {
    return failure();
  }
  return window;
}

} // namespace fathom::graph
