// Normalisations by statistics of the input, as layer normalisation, pooling and reductions.
#include "compiler/passes/Decompose.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

// Appends dimensions of size one, so that a vector over channels broadcasts against [N, C, ...].
Value alongChannels(PatternRewriter &rewriter, Operation *op, Value vector, int64_t spatial, StringRef suffix) {
  if (spatial == 0)
    return vector;
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, 1 + spatial));
  return createNamed<UnsqueezeOp>(rewriter, op, suffix, vector, makeInts(rewriter, op, axes));
}

// Normalises over all dimensions from 2 on, then scales and shifts by what broadcasts to the input. The scale of the
// layer normalisation itself could not differ along the dimensions before.
Value normalize(PatternRewriter &rewriter, Operation *op, StringRef suffix, Value input, Value scale, Value bias,
                FloatAttr epsilon) {
  Type unknown = placeholder(op->getContext()), element = cast<RankedTensorType>(input.getType()).getElementType();
  auto normal = createNamed<LayerNormalizationOp>(
      rewriter, op, ".normal", unknown, unknown, input, makeScalar(rewriter, op, element, 1),
      makeNone(rewriter, op->getLoc()), rewriter.getI64IntegerAttr(2), epsilon, rewriter.getI64IntegerAttr(1));
  Value scaled = createNamed<MulOp>(rewriter, op, ".scaled", normal.getResult(), scale);
  return createNamed<AddOp>(rewriter, op, suffix, scaled, bias);
}

LogicalResult expandInstanceNorm(InstanceNormalizationOp op, PatternRewriter &rewriter) {
  int64_t spatial = rankOf(op.getInput()) - 2;
  Value scale = alongChannels(rewriter, op, op.getScale(), spatial, ".scale"),
        bias = alongChannels(rewriter, op, op.getBias(), spatial, ".bias");
  rewriter.replaceOp(op, normalize(rewriter, op, "", op.getInput(), scale, bias, op.getEpsilonAttr()));
  return success();
}

// [N, C, ...] as [N, groups, C / groups, rest] has every group in the trailing dimensions.
LogicalResult expandGroupNorm(GroupNormalizationOp op, PatternRewriter &rewriter) {
  // The result's type knows the channels where the scale or the bias does.
  Sizes sizes = sizesOf(op.getResult());
  int64_t channels = *constantSize(sizes[1]);
  int64_t groups = op.getNumGroups();
  AffineExpr rest = getAffineConstantExpr(1, op.getContext());
  for (AffineExpr size : ArrayRef(sizes).drop_front(2))
    rest = rest * size;
  auto constant = [&](int64_t value) { return getAffineConstantExpr(value, op.getContext()); };
  AffineExpr count = constant(groups), each = constant(channels / groups);
  auto perGroup = [&](Value vector, StringRef suffix) {
    return reshape(rewriter, op, suffix, vector, {count, each, constant(1)});
  };
  Value input = reshape(rewriter, op, ".groups", op.getInput(), {sizes[0], count, each, rest});
  Value result = normalize(rewriter, op, ".shifted", input, perGroup(op.getScale(), ".scale"),
                           perGroup(op.getBias(), ".bias"), op.getEpsilonAttr());
  rewriter.replaceOp(op, reshape(rewriter, op, "", result, sizes));
  return success();
}

// The sum over neighbouring channels is an average pooling of the squares with the channels as a spatial dimension.
LogicalResult expandLrn(LRNOp op, PatternRewriter &rewriter) {
  Sizes sizes = sizesOf(op.getInput());
  Type element = op.getType().getElementType();
  AffineExpr one = getAffineConstantExpr(1, op.getContext()), rest = one;
  for (AffineExpr size : ArrayRef(sizes).drop_front(2))
    rest = rest * size;
  int64_t window = op.getSize(), before = (window - 1) / 2, after = window - 1 - before;
  IntegerAttr no = rewriter.getI64IntegerAttr(0);
  Value squares = createNamed<MulOp>(rewriter, op, ".squares", op.getInput(), op.getInput());
  Value rows = reshape(rewriter, op, ".rows", squares, {sizes[0], one, sizes[1], rest});
  Value mean = createNamed<AveragePoolOp>(rewriter, op, ".mean", rows, rewriter.getStringAttr("NOTSET"),
                                          DenseI64ArrayAttr(), rewriter.getDenseI64ArrayAttr({window, 1}),
                                          rewriter.getDenseI64ArrayAttr({before, 0, after, 0}), DenseI64ArrayAttr(), no,
                                          rewriter.getI64IntegerAttr(1));
  mean = reshape(rewriter, op, ".means", mean, sizes);
  Value scaled = createNamed<MulOp>(rewriter, op, ".scaled", mean,
                                    makeScalar(rewriter, op, element, op.getAlpha().convertToDouble()));
  Value shifted = createNamed<AddOp>(rewriter, op, ".shifted", scaled,
                                     makeScalar(rewriter, op, element, op.getBias().convertToDouble()));
  Value power = createNamed<PowOp>(rewriter, op, ".power", shifted,
                                   makeScalar(rewriter, op, element, op.getBeta().convertToDouble()));
  rewriter.replaceOp(op, createNamed<DivOp>(rewriter, op, "", op.getInput(), power));
  return success();
}

LogicalResult expandGlobalLpPool(GlobalLpPoolOp op, PatternRewriter &rewriter) {
  Value axes = makeInts(rewriter, op, llvm::to_vector(llvm::seq<int64_t>(2, rankOf(op.getInput()))));
  IntegerAttr keep = rewriter.getI64IntegerAttr(1), no = rewriter.getI64IntegerAttr(0);
  if (op.getP() == 1)
    return rewriter.replaceOp(op, createNamed<ReduceL1Op>(rewriter, op, "", op.getInput(), axes, keep, no)), success();
  if (op.getP() == 2)
    return rewriter.replaceOp(op, createNamed<ReduceL2Op>(rewriter, op, "", op.getInput(), axes, keep, no)), success();
  // Powers leave the range of short floats much sooner than their root does.
  Type given = op.getType().getElementType(), element = given;
  Value input = op.getInput();
  if (given.getIntOrFloatBitWidth() < 32) {
    element = rewriter.getF32Type();
    input = createNamed<CastOp>(rewriter, op, ".single", input, TypeAttr::get(element));
  }
  Value powers = createNamed<PowOp>(rewriter, op, ".powers", createNamed<AbsOp>(rewriter, op, ".abs", input),
                                    makeScalar(rewriter, op, element, op.getP()));
  Value sum = createNamed<ReduceSumOp>(rewriter, op, ".sum", powers, axes, keep, no);
  Value exponent = makeScalar(rewriter, op, element, 1.0 / op.getP());
  if (element == given)
    return rewriter.replaceOp(op, createNamed<PowOp>(rewriter, op, "", sum, exponent)), success();
  Value root = createNamed<PowOp>(rewriter, op, ".root", sum, exponent);
  rewriter.replaceOp(op, createNamed<CastOp>(rewriter, op, "", root, TypeAttr::get(given)));
  return success();
}

// The training form: statistics of this batch, and running ones that move towards them.
LogicalResult expandTrainingBatchNorm(BatchNormalizationOp op, PatternRewriter &rewriter) {
  if (!op.getTrainingMode())
    return failure();
  int64_t rank = rankOf(op.getInput());
  SmallVector<int64_t> others{0};
  llvm::append_range(others, llvm::seq<int64_t>(2, rank));
  Value axes = makeInts(rewriter, op, others);
  IntegerAttr keep = rewriter.getI64IntegerAttr(1), no = rewriter.getI64IntegerAttr(0);
  Type element = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  Value mean = createNamed<ReduceMeanOp>(rewriter, op, ".mean", op.getInput(), axes, keep, no);
  Value centered = createNamed<SubOp>(rewriter, op, ".centered", op.getInput(), mean);
  Value squares = createNamed<MulOp>(rewriter, op, ".squares", centered, centered);
  Value variance = createNamed<ReduceMeanOp>(rewriter, op, ".variance", squares, axes, keep, no);
  Value epsilon = makeScalar(rewriter, op, element, op.getEpsilon().convertToDouble());
  Value deviation =
      createNamed<SqrtOp>(rewriter, op, ".deviation", createNamed<AddOp>(rewriter, op, ".positive", variance, epsilon));
  auto inElement = [&](Value vector, StringRef suffix) -> Value {
    vector = alongChannels(rewriter, op, vector, rank - 2, suffix);
    if (cast<RankedTensorType>(vector.getType()).getElementType() == element)
      return vector;
    return createNamed<CastOp>(rewriter, op, (suffix + ".cast").str(), vector, TypeAttr::get(element));
  };
  Value normal = createNamed<DivOp>(rewriter, op, ".normal", centered, deviation);
  Value scaled = createNamed<MulOp>(rewriter, op, ".scaled", normal, inElement(op.getScale(), ".scale"));
  SmallVector<Value> results{createNamed<AddOp>(rewriter, op, "", scaled, inElement(op.getBias(), ".bias"))};
  double momentum = op.getMomentum().convertToDouble();
  auto running = [&](Value old, Value now, StringRef suffix) -> Value {
    Type type = cast<RankedTensorType>(old.getType()).getElementType();
    now = createNamed<SqueezeOp>(rewriter, op, (suffix + ".flat").str(), now, axes);
    if (type != element)
      now = createNamed<CastOp>(rewriter, op, (suffix + ".cast").str(), now, TypeAttr::get(type));
    Value kept =
        createNamed<MulOp>(rewriter, op, (suffix + ".kept").str(), old, makeScalar(rewriter, op, type, momentum));
    Value added =
        createNamed<MulOp>(rewriter, op, (suffix + ".added").str(), now, makeScalar(rewriter, op, type, 1 - momentum));
    return createNamed<AddOp>(rewriter, op, suffix, kept, added);
  };
  if (op.getNumResults() > 1)
    results.push_back(running(op.getMean(), mean, ".running_mean"));
  if (op.getNumResults() > 2)
    results.push_back(running(op.getVar(), variance, ".running_var"));
  rewriter.replaceOp(op, results);
  return success();
}

} // namespace

void populateDecomposeNormalization(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  auto add = [&]<typename Op>(LogicalResult (*function)(Op, PatternRewriter &)) {
    patterns.add(std::make_unique<FunctionRewrite<Op>>(context, function));
  };
  add(expandInstanceNorm);
  add(expandGroupNorm);
  add(expandLrn);
  add(expandGlobalLpPool);
  add(expandTrainingBatchNorm);
}

} // namespace fathom
