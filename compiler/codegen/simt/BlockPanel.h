// A factor of a product on its way through local memory: the items of a group fetch its next steps, side by side along
// what lies side by side in memory, and store them so that a step's elements are neighbours.
#pragma once

#include "compiler/codegen/simt/GroupKernel.h"
#include "compiler/schedule/BlockContract.h"

namespace fathom {

// An operand as a panel reads it.
struct BlockOperand {
  // A step of the reduction: where a block begins, which is the same for all items, and a place in it.
  struct Step {
    mlir::Value block, inBlock;
  };
  // The elements from row (or column) `at` and this step of the reduction on, as many as are fetched together; all are
  // inside.
  using Fetch = std::function<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<Index> at, const Step &step)>;
  // What of an element's index depends on the row alone, which stays the same for all steps.
  using Locate = std::function<Indices(mlir::Value row)>;

  int64_t extent;     // rows of a block
  mlir::Type element; // in memory
  mlir::AffineExpr rows, depth;
  bool mayBeEmpty; // although there are rows
  bool alongDepth; // neighbours in memory are steps
  int64_t vector;  // that many neighbours are fetched together: rows (or steps) are a multiple of it
  Locate locate;
  Fetch fetch;
};

class BlockPanel {
public:
  // Takes local memory for a block that begins at a row.
  BlockPanel(GroupKernel &k, const BlockContractSchedule &schedule, BlockOperand operand, mlir::Value firstRow);

  // Elements of the steps from `first` on, and their way into a stage of local memory.
  llvm::SmallVector<mlir::Value> fetch(mlir::Value first);
  void put(mlir::ValueRange values, mlir::Value stage);
  // Elements of neighbouring rows of the block, from a row with this offset on.
  llvm::SmallVector<mlir::Value> get(mlir::Value stage, int64_t step, mlir::Value row, int64_t count);

private:
  // A vector that an item fetches.
  struct Slot {
    mlir::Value row, step; // in the block
    mlir::Value isThere;   // null: always
    Indices at;
  };
  mlir::Value place(mlir::Value stage, mlir::Value step, mlir::Value row);

  GroupKernel &k;
  Code &c;
  BlockOperand operand;
  int64_t blockK, pitch; // steps of a block; elements from one to the next
  mlir::Value local;
  std::vector<Slot> slots;
};

} // namespace fathom
