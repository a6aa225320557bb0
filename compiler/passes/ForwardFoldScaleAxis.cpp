// Moves per-channel scales and shifts after a convolution into its weights and bias.
#include "compiler/graph/ByteProducts.h"
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FORWARDFOLDSCALEAXISPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Whether the value depends on constants only, so that folding will make a constant of it. Every op is looked at once,
// and not too many of them: there may be far more ways to a constant than ops.
bool isConstantExpression(Value value) {
  constexpr size_t most = 64;
  llvm::SmallSetVector<Operation *, 8> ops;
  auto isMade = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (ops.insert(op), true);
  };
  if (!isMade(value))
    return false;
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (isLiteral(op))
      continue;
    bool goesOn = op->hasTrait<Elementwise>() || isReshape(op) || isa<TransposeOp, ExpandOp>(op);
    if (!goesOn || i >= most || !llvm::all_of(op->getOperands(), isMade))
      return false;
  }
  return true;
}

// Whether `value` is a constant with one element, or one per channel of a convolution's result of this rank.
bool isPerChannel(Value value, int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !isConstantExpression(value))
    return false;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1 && d + rank - type.getRank() != 1)
      return false;
  return type.getRank() <= rank;
}

// The dimension of a convolution's weights that its output channels run along, if it is one.
std::optional<int64_t> channelDim(Operation *conv) {
  if (isa_and_nonnull<ConvOp>(conv))
    return 0;
  auto transposed = dyn_cast_or_null<ConvTransposeOp>(conv);
  return transposed && transposed.getGroup() == 1 ? std::optional<int64_t>(1) : std::nullopt;
}

// The convolution that only `op` uses, and the other operand if it is per channel.
std::pair<Operation *, Value> convAndFactor(Operation *op) {
  for (int side : {0, 1}) {
    Operation *conv = op->getOperand(side).getDefiningOp();
    Value other = op->getOperand(1 - side);
    if (channelDim(conv) && conv->hasOneUse() && isConstantExpression(conv->getOperand(1)) &&
        isPerChannel(other, cast<RankedTensorType>(conv->getResult(0).getType()).getRank()) &&
        op->getResult(0).getType() == conv->getResult(0).getType())
      return {conv, other};
  }
  return {};
}

// The constant as a tensor of the given shape (one entry may be -1).
Value reshaped(PatternRewriter &rewriter, Operation *like, Value value, ArrayRef<int64_t> shape, StringRef suffix) {
  return createNamed<ReshapeOp>(rewriter, like, suffix, value, makeInts(rewriter, like, shape),
                                rewriter.getI64IntegerAttr(0));
}

// A copy of the convolution with other weights and bias in place of `op`.
void replaceWithConv(PatternRewriter &rewriter, Operation *op, Operation *conv, Value weight, Value bias) {
  rewriter.setInsertionPoint(op);
  Operation *folded = rewriter.clone(*conv);
  folded->setOperand(1, weight);
  folded->setOperand(2, bias);
  nameAfter(folded, op, "");
  folded->setLoc(rewriter.getFusedLoc({conv->getLoc(), op->getLoc()}));
  rewriter.replaceOp(op, folded);
}

struct FoldScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    auto [conv, factor] = convAndFactor(op);
    // A quad is no number that can be multiplied.
    if (!conv || quadsOf(conv))
      return failure();
    rewriter.setInsertionPoint(op);
    SmallVector<int64_t> shape(cast<RankedTensorType>(conv->getResult(0).getType()).getRank(), 1);
    shape[*channelDim(conv)] = -1;
    Value weight = createNamed<MulOp>(rewriter, op, ".weight", conv->getOperand(1),
                                      reshaped(rewriter, op, factor, shape, ".factor"));
    Value bias = conv->getOperand(2);
    if (!isa<NoneType>(bias.getType()))
      bias = createNamed<MulOp>(rewriter, op, ".bias", bias, reshaped(rewriter, op, factor, {-1}, ".factor.flat"));
    replaceWithConv(rewriter, op, conv, weight, bias);
    return success();
  }
};

struct FoldShift : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    auto [conv, shift] = convAndFactor(op);
    if (!conv)
      return failure();
    rewriter.setInsertionPoint(op);
    Value flat = reshaped(rewriter, op, shift, {-1}, ".shift.flat"), bias = conv->getOperand(2);
    if (isa<NoneType>(bias.getType())) {
      auto type = cast<RankedTensorType>(conv->getResult(0).getType());
      Value channels = makeInts(rewriter, op, {type.getDimSize(1)});
      bias = createNamed<ExpandOp>(rewriter, op, ".bias", flat, channels);
    } else {
      bias = createNamed<AddOp>(rewriter, op, ".bias", bias, flat);
    }
    replaceWithConv(rewriter, op, conv, conv->getOperand(1), bias);
    return success();
  }
};

struct ForwardFoldScaleAxisPass : impl::ForwardFoldScaleAxisPassBase<ForwardFoldScaleAxisPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldScale, FoldShift>(&getContext());
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
