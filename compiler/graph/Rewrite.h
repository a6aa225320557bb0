// What rewrites of the graph share: ops and constants that they make.
#pragma once

#include "compiler/graph/OpNames.h"

namespace fathom {

// Creates an op, runs its shape function and names it after `like` (the op it helps to replace) with a suffix.
template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &b, mlir::Operation *like, llvm::StringRef suffix, Args &&...args);

// The result types of a graph op about to be created are inferred: pass this placeholder.
mlir::Type placeholder(mlir::MLIRContext *context);

mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Operation *like, mlir::DenseElementsAttr value);
mlir::Value makeInts(mlir::OpBuilder &b, mlir::Operation *like, llvm::ArrayRef<int64_t> values);
// A scalar tensor of the given float element type.
mlir::Value makeScalar(mlir::OpBuilder &b, mlir::Operation *like, mlir::Type element, double value);
mlir::Value makeNone(mlir::OpBuilder &b, mlir::Location loc);

// Types follow from operands again after rewrites: the ops that express another may know more of the result's sizes
// than it did. Static sizes need nothing.
mlir::LogicalResult settleTypes(mlir::func::FuncOp function);

template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &b, mlir::Operation *like, llvm::StringRef suffix, Args &&...args) {
  auto op = Op::create(b, like->getLoc(), placeholder(like->getContext()), std::forward<Args>(args)...);
  nameAfter(op, like, suffix);
  // Operands come from ops whose shapes were checked; a failure here is reported on the op and surfaces in
  // verification.
  (void)graph::inferResultTypes(op);
  return op;
}

} // namespace fathom
