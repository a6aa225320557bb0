// Code for one kernel, by class. A kernel is a function of graph ops: an anchor with fused producers and consumers.
#pragma once

#include "compiler/codegen/common/Emitter.h"
#include "compiler/codegen/common/LoopCode.h"
#include "compiler/kernel/Grid.h"
#include "compiler/schedule/Sweep.h"

namespace fathom {

// A number of units of work, `each` of which are a part; the last part may be smaller.
struct Units {
  mlir::AffineExpr count;
  int64_t each;
  mlir::AffineExpr parts() const;
};

// Where the part of this number lies, of those that a count of units is divided into.
Range partRange(Code &c, mlir::Value part, const Units &units);

// The run of tasks of a group that shares work.
struct TaskGroup {
  mlir::Value index;
  Range tasks;        // counted from the group's first
  mlir::Value isHeld; // whether the shared work is done: its results are in the scratch
};

// A kernel while its code is being emitted.
struct KernelBody {
  Emitter &e;
  mlir::func::FuncOp kernel;
  mlir::Value task, tasksEnd; // the run of tasks: one, if they share nothing
  mlir::Value isHeld;         // whether the scratch holds already what the run's group shares
  mlir::Value scratch;
  mlir::Operation *anchor;                 // null: all ops are computed on demand
  llvm::SmallVector<mlir::Value> returned; // the kernel's results ...
  llvm::SmallVector<Buffer, 1> outputs;    // ... and where they go

  mlir::MLIRContext *context() { return kernel.getContext(); }
  // Whether everything beside the anchor is elementwise, so that indices may be merged.
  bool onlyElementwise();
  // The layouts of the buffers that elementwise code reads and writes at the indices of the results; not those of the
  // anchor's own operands.
  llvm::SmallVector<const Layout *> alignedLayouts();
  // The range of `count` units that the current task covers, `each` per task; sets the grid.
  Range taskRange(Grid &grid, mlir::AffineExpr count, int64_t each);
  // The same where a task is a part along two axes; the next task is the next part along the inner one.
  std::pair<Range, Range> taskRange(Grid &grid, Units inner, Units outer);
  TaskGroup taskGroup(Grid &grid, mlir::AffineExpr groups, int64_t groupTasks); // sets the grid
  // Asks for what consumers read beside the anchor's result, ahead of storing `count` results side by side along `dim`.
  void prefetchOperands(llvm::ArrayRef<Index> index, int64_t dim, int64_t count);
  // Computes and stores all results at an index.
  void storeResults(llvm::ArrayRef<Index> index, int64_t lanes);
  // The same where these are the anchor's results there.
  void storeAnchor(llvm::ArrayRef<Index> index, mlir::Value values, int64_t lanes);
  // The run's share of zeroing what lies around the results, of so many tasks.
  void clearHalos(mlir::AffineExpr tasks);
};

// The buffer of an anchor's operand; a fused producer's result has none, only the layout that it would have.
Buffer operandBuffer(KernelBody &k, mlir::Value operand);

// Asks for the lines of `count` elements of a buffer along a dimension, from an index on.
void prefetchRun(Emitter &e, const Buffer &buffer, llvm::ArrayRef<Index> index, int64_t dim, int64_t count);

// The taps of a window that lie in the input along a dimension, from `low` to `high`, and where the window begins.
struct Span {
  mlir::Value low, high, origin;
};
// Of the window at `position` along spatial dimension `d`, of an input of this size.
Span clip(Code &c, const graph::Window &window, int64_t d, mlir::Value position, mlir::AffineExpr size);

// Work items that share a row: each has every so manieth of its elements, and all have what these are combined to.
struct Team {
  mlir::Value item; // its number
  int64_t items;
  std::function<mlir::Value(mlir::Value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>)> combined;
};

// Combines the elements along `axes` of a tensor at fixed other indices.
struct Reducer {
  Emitter &e;
  mlir::RankedTensorType type; // of the tensor whose elements are visited; its layout decides the loop order
  llvm::SmallVector<int64_t> axes;
  int64_t wide, narrow;      // lanes where the innermost dimension is one of the axes
  bool lanesReduced() const; // whether it is
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  using Item = llvm::function_ref<mlir::Value(llvm::ArrayRef<Index>, int64_t lanes)>;
  // `identity` is a scalar; the result is a scalar if the lanes are reduced and has `lanes` lanes otherwise.
  mlir::Value reduce(Indices index, int64_t lanes, mlir::Value identity, Combine combine, Item item);
  // Visits the elements without combining them.
  void visit(Indices index, int64_t lanes, llvm::function_ref<void(llvm::ArrayRef<Index>, int64_t)> body);

private:
  // The loops over the axes, which a team shares.
  llvm::SmallVector<Loop> shared() const;
};

// Combines the lanes of a vector into one, halves first: the order is fixed by the width alone.
mlir::Value combineLanes(Code &c, mlir::Value vector, Reducer::Combine combine);

// Runs `body` for all kept indices of a row-wise kernel (all but `axes` of `type`), split into tasks; lanes run along
// the innermost dimension where it is kept.
Grid overRows(KernelBody &k, const SweepSchedule &schedule, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> axes,
              llvm::function_ref<void(Indices index, int64_t lanes)> body);

} // namespace fathom
