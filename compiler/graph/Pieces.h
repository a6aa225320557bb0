// Pieces: tensors that lie within the memory of a larger one, their whole, so that joining and cutting moves no data.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

// Whether the op needs no kernel: a concatenation whose operands are all written where its result has them, or a slice
// that is read where its input has it.
bool isInPlace(mlir::Operation *op);
void setInPlace(mlir::Operation *op);

// An operand of a concatenation in place.
struct Piece {
  graph::ConcatOp whole; // null: there is none
  unsigned operand = 0;
  explicit operator bool() const { return bool(whole); }
};
// The operand that a value is, itself or through views.
Piece pieceOf(mlir::Value value);
// Bytes from where the whole begins to where the piece does.
mlir::AffineExpr offsetOf(const Piece &piece);

// The layout of a slice within its input's memory; null where no type can tell it.
mlir::RankedTensorType sliceType(graph::SliceOp slice);
// Bytes from where its input's memory begins to where the slice does.
mlir::AffineExpr offsetOf(graph::SliceOp slice);

} // namespace fathom
