// Parts of tensors in larger ones, for rules of several families.
#pragma once

#include "compiler/passes/gradient/Backward.h"

namespace fathom::gradient {

// Zeros of a value's type.
Term zerosLike(Backward &back, mlir::Value value);
// Zeros with ones on the diagonal.
Term unitMatrix(Backward &back, int64_t size, mlir::Type element);
// 0, 1, ... as a vector of 64-bit integers.
Term counted(Emitter &ops, mlir::AffineExpr count);
// With zeros in front of and behind the elements along an axis.
Term padded(Term part, int64_t axis, mlir::AffineExpr before, mlir::AffineExpr after);
// The elements from `start` on along an axis.
Term sliced(Term whole, int64_t axis, mlir::AffineExpr start, mlir::AffineExpr size);
// Zeros of these sizes, to which `parts` is added: along the axis it has the dimensions of `indices`, which say where.
Term scattered(Term parts, int64_t axis, Term indices, const graph::Sizes &sizes);
// Sums over an axis with the factors of a matrix, whose columns are the new elements along it.
Term multipliedAlong(Term term, int64_t axis, Term matrix);

} // namespace fathom::gradient
