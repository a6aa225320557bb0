// Attention: a product of queries and keys, a softmax of its rows, and their product with the values, in one kernel.
// The matrix of scores between the two products is never stored whole.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

struct Attention {
  graph::MatMulOp scores;                        // queries by keys
  llvm::SmallVector<mlir::Operation *, 4> chain; // elementwise ops from there to the softmax, the first one first
  graph::SoftmaxOp softmax;
  graph::MatMulOp product; // with the values: the kernel's anchor

  bool contains(mlir::Operation *op) const;
};

// The attention that ends in this product, in the graph or in a kernel: every value in between has one use, the sizes
// of the scores, and is a 32-bit float.
std::optional<Attention> attentionOf(mlir::Operation *product);
// The attention that either product belongs to.
std::optional<Attention> attentionAround(mlir::Operation *product);

// The sizes of the problem: query rows, keys, and the elements of a key and of a value.
mlir::AffineExpr queriesOf(Attention attention);
mlir::AffineExpr keysOf(Attention attention);
int64_t keyDepth(Attention attention);
int64_t valueDepth(Attention attention);
// Query rows by the anchor, which versions of a kernel are told apart by.
mlir::AffineExpr attentionRows(mlir::Operation *anchor);

} // namespace fathom
