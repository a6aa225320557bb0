// Where a tensor's elements lie in its buffer: strides, offsets and sizes as expressions over the symbols.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

struct Layout {
  // Per logical dimension. A blocked dimension's stride is that of its position within the block; blockStride steps
  // over blocks.
  graph::Sizes sizes, strides;
  mlir::AffineExpr offset;          // of the element at index zero, past the halo
  mlir::AffineExpr elements;        // of the whole buffer, halo, block padding and room included
  llvm::SmallVector<int64_t> order; // logical dimensions, outermost first, without the repeated one of a block
  int64_t blockedDim = -1, block = 0;
  mlir::AffineExpr blockStride;
  llvm::SmallVector<int64_t> haloLow, haloHigh;
  llvm::SmallVector<int64_t> room; // elements behind each dimension that belong to other tensors
  bool hasHalo() const;
  bool hasRoom() const;
};
Layout layoutOf(mlir::RankedTensorType type);

// The type with another layout; empty arguments mean the default.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order, int64_t block = 0,
                                  llvm::ArrayRef<int64_t> halo = {}, llvm::ArrayRef<int64_t> room = {});
// The type of a tensor that has its memory to itself.
mlir::RankedTensorType withoutRoom(mlir::RankedTensorType type);
// Whether the elements lie in row-major order without gaps (dimensions of size one do not matter).
bool isRowMajor(mlir::RankedTensorType type);
// The order of logical dimensions in memory; the identity when the type names none.
llvm::SmallVector<int64_t> orderOf(mlir::RankedTensorType type);
// The dimension that is contiguous in memory, or -1.
int64_t innermostDim(mlir::RankedTensorType type);

// Bytes of an element in memory; a bool takes one.
int64_t elementBytes(mlir::Type element);
mlir::AffineExpr bufferBytes(mlir::RankedTensorType type);

} // namespace fathom
