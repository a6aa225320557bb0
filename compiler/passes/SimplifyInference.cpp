// Turns normalisations with constant statistics into a scale and a shift.
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_SIMPLIFYINFERENCEPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// y = x * s + (bias - mean * s) with s = scale / sqrt(var + epsilon); everything but x is usually constant and gets
// folded.
struct ScaleAndShift : OpRewritePattern<BatchNormalizationOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormalizationOp op, PatternRewriter &rewriter) const override {
    if (op.getTrainingMode() || op.getNumResults() != 1)
      return failure();
    int64_t rank = cast<RankedTensorType>(op.getInput().getType()).getRank();
    Type element = cast<RankedTensorType>(op.getVar().getType()).getElementType();
    Value epsilon = makeScalar(rewriter, op, element, op.getEpsilon().convertToDouble());
    Value deviation = createNamed<SqrtOp>(rewriter, op, ".deviation",
                                          createNamed<AddOp>(rewriter, op, ".variance", op.getVar(), epsilon));
    Value scale = createNamed<DivOp>(rewriter, op, ".scale", op.getScale(), deviation);
    Value shift = createNamed<SubOp>(rewriter, op, ".shift", op.getBias(),
                                     createNamed<MulOp>(rewriter, op, ".mean", op.getMean(), scale));
    auto alongChannels = [&](Value vector, StringRef suffix) -> Value {
      if (rank <= 2)
        return vector;
      SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
      return createNamed<UnsqueezeOp>(rewriter, op, suffix, vector, makeInts(rewriter, op, axes));
    };
    Value scaled = createNamed<MulOp>(rewriter, op, ".scaled", op.getInput(), alongChannels(scale, ".scale.shaped"));
    rewriter.replaceOp(op, createNamed<AddOp>(rewriter, op, "", scaled, alongChannels(shift, ".shift.shaped")));
    return success();
  }
};

struct SimplifyInferencePass : impl::SimplifyInferencePassBase<SimplifyInferencePass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ScaleAndShift>(&getContext());
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
