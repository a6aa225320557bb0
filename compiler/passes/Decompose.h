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
  FunctionRewrite(mlir::MLIRContext *context, Function function)
      : mlir::OpRewritePattern<Op>(context), function(function) {}
  llvm::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    return function(op, rewriter);
  }
  Function function;
};

// Sizes as an operand: a constant, or expressions over the symbols.
mlir::Value sizesOperand(mlir::OpBuilder &b, mlir::Operation *like, llvm::ArrayRef<mlir::AffineExpr> sizes);
// The input with other sizes, which may be symbolic.
mlir::Value reshape(mlir::OpBuilder &b, mlir::Operation *like, llvm::StringRef suffix, mlir::Value input,
                    llvm::ArrayRef<mlir::AffineExpr> sizes);

} // namespace fathom
