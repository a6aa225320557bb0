// The sums that an item keeps of a block's product: which they are, and how a stage is added to them.
#pragma once

#include "compiler/codegen/simt/BlockProduct.h"

namespace fathom {

// Rows and columns of an item lie apart: neighbouring items have neighbours. With fragments, an item's sums are those
// that a tensor core's instruction leaves with it: of 32 items (a warp), item l has rows l / 4, 8 apart, and columns
// 2 (l % 4) and the next one, 8 apart.
class BlockTile {
public:
  BlockTile(GroupKernel &k, const BlockContractSchedule &schedule, BlockProduct &product);

  int64_t columnVector; // neighbouring columns of an item
  mlir::Value row(int64_t i), column(int64_t j);
  llvm::SmallVector<mlir::Value> zeros();
  llvm::SmallVector<mlir::Value> multiply(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                          mlir::ValueRange sums);

private:
  // Offsets of rows and columns from the item's first.
  int64_t rowOffset(int64_t i), columnOffset(int64_t j);
  llvm::SmallVector<mlir::Value> multiplyAdd(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                             mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyFragments(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                                   mlir::ValueRange sums);
  // What a tensor core takes of neighbouring steps of a row: one number, or two of 16 bits.
  mlir::Value factor(BlockPanel &panel, mlir::Value stage, mlir::Value row, int64_t stepOffset, int64_t rowOffset);
  mlir::Value rounded(mlir::Value value);

  GroupKernel &k;
  Code &c;
  const BlockContractSchedule &s;
  BlockProduct &product;
  bool hasCores;                     // that multiply fragments; else items do
  mlir::Value firstRow, firstColumn; // of the item, in its block
  mlir::Value lane4;                 // its place among four that share a row
};

} // namespace fathom
