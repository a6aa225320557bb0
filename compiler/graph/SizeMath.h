// Arithmetic on sizes. Every result is in one canonical form (a polynomial over the symbols and over floor divisions of
// such polynomials), so that two sizes are the same for all values of the symbols when their canonical expressions are
// the same. A null expression, given or returned, means "not expressible": overflow, a division by zero, or an
// expression beyond the limits.
#pragma once

#include "compiler/graph/Shape.h"

namespace fathom::graph::size {

mlir::AffineExpr canonical(mlir::AffineExpr a);
// By MLIR's own rules, which keep the expression's form: for code, where no two need to be compared.
mlir::AffineExpr simplified(mlir::AffineExpr a);
mlir::AffineExpr add(mlir::AffineExpr a, mlir::AffineExpr b);
mlir::AffineExpr add(mlir::AffineExpr a, int64_t b);
mlir::AffineExpr sub(mlir::AffineExpr a, mlir::AffineExpr b);
mlir::AffineExpr mul(mlir::AffineExpr a, mlir::AffineExpr b);
mlir::AffineExpr mul(mlir::AffineExpr a, int64_t b);
// Rounds down; the divisor must be positive for all values of the symbols.
mlir::AffineExpr floorDiv(mlir::AffineExpr a, mlir::AffineExpr b);
mlir::AffineExpr floorDiv(mlir::AffineExpr a, int64_t b);
mlir::AffineExpr ceilDiv(mlir::AffineExpr a, int64_t b);
// a / b where b divides a for all values of the symbols, else null.
mlir::AffineExpr exactDiv(mlir::AffineExpr a, mlir::AffineExpr b);

// The quotient of two products, taken as if no division among their factors left a remainder: windows of an image, b *
// h
// * w / (h / 7 * w / 7), are 49 * b then. Null where it is not a polynomial. For who checks that it is the quotient.
mlir::AffineExpr wholeDiv(llvm::ArrayRef<mlir::AffineExpr> a, llvm::ArrayRef<mlir::AffineExpr> b);

bool same(mlir::AffineExpr a, mlir::AffineExpr b);

// Bounds that hold for all values of the symbols in their ranges (no symbol is below 1); nullopt when none was found.
std::optional<int64_t> lowerBound(mlir::AffineExpr a, const SymbolList &symbols = {});
std::optional<int64_t> upperBound(mlir::AffineExpr a, const SymbolList &symbols = {});
bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b, const SymbolList &symbols = {});

// The value of a size for given values of the symbols; nullopt when a symbol has no value or the arithmetic overflows.
std::optional<int64_t> evaluate(mlir::AffineExpr a, llvm::ArrayRef<int64_t> values);

} // namespace fathom::graph::size
