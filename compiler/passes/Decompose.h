// Rewrites that express an op by simpler ones; CanonicalizeOps applies them.
#pragma once

#include "compiler/passes/Passes.h"
#include "mlir/IR/PatternMatch.h"

namespace fathom {

void populateDecomposeNormalization(mlir::RewritePatternSet &patterns);
void populateDecomposeMovement(mlir::RewritePatternSet &patterns);

// A rewrite that is one function.
template <typename Op> struct FunctionRewrite : mlir::OpRewritePattern<Op> {
  using Function = llvm::LogicalResult (*)(Op, mlir::PatternRewriter &);
  FunctionRewrite(mlir::MLIRContext *context, Function function) : mlir::OpRewritePattern<Op>(context), function(function) {}
  llvm::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override { return function(op, rewriter); }
  Function function;
};

// `sizes` as the shape operand of a Reshape: constants, a zero where dimension 0 is kept, and at most one size that Reshape has to
// find out. Null where that does not suffice.
mlir::Value reshapeOperand(mlir::PatternRewriter &rewriter, mlir::Operation *like, mlir::Value input,
                           llvm::ArrayRef<mlir::AffineExpr> sizes);

} // namespace fathom
