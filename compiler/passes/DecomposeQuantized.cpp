// Quantised products and convolutions by others: integer products as those of 32 bits, the rest as dequantise, compute,
// quantise.
#include "compiler/graph/SizeMath.h"
#include "compiler/passes/Decompose.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_DECOMPOSEQUANTIZEDPASS
#include "compiler/passes/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
bool isAbsent(Value value) { return isa<NoneType>(value.getType()); }

Value castTo(PatternRewriter &rewriter, Operation *op, Value value, Type element, StringRef suffix) {
  return createNamed<CastOp>(rewriter, op, suffix, value, TypeAttr::get(element));
}

// 32-bit numbers less their zero point.
Value centred(PatternRewriter &rewriter, Operation *op, Value numbers, Value zero, const Twine &name) {
  Type i32 = rewriter.getI32Type();
  Value wide = castTo(rewriter, op, numbers, i32, (name + ".i32").str());
  if (isAbsent(zero))
    return wide;
  return createNamed<SubOp>(rewriter, op, (name + ".centred").str(), wide,
                            castTo(rewriter, op, zero, i32, (name + ".zero.i32").str()));
}

// The window of one convolution for another.
template <typename Op>
Value convolve(PatternRewriter &rewriter, Op op, Value input, Value weight, Value bias, StringRef suffix) {
  return createNamed<ConvOp>(rewriter, op, suffix, input, weight, bias, op.getAutoPadAttr(), op.getDilationsAttr(),
                             op.getKernelShapeAttr(), op.getPadsAttr(), op.getStridesAttr(), op.getGroupAttr());
}

// Rows of the left matrix have their zero points, and columns of the right one.
LogicalResult expandMatMulInteger(MatMulIntegerOp op, PatternRewriter &rewriter) {
  Value lhs = centred(rewriter, op, op.getLhs(), op.getLhsZeroPoint(), ".lhs"),
        rhs = centred(rewriter, op, op.getRhs(), op.getRhsZeroPoint(), ".rhs");
  rewriter.replaceOp(op, createNamed<MatMulOp>(rewriter, op, "", lhs, rhs));
  return success();
}

LogicalResult expandQLinearMatMul(QLinearMatMulOp op, PatternRewriter &rewriter) {
  Value lhs =
            createNamed<DequantizeLinearOp>(rewriter, op, ".lhs", op.getLhs(), op.getLhsScale(), op.getLhsZeroPoint()),
        rhs =
            createNamed<DequantizeLinearOp>(rewriter, op, ".rhs", op.getRhs(), op.getRhsScale(), op.getRhsZeroPoint());
  Value product = createNamed<MatMulOp>(rewriter, op, ".product", lhs, rhs);
  rewriter.replaceOp(op, createNamed<QuantizeLinearOp>(rewriter, op, "", product, op.getScale(), op.getZeroPoint()));
  return success();
}

// Convolutions take floats: of the type in which every sum that can occur is exact.
LogicalResult expandConvInteger(ConvIntegerOp op, PatternRewriter &rewriter) {
  int64_t terms = 1;
  Sizes weight = sizesOf(op.getWeight());
  for (AffineExpr size : ArrayRef(weight).drop_front()) {
    std::optional<int64_t> known = constantSize(size);
    if (!known || llvm::MulOverflow(terms, *known, terms))
      terms = INT64_MAX / (255 * 255);
  }
  Type exact = terms < (1 << 24) / (255 * 255) ? rewriter.getF32Type() : rewriter.getF64Type();
  Value input = castTo(rewriter, op, centred(rewriter, op, op.getInput(), op.getInputZeroPoint(), ".input"), exact,
                       ".input.float"),
        filter = castTo(rewriter, op, centred(rewriter, op, op.getWeight(), op.getWeightZeroPoint(), ".weight"), exact,
                        ".weight.float");
  Value result = convolve(rewriter, op, input, filter, makeNone(rewriter, op.getLoc()), ".conv");
  rewriter.replaceOp(op, castTo(rewriter, op, result, rewriter.getI32Type(), ""));
  return success();
}

LogicalResult expandQLinearConv(QLinearConvOp op, PatternRewriter &rewriter) {
  Value input = createNamed<DequantizeLinearOp>(rewriter, op, ".input", op.getInput(), op.getInputScale(),
                                                op.getInputZeroPoint()),
        weight = createNamed<DequantizeLinearOp>(rewriter, op, ".weight", op.getWeight(), op.getWeightScale(),
                                                 op.getWeightZeroPoint());
  Value bias = op.getBias();
  if (!isAbsent(bias)) {
    // Its scale is that of the input times that of the weights, which lies along the output channels.
    Value scales = op.getWeightScale();
    if (typeOf(scales).getRank() > 1)
      scales = reshape(rewriter, op, ".bias.scales", scales, sizesOf(scales)[0]);
    Value scale = createNamed<MulOp>(rewriter, op, ".bias.scale", op.getInputScale(), scales);
    bias = createNamed<DequantizeLinearOp>(rewriter, op, ".bias", bias, scale, makeNone(rewriter, op.getLoc()));
  }
  Value result = convolve(rewriter, op, input, weight, bias, ".conv");
  rewriter.replaceOp(op, createNamed<QuantizeLinearOp>(rewriter, op, "", result, op.getScale(), op.getZeroPoint()));
  return success();
}

// ONNX's own definition of the operator.
LogicalResult expandDynamicQuantize(DynamicQuantizeLinearOp op, PatternRewriter &rewriter) {
  Type f32 = rewriter.getF32Type(), ui8 = rewriter.getIntegerType(8, /*isSigned=*/false);
  Value zero = makeScalar(rewriter, op, f32, 0), top = makeScalar(rewriter, op, f32, 255);
  Value all = makeNone(rewriter, op.getLoc());
  IntegerAttr no = rewriter.getI64IntegerAttr(0);
  Value least = createNamed<ReduceMinOp>(rewriter, op, ".min", op.getInput(), all, no, no),
        most = createNamed<ReduceMaxOp>(rewriter, op, ".max", op.getInput(), all, no, no);
  Value low = createNamed<MinOp>(rewriter, op, ".low", least, zero),
        high = createNamed<MaxOp>(rewriter, op, ".high", most, zero);
  Value range = createNamed<SubOp>(rewriter, op, ".range", high, low);
  // Nothing but zeros has any scale: 1, as in ONNX Runtime.
  Value isZero = createNamed<EqualOp>(rewriter, op, ".is_zero", range, zero);
  Value scale = createNamed<WhereOp>(rewriter, op, ".scale", isZero, makeScalar(rewriter, op, f32, 1),
                                     createNamed<DivOp>(rewriter, op, ".step", range, top));
  Value steps = createNamed<DivOp>(rewriter, op, ".steps", low, scale);
  Value start = createNamed<SubOp>(rewriter, op, ".start", zero, steps);
  Value clipped = createNamed<ClipOp>(rewriter, op, ".clipped", start, zero, top);
  Value zeroPoint = castTo(rewriter, op, createNamed<RoundOp>(rewriter, op, ".rounded", clipped), ui8, ".zero_point");
  Value numbers = createNamed<QuantizeLinearOp>(rewriter, op, "", op.getInput(), scale, zeroPoint);
  rewriter.replaceOp(op, {numbers, scale, zeroPoint});
  return success();
}

struct DecomposeQuantizedPass : impl::DecomposeQuantizedPassBase<DecomposeQuantizedPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<FunctionRewrite<MatMulIntegerOp>>(context, expandMatMulInteger);
    patterns.add<FunctionRewrite<QLinearMatMulOp>>(context, expandQLinearMatMul);
    patterns.add<FunctionRewrite<ConvIntegerOp>>(context, expandConvInteger);
    patterns.add<FunctionRewrite<QLinearConvOp>>(context, expandQLinearConv);
    patterns.add<FunctionRewrite<DynamicQuantizeLinearOp>>(context, expandDynamicQuantize);
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
