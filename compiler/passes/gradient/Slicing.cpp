// Rules of operators that take a tensor apart, put it together, and fill up around it.
#include "compiler/passes/gradient/Parts.h"
#include "compiler/passes/gradient/Rules.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

// Every step-th element and zeros between them.
Term stretched(Term part, int64_t axis, int64_t step) {
  Sizes sizes = part.sizes();
  MLIRContext *context = part.type().getContext();
  AffineExpr one = getAffineConstantExpr(1, context), zero = getAffineConstantExpr(0, context);
  Sizes columns = sizes;
  columns.insert(columns.begin() + axis + 1, one);
  part = padded(part.reshaped(columns), axis + 1, zero, getAffineConstantExpr(step - 1, context));
  AffineExpr all = size::mul(sizes[axis], step);
  sizes[axis] = all;
  return sliced(part.reshaped(sizes), axis, zero, size::add(all, 1 - step));
}

// Puts what a slice took of an axis back to where it was.
Term putBack(Term part, int64_t axis, const SliceRange &range, AffineExpr whole) {
  AffineExpr start = range.start;
  Emitter &ops = part.ops();
  int64_t step = std::abs(range.step);
  if (range.step < 0) {
    part = part.apply<SliceOp>(ops.ints({-1}), ops.ints({INT64_MIN}), ops.ints({axis}), ops.ints({-1}));
    start = size::sub(start, size::mul(size::add(range.size, -1), step));
  }
  if (step > 1)
    part = stretched(part, axis, step);
  return padded(part, axis, start, size::sub(size::sub(whole, start), part.sizes()[axis]));
}

LogicalResult addSlice(SliceOp op, Backward &back) {
  if (!back.isActive(op.getInput()))
    return success();
  FailureOr<SmallVector<SliceRange>> ranges = getSlice(op);
  if (failed(ranges))
    return failure();
  // Nothing was taken.
  if (llvm::any_of(*ranges, [](const SliceRange &range) { return isConstant(range.size, 0); }))
    return success();
  Term part = back.adjoint();
  for (auto [axis, range] : llvm::enumerate(*ranges))
    part = putBack(part, axis, range, sizesOf(op.getInput())[axis]);
  return back.add(op.getInput(), part);
}

// Where it starts may be known only when the model runs.
LogicalResult addDynamicSlice(DynamicSliceOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Sizes sizes = sizesOf(op.getInput());
    Term part = back.adjoint(), starts = back.term(op.getStarts());
    auto known = elementsOf(op.getStarts());
    Emitter &ops = back.ops();
    for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
      AffineExpr count = part.sizes()[axis];
      if (known) {
        part = putBack(part, axis, {(*known)[i], count, op.getSteps()[i]}, sizes[axis]);
        continue;
      }
      Sizes whole = part.sizes();
      whole[axis] = sizes[axis];
      Term steps(ops, makeConstant(ops.builder, ops.like,
                                   DenseElementsAttr::get(RankedTensorType::get({}, ops.builder.getI64Type()),
                                                          ArrayRef<int64_t>(op.getSteps()[i]))));
      Term start =
          sliced(starts, 0, getAffineConstantExpr(i, op.getContext()), getAffineConstantExpr(1, op.getContext()));
      part = scattered(part, axis, counted(ops, count) * steps + start.cast(ops.builder.getI64Type()), whole);
    }
    return part;
  });
}

LogicalResult addConcat(ConcatOp op, Backward &back) {
  int64_t axis = *normalizeAxis(op.getAxis(), op.getType().getRank());
  AffineExpr start = getAffineConstantExpr(0, op.getContext());
  for (Value input : op.getInputs()) {
    AffineExpr size = sizesOf(input)[axis];
    if (failed(back.addIfActive(input, [&] { return sliced(back.adjoint(), axis, start, size); })))
      return failure();
    start = size::add(start, size);
  }
  return success();
}

// Repetitions become dimensions of their own, over which is summed.
LogicalResult addTile(TileOp op, Backward &back) {
  auto repeats = elementsOf(op.getRepeats());
  if (!repeats)
    return hint(emitError(op, ErrorCode::UnsupportedShape) << "how often is repeated is only known when the model runs",
                "gradients need it to be a constant");
  return back.addIfActive(op.getInput(), [&] {
    Sizes sizes = sizesOf(op.getInput()), split;
    SmallVector<int64_t> axes;
    for (auto [repeat, size] : llvm::zip_equal(*repeats, sizes)) {
      if (!isConstant(repeat, 1)) {
        axes.push_back(split.size());
        split.push_back(repeat);
      }
      split.push_back(size);
    }
    return back.adjoint().reshaped(split).sum(axes, /*keeps=*/false);
  });
}

// Fillers are copies of elements, which a matrix of zeros and ones says: what the same padding makes of unit vectors.
LogicalResult addCopies(PadOp op, Backward &back, ArrayRef<AffineExpr> before, ArrayRef<AffineExpr> after) {
  Emitter &ops = back.ops();
  Term part = back.adjoint();
  for (auto [axis, size] : llvm::enumerate(sizesOf(op.getInput()))) {
    if (isConstant(before[axis], 0) && isConstant(after[axis], 0))
      continue;
    auto count = constantSize(size);
    if (!count)
      return hint(emitError(op, ErrorCode::UnsupportedShape)
                      << "the gradient of padding by copies needs tensors of known sizes",
                  "give the model's dynamic dimensions sizes with --dim");
    Term matrix = unitMatrix(back, *count, op.getType().getElementType())
                      .apply<PadOp>(sizesOperand(ops.builder, ops.like, {before[axis], after[axis]}), ops.none(),
                                    ops.ints({1}), op.getModeAttr());
    part = multipliedAlong(part, axis, matrix.exchanged());
  }
  return back.add(op.getInput(), part);
}

LogicalResult addPad(PadOp op, Backward &back) {
  Sizes sizes = sizesOf(op.getInput());
  AffineExpr zero = getAffineConstantExpr(0, op.getContext());
  SmallVector<AffineExpr> before(sizes.size(), zero), after(sizes.size(), zero);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  if (!isa<NoneType>(op.getAxes().getType()))
    axes = *constantElementsOf(op.getAxes());
  Elements pads = *elementsOf(op.getPads());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t d = *normalizeAxis(axis, sizes.size());
    before[d] = pads[i], after[d] = pads[i + axes.size()];
  }
  if (op.getMode() != "constant")
    return back.isActive(op.getInput()) ? addCopies(op, back, before, after) : success();
  Term part = back.adjoint();
  SymbolList symbols = symbolsFor(op);
  // Where elements were cut off instead, they have zeros.
  for (size_t d = 0; d < sizes.size(); ++d) {
    auto isCut = [&](AffineExpr pad) { return size::upperBound(pad, symbols).value_or(0) < 0; };
    AffineExpr front = isCut(before[d]) ? zero : before[d], end = isCut(after[d]) ? zero : after[d];
    part = sliced(part, d, front, size::sub(size::sub(part.sizes()[d], front), end));
    part = padded(part, d, isCut(before[d]) ? size::mul(before[d], -1) : zero,
                  isCut(after[d]) ? size::mul(after[d], -1) : zero);
  }
  if (failed(back.addIfActive(op.getConstantValue(), [&] {
        SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
        return back.adjoint().sum(all, /*keeps=*/false) - part.sum(all, /*keeps=*/false);
      })))
    return failure();
  return back.add(op.getInput(), part);
}

// Resampling is linear along each axis: a matrix says it, which is what resampling makes of unit vectors.
LogicalResult addResize(ResizeOp op, Backward &back) {
  if (!back.isActive(op.getInput()))
    return success();
  auto refuse = [&](StringRef what) {
    return hint(emitError(op, ErrorCode::UnsupportedShape) << "the gradient of resizing needs " << what,
                "give the model's dynamic dimensions sizes with --dim, and its sizes as constants");
  };
  Emitter &ops = back.ops();
  Sizes sizes = sizesOf(op.getInput()), outputs = sizesOf(op.getResult());
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  if (op.getAxes())
    axes = llvm::to_vector(*op.getAxes());
  bool hasScales = !isa<NoneType>(op.getScales().getType());
  auto scales = hasScales ? constantFloatsOf(op.getScales()) : std::nullopt;
  if (op.getCoordinateTransformationMode() == "tf_crop_and_resize" || op.getKeepAspectRatioPolicy() != "stretch" ||
      (hasScales && !scales))
    return refuse("constant scales, and nothing that is cropped or kept");
  Term part = back.adjoint();
  for (auto [i, given] : llvm::enumerate(axes)) {
    int64_t axis = *normalizeAxis(given, sizes.size());
    auto count = constantSize(sizes[axis]), wanted = constantSize(outputs[axis]);
    if (sizes[axis] == outputs[axis] && (!hasScales || (*scales)[i] == 1))
      continue;
    if (!count || !wanted)
      return refuse("images of known sizes");
    Value scale = ops.none(), extent = ops.ints({*wanted});
    if (hasScales) {
      Type f32 = ops.builder.getF32Type();
      scale = makeConstant(ops.builder, ops.like,
                           DenseElementsAttr::get(RankedTensorType::get({1}, f32), {float((*scales)[i])}));
      extent = ops.none();
    }
    Term matrix =
        unitMatrix(back, *count, op.getType().getElementType())
            .apply<ResizeOp>(ops.none(), scale, extent, op.getAntialiasAttr(), ops.builder.getDenseI64ArrayAttr({1}),
                             op.getCoordinateTransformationModeAttr(), op.getCubicCoeffAAttr(),
                             op.getExcludeOutsideAttr(), op.getExtrapolationValueAttr(),
                             op.getKeepAspectRatioPolicyAttr(), op.getModeAttr(), op.getNearestModeAttr());
    part = multipliedAlong(part, axis, matrix.exchanged());
  }
  return back.add(op.getInput(), part);
}

} // namespace

void addSlicingRules(Rules &rules) {
  rules.add(addConcat);
  rules.add(addDynamicSlice);
  rules.add(addPad);
  rules.add(addResize);
  rules.add(addSlice);
  rules.add(addTile);
}

} // namespace fathom::gradient
