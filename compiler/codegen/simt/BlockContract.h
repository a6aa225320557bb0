// Matrix products and convolutions in blocks of work groups. A group stages a block of each factor's steps in local
// memory, every item multiplies a tile of it into registers, and the fused consumers are applied to the tile.
#pragma once

#include "compiler/codegen/simt/BlockPanel.h"
#include "compiler/schedule/BlockContract.h"

namespace fathom {

class BlockContraction {
public:
  BlockContraction(GroupKernel &k, const BlockContractSchedule &schedule);
  Grid emit();

private:
  void describeMatMul(graph::MatMulOp op);
  void describeConv(graph::ConvOp op);
  BlockOperand leftOperand(), rightOperand();
  using Elements = llvm::SmallVector<mlir::Value>;
  Elements leftElements(llvm::ArrayRef<Index> row, const BlockOperand::Step &step, int64_t dim, int64_t count);
  Elements rightElements(mlir::Value column, const BlockOperand::Step &step, int64_t dim, int64_t count);
  // The pixel of the input and the channel in it that a step of a convolution's reduction takes.
  struct Tap {
    llvm::SmallVector<mlir::Value, 3> taps;
    mlir::Value channel;
  };
  Tap tapOf(const BlockOperand::Step &step);

  llvm::SmallVector<mlir::Value> multiply(BlockPanel &left, BlockPanel &right, mlir::Value stage, mlir::ValueRange sums);
  void store(mlir::ValueRange sums);
  mlir::Value finished(mlir::Value sum, mlir::Value column);
  mlir::Value widened(mlir::Value value);
  // The first column of vector j of an item's columns, in its block.
  mlir::Value itemColumn(int64_t j);

  GroupKernel &k;
  const BlockContractSchedule &s;
  Emitter &e;
  Code &c;
  mlir::Operation *op;
  mlir::Value lhs, rhs, bias;  // the last is null where there is none
  mlir::RankedTensorType type; // of the anchor's result
  mlir::Type acc;
  int64_t channel = 0; // the result's dimension that columns run along
  std::optional<graph::Window> window;
  mlir::AffineExpr batches, rows, columns, depth; // columns of a group of a convolution, too
  llvm::SmallVector<Loop> batchLoops, rowLoops;
  Indices batchIndex;       // of the result
  mlir::Value channelGroup; // of a convolution
  mlir::Value firstRow, firstColumn, itemRow, itemX;
  int64_t columnVector; // neighbouring columns of an item
};

} // namespace fathom
