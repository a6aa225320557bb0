// Which function replaces which op, and the patterns that do it.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/codegen/common/MathFunctions.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fathom {
namespace {

using namespace mathlowering;

enum class Precision { own, wideIfStrict };

template <typename Op, typename... Operands> struct FunctionPattern : OpRewritePattern<Op> {
  using Function = Num (*)(Operands...);

  FunctionPattern(MLIRContext *context, MathOptions options, Function function, Precision precision)
      : OpRewritePattern<Op>(context), options(options), function(function), precision(precision) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(op, "only f32 and f64 are lowered");
    Context context{rewriter, op.getLoc(), options};
    rewriter.replaceOp(op, emit(context, op, element, std::index_sequence_for<Operands...>()).v);
    return success();
  }

  template <size_t... i> Num emit(Context &context, Op op, Type element, std::index_sequence<i...>) const {
    if (precision == Precision::wideIfStrict && options.strict && element.isF32())
      return narrow(function(widen(Num{{&context, op->getOperand(i)}})...));
    return function(Num{{&context, op->getOperand(i)}}...);
  }

  MathOptions options;
  Function function;
  Precision precision;
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
    populateMathLowering(patterns, {strict, fma, rounding});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

  Option<bool> strict{*this, "strict", llvm::cl::desc("f32 within 1 ulp"), llvm::cl::init(false)};
  Option<bool> fma{*this, "fma", llvm::cl::desc("The target has multiply-add"), llvm::cl::init(true)};
  Option<bool> rounding{*this, "rounding", llvm::cl::desc("The target rounds to integers"), llvm::cl::init(true)};
};

} // namespace

void registerMathLoweringPass() { PassRegistration<LowerMathPass>(); }

void populateMathLowering(RewritePatternSet &patterns, const MathOptions &options) {
  MLIRContext *context = patterns.getContext();
  auto add = [&]<typename Op, typename... Operands>(Num (*function)(Operands...), Precision precision) {
    patterns.add<FunctionPattern<Op, Operands...>>(context, options, function, precision);
  };
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
