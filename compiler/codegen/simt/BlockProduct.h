// What a kernel of blocks multiplies: rows by columns, summed over steps. A convolution is a product of pixels by
// channels, whose steps are the window's taps and, innermost, the input's channels.
#pragma once

#include "compiler/codegen/simt/BlockPanel.h"

namespace fathom {

class BlockProduct {
public:
  BlockProduct(GroupKernel &k, const BlockContractSchedule &schedule);

  // Of a group of a convolution, too, whose groups are the batches.
  mlir::AffineExpr batches, rows, columns, depth;
  mlir::RankedTensorType type; // of the anchor's result
  mlir::Type acc;              // of sums
  int64_t channel;             // the result's dimension that columns run along

  // From here on the operands are those of a batch.
  void enterBatch(mlir::Value batch);
  BlockOperand left(), right();
  // The result's index of a row, without the column, and of a column.
  Indices rowIndex(mlir::Value row);
  mlir::Value columnIndex(mlir::Value column);
  // The element of the result that a sum of products is.
  mlir::Value finished(mlir::Value sum, mlir::Value columnIndex);
  mlir::Value widened(mlir::Value value);

private:
  void describeMatMul(graph::MatMulOp op);
  void describeConv(graph::ConvOp op);
  // The place in the window and the channel that a step takes.
  struct Tap {
    llvm::SmallVector<mlir::Value, 3> taps;
    mlir::Value channel;
  };
  Tap tapOf(const BlockOperand::Step &step);
  BlockOperand::Place leftPlace(llvm::ArrayRef<Index> row, const BlockOperand::Step &step, bool mayBeEmpty);
  BlockOperand::Place rightPlace(mlir::Value column, const BlockOperand::Step &step);
  // Neighbours that are fetched together, of so many in memory and `block` of a panel.
  int64_t vectorOf(mlir::Value operand, mlir::AffineExpr neighbours, int64_t block);

  const BlockContractSchedule &s;
  Emitter &e;
  Code &c;
  mlir::Value lhs, rhs, bias; // the last is null where there is none
  std::optional<graph::Window> window;
  llvm::SmallVector<Loop> batchLoops, rowLoops;
  Indices batchIndex;       // of the result
  mlir::Value channelGroup; // of a convolution
};

bool isMultiple(mlir::AffineExpr size, int64_t of);

} // namespace fathom
