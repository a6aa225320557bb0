// Which function replaces which op, and the patterns that do it.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/codegen/common/MathFunctions.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fathom {
namespace {

using namespace mathlowering;

enum class Precision { own, wideIfStrict };

// Whether the cheaper function will do.
bool isFast(Operation *op, const MathOptions &options) {
  return op->hasAttr(fastAttribute) && !options.strict && getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

// The function of these operands, computed in f64 where f32 must be within 1 ulp.
template <typename Function, typename... Nums> Num wideIfStrict(Function function, Num x, Nums... others) {
  if (x.c->options.strict && x.isSingle())
    return narrow(function(widen(x), widen(others)...));
  return function(x, others...);
}

template <typename Op, typename... Operands> struct FunctionPattern : OpRewritePattern<Op> {
  using Function = Num (*)(Operands...);

  // With an attribute: only for ops that have it, before the pattern for all of them.
  FunctionPattern(MLIRContext *context, MathOptions options, Function function, Precision precision,
                  StringRef attribute = "")
      : OpRewritePattern<Op>(context, attribute.empty() ? 0 : 1), options(options), function(function),
        precision(precision), attribute(attribute) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!attribute.empty() && !op->hasAttr(attribute))
      return rewriter.notifyMatchFailure(op, "not the special case");
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(op, "only f32 and f64 are lowered");
    Context context{rewriter, op.getLoc(), options};
    rewriter.replaceOp(op, emit(context, op, std::index_sequence_for<Operands...>()).v);
    return success();
  }

  template <size_t... i> Num emit(Context &context, Op op, std::index_sequence<i...>) const {
    if (precision == Precision::wideIfStrict)
      return wideIfStrict(function, Num{{&context, op->getOperand(i)}}...);
    return function(Num{{&context, op->getOperand(i)}}...);
  }

  MathOptions options;
  Function function;
  Precision precision;
  StringRef attribute;
};

// The quotient of 1 / (1 + e), where e is used by nothing else.
arith::DivFOp quotientOfSigmoid(math::ExpOp e) {
  if (!e->hasOneUse())
    return nullptr;
  auto sum = dyn_cast<arith::AddFOp>(*e->user_begin());
  if (!sum || !sum->hasOneUse() || !matchPattern(sum.getLhs() == e ? sum.getRhs() : sum.getLhs(), m_OneFloat()))
    return nullptr;
  auto quotient = dyn_cast<arith::DivFOp>(*sum->user_begin());
  return quotient && matchPattern(quotient.getLhs(), m_OneFloat()) ? quotient : nullptr;
}

// x * value, where value is used by nothing else.
arith::MulFOp productWith(Value x, Value value) {
  auto product = value.hasOneUse() ? dyn_cast<arith::MulFOp>(*value.user_begin()) : nullptr;
  return product && (product.getLhs() == value ? product.getRhs() : product.getLhs()) == x ? product : nullptr;
}

// A function that may be cheaper, by that one.
template <typename Op> struct FastPattern : OpRewritePattern<Op> {
  using Function = Num (*)(Num);
  FastPattern(MLIRContext *context, MathOptions options, Function function, Function atMostZero = nullptr)
      : OpRewritePattern<Op>(context, /*benefit=*/2), options(options), function(function), atMostZero(atMostZero) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isFast(op, options))
      return rewriter.notifyMatchFailure(op, "not the special case");
    Context context{rewriter, op.getLoc(), options};
    Num x{{&context, op.getOperand()}};
    rewriter.replaceOp(op, (atMostZero && op->hasAttr(atMostZeroAttribute) ? atMostZero : function)(x).v);
    return success();
  }

  MathOptions options;
  Function function, atMostZero;
};

// 1 / (1 + e^-x), and its product with x, as one function of x.
struct SigmoidPattern : OpRewritePattern<math::ExpOp> {
  SigmoidPattern(MLIRContext *context, MathOptions options)
      : OpRewritePattern(context, /*benefit=*/3), options(options) {}

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    auto negated = op.getOperand().getDefiningOp<arith::NegFOp>();
    arith::DivFOp quotient = quotientOfSigmoid(op);
    Type element = getElementTypeOrSelf(op.getType());
    if (!negated || !quotient || !(element.isF32() || element.isF64()))
      return rewriter.notifyMatchFailure(op, "no sigmoid of f32 or f64");
    rewriter.setInsertionPoint(quotient);
    Context context{rewriter, quotient.getLoc(), options};
    Num x{{&context, negated.getOperand()}};
    if (arith::MulFOp product = productWith(x.v, quotient)) {
      rewriter.setInsertionPoint(product);
      rewriter.replaceOp(product, isFast(op, options) ? fastSwish(x).v : wideIfStrict(swish, x).v);
    } else {
      rewriter.replaceOp(quotient, isFast(op, options) ? fastSigmoid(x).v : wideIfStrict(sigmoid, x).v);
    }
    return success();
  }

  MathOptions options;
};

// The number that all lanes of a value have, where it is a constant.
std::optional<double> constantOf(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToDouble();
}

// 1 + value, where value is used by nothing else.
arith::AddFOp sumWithOne(Value value) {
  auto sum = value.hasOneUse() ? dyn_cast<arith::AddFOp>(*value.user_begin()) : nullptr;
  return sum && constantOf(sum.getLhs() == value ? sum.getRhs() : sum.getLhs()) == 1.0 ? sum : nullptr;
}

// What is multiplied with a constant, or divided by one, and by which: models divide by the root of 2. What a function
// of both rounds differently must be nothing in its result.
std::pair<Value, double> scaledOperand(Value value) {
  double scale = 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::DivFOp>(op))
    scale = 1 / constantOf(op->getOperand(1)).value_or(0);
  else if (isa_and_nonnull<arith::MulFOp>(op))
    scale = constantOf(op->getOperand(1)).value_or(0);
  return std::abs(scale) > 0x1p-20 && std::abs(scale) < 0x1p20 ? std::pair(op->getOperand(0), scale)
                                                               : std::pair(value, 1.0);
}

// 1 + erf(x), or of x times a constant, as one function of x.
struct OnePlusErfPattern : OpRewritePattern<math::ErfOp> {
  OnePlusErfPattern(MLIRContext *context, MathOptions options)
      : OpRewritePattern(context, /*benefit=*/3), options(options) {}

  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &rewriter) const override {
    arith::AddFOp sum = sumWithOne(op);
    if (options.strict || !sum || !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "no sum of f32 with 1 that may be rounded differently");
    rewriter.setInsertionPoint(sum);
    Context context{rewriter, sum.getLoc(), options};
    auto [x, scale] = scaledOperand(op.getOperand());
    auto function = isFast(op, options) ? fastOnePlusErf : onePlusErf;
    rewriter.replaceOp(sum, function(Num{{&context, x}}, scale).v);
    return success();
  }

  MathOptions options;
};

// 1 + tanh(x) = 2 / (1 + e^-2x), which does not cancel below 0.
struct OnePlusTanhPattern : OpRewritePattern<math::TanhOp> {
  OnePlusTanhPattern(MLIRContext *context, MathOptions options)
      : OpRewritePattern(context, /*benefit=*/3), options(options) {}

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    arith::AddFOp sum = sumWithOne(op);
    Type element = getElementTypeOrSelf(op.getType());
    if (!sum || !(element.isF32() || element.isF64()))
      return rewriter.notifyMatchFailure(op, "no sum of f32 or f64 with 1");
    rewriter.setInsertionPoint(sum);
    Context context{rewriter, sum.getLoc(), options};
    Num doubled = Num{{&context, op.getOperand()}} * 2.0;
    rewriter.replaceOp(sum, isFast(op, options) ? (fastSigmoid(doubled) * 2.0).v
                                                : wideIfStrict([](Num x) { return sigmoid(x) * 2.0; }, doubled).v);
    return success();
  }

  MathOptions options;
};

struct LowerMathPass : PassWrapper<LowerMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerMathPass)

  LowerMathPass() = default;
  LowerMathPass(const LowerMathPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "lower-math"; }
  StringRef getDescription() const override { return "Expand math functions into arithmetic"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathLowering(patterns, {strict, fma, rounding, minmax});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

  Option<bool> strict{*this, "strict", llvm::cl::desc("f32 within 1 ulp"), llvm::cl::init(false)};
  Option<bool> fma{*this, "fma", llvm::cl::desc("The target has multiply-add"), llvm::cl::init(true)};
  Option<bool> rounding{*this, "rounding", llvm::cl::desc("The target rounds to integers"), llvm::cl::init(true)};
  Option<bool> minmax{*this, "minmax", llvm::cl::desc("The target has minima that keep a NaN"), llvm::cl::init(true)};
};

} // namespace

void registerMathLoweringPass() { PassRegistration<LowerMathPass>(); }

void populateMathLowering(RewritePatternSet &patterns, const MathOptions &options) {
  MLIRContext *context = patterns.getContext();
  auto add = [&]<typename Op, typename... Operands>(Num (*function)(Operands...), Precision precision) {
    patterns.add<FunctionPattern<Op, Operands...>>(context, options, function, precision);
  };
  patterns.add<SigmoidPattern, OnePlusErfPattern, OnePlusTanhPattern>(context, options);
  patterns.add<FastPattern<math::ExpOp>>(context, options, fastExp, fastExpAtMostZero);
  patterns.add<FastPattern<math::TanhOp>>(context, options, fastTanh);
  patterns.add<FastPattern<math::ErfOp>>(context, options, fastErf);
  patterns.add<FunctionPattern<math::ExpOp, Num>>(context, options, mathlowering::expAtMostZero,
                                                  Precision::wideIfStrict, atMostZeroAttribute);
#define FATHOM_LOWER(op, function, precision) add.template operator()<op>(function, Precision::precision)
  FATHOM_LOWER(math::ExpOp, mathlowering::exp, wideIfStrict);
  FATHOM_LOWER(math::Exp2Op, mathlowering::exp2, wideIfStrict);
  FATHOM_LOWER(math::ExpM1Op, mathlowering::expm1, wideIfStrict);
  FATHOM_LOWER(math::SinhOp, mathlowering::sinh, wideIfStrict);
  FATHOM_LOWER(math::CoshOp, mathlowering::cosh, wideIfStrict);
  FATHOM_LOWER(math::TanhOp, mathlowering::tanh, wideIfStrict);
  FATHOM_LOWER(math::LogOp, mathlowering::log, wideIfStrict);
  FATHOM_LOWER(math::Log2Op, mathlowering::log2, wideIfStrict);
  FATHOM_LOWER(math::Log10Op, mathlowering::log10, wideIfStrict);
  FATHOM_LOWER(math::Log1pOp, mathlowering::log1p, wideIfStrict);
  FATHOM_LOWER(math::AsinhOp, mathlowering::asinh, wideIfStrict);
  FATHOM_LOWER(math::AcoshOp, mathlowering::acosh, wideIfStrict);
  FATHOM_LOWER(math::AtanhOp, mathlowering::atanh, wideIfStrict);
  FATHOM_LOWER(math::PowFOp, mathlowering::pow, wideIfStrict);
  FATHOM_LOWER(math::CbrtOp, mathlowering::cbrt, wideIfStrict);
  FATHOM_LOWER(math::RsqrtOp, mathlowering::rsqrt, wideIfStrict);
  FATHOM_LOWER(math::SinOp, mathlowering::sin, wideIfStrict);
  FATHOM_LOWER(math::CosOp, mathlowering::cos, wideIfStrict);
  FATHOM_LOWER(math::TanOp, mathlowering::tan, wideIfStrict);
  FATHOM_LOWER(math::AsinOp, mathlowering::asin, wideIfStrict);
  FATHOM_LOWER(math::AcosOp, mathlowering::acos, wideIfStrict);
  FATHOM_LOWER(math::AtanOp, mathlowering::atan, wideIfStrict);
  FATHOM_LOWER(math::Atan2Op, mathlowering::atan2, wideIfStrict);
  FATHOM_LOWER(math::ErfOp, mathlowering::erf, wideIfStrict);
  FATHOM_LOWER(math::ErfcOp, mathlowering::erfc, wideIfStrict);
  FATHOM_LOWER(arith::RemFOp, mathlowering::remainder, own);
  if (!options.hasRounding) {
    FATHOM_LOWER(math::FloorOp, mathlowering::expandFloor, own);
    FATHOM_LOWER(math::CeilOp, mathlowering::expandCeil, own);
    FATHOM_LOWER(math::TruncOp, mathlowering::expandTrunc, own);
    FATHOM_LOWER(math::RoundOp, mathlowering::expandRound, own);
    FATHOM_LOWER(math::RoundEvenOp, mathlowering::expandRoundEven, own);
  }
  if (!options.hasFma)
    FATHOM_LOWER(math::FmaOp, mathlowering::expandFma, own);
#undef FATHOM_LOWER
}

} // namespace fathom
