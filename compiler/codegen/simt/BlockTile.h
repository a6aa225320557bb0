// The sums that an item keeps of a block's product: which they are, and how a stage is added to them.
#pragma once

#include "compiler/codegen/simt/BlockProduct.h"

namespace fathom {

// Rows and columns of an item lie apart: neighbouring items have neighbours. With fragments, an item's sums are those
// that a tensor core's instruction leaves with it: of 32 items (a warp), item l has rows l / 4, 8 apart, and columns
// 2 (l % 4) and the next one, 8 apart. Where the reduction is in parts, slices of a group's items and groups beside
// each other, as many items have the same sums, each of its part; in the end each has a share of them, of all parts.
class BlockTile {
public:
  BlockTile(GroupKernel &k, const BlockContractSchedule &schedule, BlockProduct &product);

  int64_t columnVector;  // neighbouring columns of an item
  int64_t rows, columns; // of an item's share
  mlir::Value row(int64_t i), column(int64_t j);
  llvm::SmallVector<mlir::Value> zeros();
  llvm::SmallVector<mlir::Value> multiply(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                          mlir::ValueRange sums);
  // The item's share of the sums of all parts, which are added in an order that is always the same. `split`: which part
  // the group has.
  llvm::SmallVector<mlir::Value> share(mlir::ValueRange sums, mlir::Value split);

private:
  // Offsets of rows and columns from the item's first.
  int64_t rowOffset(int64_t i), columnOffset(int64_t j);
  llvm::SmallVector<mlir::Value> multiplyAdd(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                             mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> multiplyFragments(BlockPanel &left, BlockPanel &right, mlir::Value stage,
                                                   mlir::ValueRange sums);
  // What a tensor core takes of neighbouring steps of a row: one number, or two of 16 bits.
  mlir::Value factor(BlockPanel &panel, mlir::Value stage, mlir::Value row, int64_t stepOffset, int64_t rowOffset);
  // The factors of fragments in `places` (steps, rows) from there on, eight rows and 16 bytes of steps each.
  using Places = llvm::ArrayRef<std::pair<int64_t, int64_t>>;
  llvm::SmallVector<mlir::Value> factors(BlockPanel &panel, mlir::Value stage, mlir::Value row, int64_t stepOffset,
                                         int64_t rowOffset, Places places);
  mlir::Value rounded(mlir::Value value);

  GroupKernel &k;
  Code &c;
  const BlockContractSchedule &s;
  BlockProduct &product;
  bool hasCores;                     // that multiply fragments; else items do
  mlir::Value firstRow, firstColumn; // of the item, in its block
  mlir::Value shareRow, shareColumn; // the first ones of its share
  mlir::Value lane, lane4;           // its place in the warp, and among four that share a row
  mlir::Value slice, inSlice;        // its slice, and its place in there
  mlir::Value firstStep;             // of its slice's, in a block
};

} // namespace fathom
