// A factor of a product on its way through local memory: the items of a group fetch its next steps, side by side along
// what lies side by side in memory, into one of several stages.
#pragma once

#include "compiler/codegen/simt/GroupKernel.h"
#include "compiler/schedule/BlockContract.h"

namespace fathom {

// An operand as a panel reads it. Rows of the right one are columns.
struct BlockOperand {
  // A step of the reduction: where a block begins, which is the same for all items, and a place in it.
  struct Step {
    mlir::Value block, inBlock;
  };
  // The index of an element, and whether it counts; null: always. Else it is zero, and the index one of any element.
  struct Place {
    Indices index;
    mlir::Value isInside;
  };

  mlir::Value tensor;
  int64_t dim;    // along which elements are neighbours in memory
  int64_t extent; // rows of a block
  mlir::AffineExpr rows, depth;
  bool mayBeEmpty; // although there are rows
  bool alongDepth; // neighbours in memory are steps
  int64_t vector;  // that many neighbours are fetched together: rows (or steps) are a multiple of it
  // What of an element's index depends on the row alone, which stays the same for all steps.
  std::function<Indices(mlir::Value row)> locate;
  std::function<Place(llvm::ArrayRef<Index> at, const Step &step)> place;

  mlir::Type element() const { return mlir::getElementTypeOrSelf(tensor.getType()); }
};

class BlockPanel {
public:
  // Takes local memory for a block that begins at a row.
  BlockPanel(GroupKernel &k, const BlockContractSchedule &schedule, BlockOperand operand, mlir::Value firstRow);

  // Elements of the steps from `first` on, on their way into a stage: what the items hold meanwhile, nothing where the
  // machine copies them.
  llvm::SmallVector<mlir::Value> fetch(mlir::Value first, mlir::Value stage);
  void put(mlir::ValueRange values, mlir::Value stage);
  bool isCopied() const { return copies; }

  // Elements of the block, neighbours in local memory, from this step and row on and so many beyond.
  llvm::SmallVector<mlir::Value> get(mlir::Value stage, mlir::Value step, mlir::Value row, int64_t stepOffset,
                                     int64_t rowOffset, int64_t count);
  mlir::Value pointer(mlir::Value stage, mlir::Value step, mlir::Value row, int64_t stepOffset, int64_t rowOffset);
  // Whether neighbours in local memory are steps.
  bool isByRows() const { return byRows; }
  mlir::Type element() const { return operand.element(); }

private:
  // A vector that an item fetches.
  struct Slot {
    mlir::Value row, step; // in the block
    mlir::Value isThere;   // null: always
    Indices at;
  };
  BlockOperand::Place placeOf(const Slot &slot, mlir::Value first);
  mlir::Value address(mlir::Value stage, mlir::Value step, mlir::Value row);
  int64_t distance(int64_t steps, int64_t rows) const { return byRows ? rows * pitch + steps : steps * pitch + rows; }

  GroupKernel &k;
  Code &c;
  BlockOperand operand;
  int64_t blockK;
  bool byRows, copies;
  int64_t pitch; // elements of local memory from one row (or step) to the next
  int64_t stageElements;
  mlir::Value local;
  std::vector<Slot> slots;
};

} // namespace fathom
