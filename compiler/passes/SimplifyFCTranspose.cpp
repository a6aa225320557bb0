// Transposes around products: a Gemm of transposed weights becomes one of weights that are transposed ahead, and a
// product of two transposed matrices the transpose of their product the other way round.
#include "compiler/graph/Views.h"
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_SIMPLIFYFCTRANSPOSEPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// The permutation that swaps the last two dimensions.
SmallVector<int64_t> swapped(int64_t rank) {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

// The matrix that a value is the transpose of, if it is no constant; null otherwise.
Value transposedMatrix(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  if (!op || op.getType().getRank() < 2 || isConstantValue(value))
    return {};
  int64_t rank = op.getType().getRank();
  bool swaps = op.getPerm() ? llvm::equal(*op.getPerm(), swapped(rank)) : rank == 2;
  return swaps ? op.getInput() : Value();
}

struct TransposeWeights : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GemmOp op, PatternRewriter &rewriter) const override {
    if (!op.getTransB() || !isConstantValue(op.getRhs()))
      return failure();
    Value weight =
        createNamed<TransposeOp>(rewriter, op, ".weight", op.getRhs(), rewriter.getDenseI64ArrayAttr({1, 0}));
    rewriter.modifyOpInPlace(op, [&] { op.getRhsMutable().assign(weight), op.setTransB(0); });
    return success();
  }
};

struct SwapFactors : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &rewriter) const override {
    Value lhs = transposedMatrix(op.getLhs()), rhs = transposedMatrix(op.getRhs());
    int64_t rank = op.getType().getRank();
    auto hasRank = [&](Value value) { return cast<RankedTensorType>(value.getType()).getRank() == rank; };
    // Where somebody else reads a transposed factor, it is needed anyway.
    if (!lhs || !rhs || !hasRank(lhs) || !hasRank(rhs) || !op.getLhs().hasOneUse() || !op.getRhs().hasOneUse())
      return failure();
    Value product = createNamed<MatMulOp>(rewriter, op, ".product", rhs, lhs);
    rewriter.replaceOp(
        op, createNamed<TransposeOp>(rewriter, op, "", product, rewriter.getDenseI64ArrayAttr(swapped(rank))));
    return success();
  }
};

struct SimplifyFCTransposePass : impl::SimplifyFCTransposePassBase<SimplifyFCTransposePass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TransposeWeights, SwapFactors>(&getContext());
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
