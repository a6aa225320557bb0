// The shape function of Resize: output sizes from scales or from sizes, for some or all axes.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

static LogicalResult checkModes(ResizeOp op) {
  return success(succeeded(checkOneOf(op, "mode", op.getMode(), {"nearest", "linear", "cubic"})) &&
                 succeeded(checkOneOf(op, "coordinate_transformation_mode", op.getCoordinateTransformationMode(),
                                      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"})) &&
                 succeeded(checkOneOf(op, "nearest_mode", op.getNearestMode(),
                                      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) &&
                 succeeded(checkOneOf(op, "keep_aspect_ratio_policy", op.getKeepAspectRatioPolicy(),
                                      {"stretch", "not_larger", "not_smaller"})));
}

// How much of each resized axis the region of interest covers; 1 unless the mode crops.
static FailureOr<SmallVector<double>> readExtents(ResizeOp op, size_t count) {
  SmallVector<double> extents(count, 1.0);
  if (op.getCoordinateTransformationMode() != "tf_crop_and_resize")
    return extents;
  if (isAbsent(op.getRoi()))
    return emitError(op, ErrorCode::BadGraph) << "tf_crop_and_resize needs a roi";
  std::optional<SmallVector<double>> roi = constantFloatsOf(op.getRoi());
  if (!roi)
    return emitError(op, ErrorCode::UnsupportedShape)
           << "the roi of tf_crop_and_resize is only known when the model runs";
  if (roi->size() != 2 * count)
    return emitError(op, ErrorCode::BadShape) << "roi has " << roi->size() << " elements for " << count << " axes";
  for (size_t i = 0; i < count; ++i)
    extents[i] = (*roi)[i + count] - (*roi)[i];
  return extents;
}

static FailureOr<AffineExpr> scaled(ResizeOp op, AffineExpr size, double scale) {
  if (!(scale > 0) || scale > double(maxElements))
    return emitError(op, ErrorCode::BadAttribute) << "scale " << scale << " is out of range";
  // In single precision, as ONNX's own shape inference computes it.
  if (std::optional<int64_t> constant = constantSize(size)) {
    float outputs = std::floor(float(*constant) * float(scale));
    if (!(outputs <= float(maxElements)))
      return emitError(op, ErrorCode::BadShape) << "scale " << scale << " makes size " << *constant << " too large";
    return getAffineConstantExpr(int64_t(outputs), op.getContext());
  }
  if (scale == std::floor(scale))
    return size::mul(size, int64_t(scale));
  double inverse = 1.0 / scale;
  if (inverse == std::floor(inverse))
    return size::floorDiv(size, int64_t(inverse));
  return emitError(op, ErrorCode::UnsupportedShape) << "scale " << scale << " of the symbolic size " << text(op, size)
                                                    << " is neither a whole number nor one over a whole number";
}

static LogicalResult applyScales(ResizeOp op, Sizes &sizes, ArrayRef<int64_t> axes) {
  if (failed(checkKind(op, op.getScales(), Kind::Float, "scales")))
    return failure();
  std::optional<SmallVector<double>> scales = constantFloatsOf(op.getScales());
  if (!scales)
    return hint(emitError(op, ErrorCode::UnsupportedShape) << "scales are only known when the model runs",
                "export the model with constant scales");
  if (scales->size() != axes.size())
    return emitError(op, ErrorCode::BadShape)
           << "scales has " << scales->size() << " elements for " << axes.size() << " axes";
  FailureOr<SmallVector<double>> extents = readExtents(op, axes.size());
  if (failed(extents))
    return failure();
  for (auto [axis, scale, extent] : llvm::zip_equal(axes, *scales, *extents)) {
    FailureOr<AffineExpr> size = scaled(op, sizes[axis], scale * extent);
    if (failed(size))
      return failure();
    sizes[axis] = *size;
  }
  return success();
}

static LogicalResult applySizes(ResizeOp op, Sizes &sizes, ArrayRef<int64_t> axes) {
  FailureOr<Elements> wanted = neededElements(op, op.getSizes(), "sizes");
  if (failed(wanted))
    return failure();
  if (wanted->size() != axes.size())
    return emitError(op, ErrorCode::BadShape)
           << "sizes has " << wanted->size() << " elements for " << axes.size() << " axes";
  bool isStretch = op.getKeepAspectRatioPolicy() == "stretch",
       isLarger = op.getKeepAspectRatioPolicy() == "not_smaller";
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip_equal(axes, *wanted)) {
    if (size::upperBound(size).value_or(0) < 0)
      return emitError(op, ErrorCode::BadShape) << "sizes holds " << text(op, size);
    if (isStretch) {
      sizes[axis] = size;
      continue;
    }
    std::optional<int64_t> from = constantSize(sizes[axis]), to = constantSize(size);
    if (!from || !to || *from == 0)
      return emitError(op, ErrorCode::UnsupportedShape) << "keeping the aspect ratio needs constant sizes";
    double ratio = double(*to) / double(*from);
    scale = !scale ? ratio : isLarger ? std::max(*scale, ratio) : std::min(*scale, ratio);
  }
  for (int64_t axis : scale ? axes : ArrayRef<int64_t>()) {
    double outputs = std::floor(*scale * double(*constantSize(sizes[axis])) + 0.5);
    if (!(outputs <= double(maxElements)))
      return emitError(op, ErrorCode::BadShape) << "sizes " << text(op, *wanted) << " are too large";
    sizes[axis] = getAffineConstantExpr(int64_t(outputs), op.getContext());
  }
  return success();
}

static LogicalResult checkRuntimeScales(ResizeOp op, int64_t count) {
  if (failed(checkKind(op, op.getScales(), Kind::Float, "scales")))
    return failure();
  if (rankOf(op.getScales()) != 1 || !isConstant(sizesOf(op.getScales())[0], count))
    return emitError(op, ErrorCode::BadShape)
           << "scales has sizes " << text(op, sizesOf(op.getScales())) << " for " << count << " axes";
  return success();
}

LogicalResult ResizeOp::inferTypes(SmallVectorImpl<Type> &types) {
  Sizes sizes = sizesOf(getInput());
  SmallVector<int64_t> given = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  if (getAxes())
    given.assign(getAxes()->begin(), getAxes()->end());
  FailureOr<SmallVector<int64_t>> axes = checkAxes(*this, given, sizes.size());
  if (failed(axes) || failed(checkModes(*this)))
    return failure();
  if (isAbsent(getScales()) && isAbsent(getSizes()))
    return fathom::emitError(*this, ErrorCode::BadGraph) << "needs either scales or sizes";
  // With both, the sizes are those that scales give which are only known when the model runs.
  if (!isAbsent(getScales()) && !isAbsent(getSizes()) && failed(checkRuntimeScales(*this, axes->size())))
    return failure();
  bool isCropping = getCoordinateTransformationMode() == "tf_crop_and_resize" && !isAbsent(getRoi());
  if (isCropping && (rankOf(getRoi()) != 1 || !isConstant(sizesOf(getRoi())[0], 2 * axes->size())))
    return fathom::emitError(*this, ErrorCode::BadShape)
           << "roi has sizes " << text(*this, sizesOf(getRoi())) << " for " << axes->size() << " axes";
  if (failed(isAbsent(getSizes()) ? applyScales(*this, sizes, *axes) : applySizes(*this, sizes, *axes)))
    return failure();
  // Sizes that are given leave nothing to read where there are no elements; scales keep none of none.
  for (int64_t axis : isAbsent(getSizes()) ? ArrayRef<int64_t>() : *axes) {
    AffineExpr from = sizesOf(getInput())[axis];
    if (isConstant(from, 0) && constantSize(sizes[axis]).value_or(0) > 0)
      return fathom::emitError(*this, ErrorCode::BadShape)
             << "axis " << axis << " has no elements that could become " << *constantSize(sizes[axis]);
    assumeAtLeast(size::mul(from, INT32_MAX), sizes[axis], "an axis without elements cannot be resized");
  }
  return addResult(*this, types, sizes, elementOf(getInput()));
}

} // namespace fathom::graph
