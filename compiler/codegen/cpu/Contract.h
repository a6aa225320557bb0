// Matrix products and convolutions as code: what the parts of it share. Contract.cpp has the loops and the tiles,
// ContractPack.cpp the packed left operand, ContractStore.cpp what becomes of a tile.
#pragma once

#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/schedule/Contract.h"

namespace fathom {

// One step of the reduction's outer loops: how often, and how far the left operand moves each time.
struct Tap {
  int64_t count;
  mlir::AffineExpr stride;
};

class Contraction {
public:
  Contraction(KernelBody &k, const ContractSchedule &schedule);
  Grid emit();

private:
  // Contract.cpp: loops, tiles, the left operand in place
  void describeMatMul(graph::MatMulOp op);
  void describeConv(graph::ConvOp op);
  // The element of the left operand where row `index` (of the result) starts its reduction.
  mlir::Value rowStart(llvm::ArrayRef<Index> index, mlir::Value panel);
  // Panels that are multiplied together, and how many columns each has where that is known.
  using PanelBody = llvm::function_ref<void(llvm::ArrayRef<mlir::Value> panels, std::optional<int64_t> columns)>;
  void overPanels(mlir::Value low, mlir::Value high, PanelBody body);
  void tailRows(mlir::Value row, llvm::ArrayRef<mlir::Value> panels, std::optional<int64_t> columns);
  void tile(mlir::Value row, int64_t rows, llvm::ArrayRef<mlir::Value> panels, std::optional<int64_t> columns);
  RegisterTile registers();
  mlir::Value panelStart(mlir::Value panel);
  Ahead nextPanel(mlir::Value row, mlir::Value panelStart, mlir::Value depth);
  llvm::SmallVector<mlir::Value> firstSums(int64_t rows, llvm::ArrayRef<int64_t> pieces, mlir::Value panel);
  llvm::SmallVector<mlir::Value> multiply(mlir::Value row, llvm::ArrayRef<mlir::Value> starts, bool apart,
                                          llvm::ArrayRef<int64_t> stored, llvm::ArrayRef<mlir::Value> panels);

  // ContractPack.cpp: the left operand in blocks
  void emitPacked(llvm::function_ref<void()> overTiles);
  void packRows();
  mlir::Value leftVector(llvm::ArrayRef<Index> index, mlir::Value start, mlir::Value depth, int64_t count);
  llvm::SmallVector<mlir::Value> multiplyPacked(mlir::Value row, int64_t rows, llvm::ArrayRef<int64_t> stored,
                                                mlir::Value panel, mlir::ValueRange sums);

  // ContractStore.cpp: what becomes of a tile
  void prefetchOperands(llvm::ArrayRef<Indices> rowIndices, mlir::Value panel, std::optional<int64_t> count);
  void finishTile(mlir::Value row, llvm::ArrayRef<Indices> rowIndices, mlir::Value panel,
                  std::optional<int64_t> columns, mlir::ValueRange sums);
  void storeTile(llvm::ArrayRef<Indices> rowIndices, llvm::ArrayRef<int64_t> pieces, mlir::ValueRange accumulators,
                 mlir::Value firstColumn);
  void storeSharedTail(llvm::ArrayRef<Indices> rowIndices, mlir::ValueRange accumulators, mlir::Value firstColumn);
  void storeThroughScratch(mlir::Value row, int64_t rows, llvm::ArrayRef<int64_t> pieces, mlir::ValueRange accumulators,
                           mlir::Value firstColumn, mlir::Value width);
  void storeElement(llvm::ArrayRef<Index> index, mlir::Value value, int64_t lanes);

  KernelBody &k;
  const ContractSchedule &schedule;
  Emitter &e;
  Code &c;
  mlir::Operation *op;
  mlir::Value lhs, rhs, bias;  // the last is null where there is none
  mlir::RankedTensorType type; // of the anchor's result
  std::optional<graph::Quads> quads;
  const Buffer left; // of quads: in units of them
  const Buffer &right;
  mlir::Type leftType, rightType;   // of their elements
  int64_t channel = 0;              // the result's dimension that columns run along
  llvm::SmallVector<int64_t> batch; // result dimensions with their own right operand
  llvm::SmallVector<Tap> taps;
  mlir::AffineExpr run;                // contiguous part of the reduction
  mlir::AffineExpr columns;            // all of them
  int64_t groupColumns = 0;            // columns of a group, 0 without groups
  int64_t groupDepth = 0;              // left channels of a group
  std::optional<graph::Window> window; // convolutions
  llvm::SmallVector<Loop> rowLoops;
  mlir::Type acc;
  mlir::Value batchLeft, batchRight; // offsets of the current batch
  Indices batchIndex;
  mlir::Value rowLow, rowHigh; // the task's rows
  mlir::Value fullPanels;
  std::optional<int64_t> tailColumns; // of the last panel, 0 where it is full
  // The columns of the last panel where it shares the code of full ones, because it takes as many vectors: only the
  // stores differ. What lies behind its columns is computed with, never stored.
  std::optional<int64_t> sharedTail;
  int64_t tileM, tileN, lanes;
  bool throughScratch = false;
  bool startsWithBias = false; // sums begin with it; else it is added at the end
  int64_t tileAt = 0;          // where in scratch a tile lies on its way
  // While the left operand is packed: the current block of the reduction, and whether it is the first or the last.
  bool packed;
  int64_t blockK = 0, packedRow = 0; // elements of a row, and from one packed row to the next
  mlir::Value blockStart, blockLength, blockOffset, isFirst, isLast;
};

} // namespace fathom
