// Algebra with constants, and ops that undo or repeat each other. What changes how results are rounded is not for
// strict floating point.
#include "compiler/graph/Views.h"
#include "compiler/passes/Decompose.h"
#include "compiler/support/FloatMode.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_SIMPLIFYEXPRPASS
#include "compiler/passes/Passes.h.inc"

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

// The one number that a value consists of; nothing where it is not one constant.
std::optional<double> scalarOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat number = dense.getSplatValue<APFloat>();
    bool loses = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  auto integer = dyn_cast<IntegerType>(dense.getElementType());
  if (!integer || integer.getWidth() == 1 || integer.getWidth() > 32)
    return std::nullopt;
  APInt number = dense.getSplatValue<APInt>();
  return integer.isUnsigned() ? double(number.getZExtValue()) : double(number.getSExtValue());
}

// A number by which whatever is multiplied is not rounded.
bool isPowerOfTwo(double number) {
  int exponent;
  return std::isfinite(number) && std::abs(std::frexp(number, &exponent)) == 0.5 && std::abs(exponent) < 64;
}

// In the range of single precision, and normal.
bool isOrdinary(double factor) { return std::abs(factor) < 1e38 && std::abs(factor) > 1e-37; }

// The factor that a product with a constant, or a quotient by one, has; and what it multiplies.
std::optional<std::pair<Value, double>> scaledBy(Operation *op) {
  if (!isa_and_nonnull<MulOp, DivOp>(op) || !elementOf(op->getResult(0)).isF32())
    return std::nullopt;
  if (std::optional<double> right = scalarOf(op->getOperand(1));
      right && op->getOperand(0).getType() == op->getResult(0).getType())
    return std::pair(op->getOperand(0), isa<MulOp>(op) ? *right : 1 / *right);
  std::optional<double> left = isa<MulOp>(op) ? scalarOf(op->getOperand(0)) : std::nullopt;
  return left && op->getOperand(1).getType() == op->getResult(0).getType()
             ? std::optional(std::pair(op->getOperand(1), *left))
             : std::nullopt;
}

// x * 1, 1 * x, x / 1, x + -0, x - 0, x ^ 1; of integers also x + 0.
LogicalResult dropNeutral(Operation *op, PatternRewriter &rewriter) {
  for (unsigned side : {0u, 1u}) {
    Value other = op->getOperand(1 - side);
    std::optional<double> number = scalarOf(op->getOperand(side));
    if (!number || other.getType() != op->getResult(0).getType() || (side == 0 && isa<DivOp, SubOp, PowOp>(op)))
      continue;
    bool isZero = *number == 0 && (!isa<FloatType>(elementOf(other)) || std::signbit(*number) == isa<AddOp>(op));
    if (isa<MulOp, DivOp, PowOp>(op) ? *number == 1 : isZero)
      return rewriter.replaceOp(op, other), success();
  }
  return failure();
}

// Powers by small constants as products and roots. x * x is the square rounded once; others are not for strict.
LogicalResult expandPower(PowOp op, PatternRewriter &rewriter, bool isStrict) {
  std::optional<double> exponent = scalarOf(op.getRhs());
  Value x = op.getLhs();
  if (!exponent || x.getType() != op.getType() || !isa<FloatType>(elementOf(x)))
    return failure();
  if (*exponent == 2)
    return rewriter.replaceOp(op, createNamed<MulOp>(rewriter, op, "", x, x)), success();
  if (*exponent == -1)
    return rewriter.replaceOp(op, createNamed<ReciprocalOp>(rewriter, op, "", x)), success();
  if (isStrict)
    return failure();
  if (*exponent == 3) {
    Value square = createNamed<MulOp>(rewriter, op, ".square", x, x);
    return rewriter.replaceOp(op, createNamed<MulOp>(rewriter, op, "", square, x)), success();
  }
  return failure();
}

// Factors of factors are one, and a quotient by a constant is a product.
LogicalResult joinFactors(Operation *op, PatternRewriter &rewriter, bool isStrict) {
  auto outer = scaledBy(op);
  if (!outer)
    return failure();
  auto [x, factor] = *outer;
  auto inner = x.hasOneUse() ? scaledBy(x.getDefiningOp()) : std::nullopt;
  if (inner && !isStrict)
    x = inner->first, factor *= inner->second;
  else if (!isa<DivOp>(op) || (isStrict && !isPowerOfTwo(factor)))
    return failure();
  if (!isOrdinary(factor))
    return failure();
  rewriter.replaceOp(op, createNamed<MulOp>(rewriter, op, "", x, makeScalar(rewriter, op, elementOf(x), factor)));
  return success();
}

// What lies between a scale and the weights that can take it over.
struct ScaledChain {
  MatMulOp product;                   // with constant weights on its right side
  SmallVector<OpOperand *, 2> biases; // constants that are added behind it
};

// From a value back to the product with weights that it is made of, through views and constants that are added.
std::optional<ScaledChain> chainTo(Value value) {
  constexpr unsigned longest = 8;
  ScaledChain chain;
  for (unsigned length = 0; length < longest; ++length) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.hasOneUse() || !elementOf(value).isF32())
      return std::nullopt;
    if (auto product = dyn_cast<MatMulOp>(op)) {
      chain.product = product;
      return isConstantValue(product.getRhs()) ? std::optional(chain) : std::nullopt;
    }
    unsigned next = 0;
    if (isa<AddOp>(op)) {
      next = isConstantValue(op->getOperand(0));
      if (!isConstantValue(op->getOperand(1 - next)))
        return std::nullopt;
      chain.biases.push_back(&op->getOpOperand(1 - next));
    } else if (!isReshape(op) && !isa<TransposeOp>(op)) {
      return std::nullopt;
    }
    value = op->getOperand(next);
  }
  return std::nullopt;
}

// A scale behind a product goes into the weights of it, or into those that one of its factors was made with: the scale
// of attention's scores into the weights of its queries.
LogicalResult scaleWeights(Operation *op, PatternRewriter &rewriter) {
  auto scaled = scaledBy(op);
  auto product = scaled ? scaled->first.getDefiningOp<MatMulOp>() : MatMulOp();
  if (!product || !product->hasOneUse() || !isOrdinary(scaled->second))
    return failure();
  std::optional<ScaledChain> chain = chainTo(product);
  for (Value factor : product->getOperands())
    if (!chain)
      chain = chainTo(factor);
  if (!chain)
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  auto scale = [&](Operation *reader, unsigned operand, StringRef suffix) {
    rewriter.setInsertionPoint(reader);
    Value factor = makeScalar(rewriter, op, elementOf(op->getResult(0)), scaled->second);
    Value weight = createNamed<MulOp>(rewriter, reader, suffix, reader->getOperand(operand), factor);
    rewriter.modifyOpInPlace(reader, [&] { reader->setOperand(operand, weight); });
  };
  scale(chain->product, 1, ".scaled");
  for (OpOperand *bias : chain->biases)
    scale(bias->getOwner(), bias->getOperandNumber(), ".scaled");
  rewriter.replaceOp(op, product.getResult());
  return success();
}

// Ops that are their own inverse, and ops of which one is as good as two.
LogicalResult dropRepeated(Operation *op, PatternRewriter &rewriter) {
  Operation *inner = op->getOperand(0).getDefiningOp();
  if (!inner || inner->getName() != op->getName())
    return failure();
  if (isa<NegOp, NotOp, BitwiseNotOp>(op))
    return rewriter.replaceOp(op, inner->getOperand(0)), success();
  if (isa<ReluOp, AbsOp, FloorOp, CeilOp, RoundOp, SignOp>(op))
    return rewriter.replaceOp(op, inner->getResult(0)), success();
  return failure();
}

// Only the last of several reshapes counts.
LogicalResult joinReshapes(Operation *op, PatternRewriter &rewriter) {
  Operation *inner = op->getOperand(0).getDefiningOp();
  if (!isReshape(inner))
    return failure();
  Value input = inner->getOperand(0);
  if (input.getType() == op->getResult(0).getType())
    return rewriter.replaceOp(op, input), success();
  rewriter.replaceOp(op, reshape(rewriter, op, "", input, sizesOf(op->getResult(0))));
  return success();
}

LogicalResult dropWholeSlice(SliceOp op, PatternRewriter &rewriter) {
  if (op.getInput().getType() != op.getType())
    return failure();
  auto ranges = getSlice(op);
  if (failed(ranges) ||
      !llvm::all_of(*ranges, [](const SliceRange &range) { return range.step == 1 && isConstant(range.start, 0); }))
    return failure();
  return rewriter.replaceOp(op, op.getInput()), success();
}

LogicalResult dropUnboundedClip(ClipOp op, PatternRewriter &rewriter) {
  if (!isa<NoneType>(op.getMin().getType()) || !isa<NoneType>(op.getMax().getType()))
    return failure();
  return rewriter.replaceOp(op, op.getInput()), success();
}

struct Simplify : RewritePattern {
  Simplify(MLIRContext *context, FloatMode fp)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), isStrict(fp == FloatMode::Strict) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (isa<MulOp, DivOp, AddOp, SubOp, PowOp>(op) && succeeded(dropNeutral(op, rewriter)))
      return success();
    if (isa<MulOp, DivOp>(op)) {
      if (succeeded(joinFactors(op, rewriter, isStrict)))
        return success();
      return isStrict ? failure() : scaleWeights(op, rewriter);
    }
    if (isReshape(op))
      return joinReshapes(op, rewriter);
    if (auto power = dyn_cast<PowOp>(op))
      return expandPower(power, rewriter, isStrict);
    if (auto slice = dyn_cast<SliceOp>(op))
      return dropWholeSlice(slice, rewriter);
    if (auto clip = dyn_cast<ClipOp>(op))
      return dropUnboundedClip(clip, rewriter);
    return op->getNumOperands() == 1 ? dropRepeated(op, rewriter) : failure();
  }

  bool isStrict;
};

struct SimplifyExprPass : impl::SimplifyExprPassBase<SimplifyExprPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Simplify>(&getContext(), context().fp);
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
