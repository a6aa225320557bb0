// Small pieces of graph that rules of several families are made of.
#pragma once

#include "compiler/import/node/Normalize.h"

namespace fathom::importer {

// A size that is known.
inline mlir::AffineExpr constant(Node &node, int64_t value) {
  return mlir::getAffineConstantExpr(value, node.context());
}
inline mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

// A transposition with this permutation.
mlir::Value transpose(Node &node, mlir::Value value, llvm::ArrayRef<int64_t> perm, llvm::StringRef suffix);
// An elementwise op with a number.
mlir::Value withNumber(Node &node, llvm::StringRef op, mlir::Value value, double number, llvm::StringRef suffix);
// The part from `from` to `to` of an axis, both known.
mlir::Value part(Node &node, mlir::Value value, int64_t axis, int64_t from, int64_t to, llvm::StringRef suffix);
mlir::Value castAs(Node &node, mlir::Value value, mlir::Type element, llvm::StringRef suffix);
// A reshape to sizes that are expressions.
mlir::Value reshapeTo(Node &node, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::StringRef suffix);

// 0, 1, 2, ... as many as `count`, as i64.
mlir::Value countUp(Node &node, mlir::AffineExpr count, llvm::StringRef suffix);

} // namespace fathom::importer
