// Kernels whose elements depend on each other or on data in ways that no tile can share, one emitter per family.
#pragma once

#include "compiler/codegen/common/KernelBody.h"

namespace fathom {

Grid emitCumSum(KernelBody &k);
Grid emitScatterElements(KernelBody &k, const SequentialSchedule &schedule);
Grid emitScatterND(KernelBody &k, const SequentialSchedule &schedule);
Grid emitTopK(KernelBody &k, const SequentialSchedule &schedule);
Grid emitConvTranspose(KernelBody &k, const SequentialSchedule &schedule);
Grid emitNonZero(KernelBody &k, const SequentialSchedule &schedule);
Grid emitNonMaxSuppression(KernelBody &k, const SequentialSchedule &schedule);
Grid emitTensorScatter(KernelBody &k, const TensorScatterSchedule &schedule);
Grid emitUnique(KernelBody &k, const SequentialSchedule &schedule);

// Runs `body` once for every element of `loops`, split into tasks of the schedule's grain; `index` has the given rank.
Grid overElements(KernelBody &k, const SweepSchedule &schedule, llvm::ArrayRef<Loop> loops, int64_t rank,
                  llvm::function_ref<void(Indices &index)> body);

// Runs `body` for the elements [low, high) of `loops`, vector by vector along the last of them, whose index then has
// lanes.
void overStretch(KernelBody &k, mlir::Value low, mlir::Value high, llvm::ArrayRef<Loop> loops, int64_t lanes,
                 Indices &index, llvm::function_ref<void(int64_t lanes)> body);
// So many lanes for elements of a tensor along the last of these loops: 1 where they do not lie side by side.
int64_t lanesAlong(KernelBody &k, mlir::RankedTensorType type, llvm::ArrayRef<Loop> loops);

// A list in memory whose entries, each of a few registers, are sorted in place by a heap with the last one at its root.
struct SortedList {
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value position)> load;
  std::function<void(mlir::Value position, mlir::ValueRange entry)> store;
  std::function<mlir::Value(mlir::ValueRange a, mlir::ValueRange b)> isAfter; // whether a comes after b
};
// Brings the first `length` entries into the order of a heap.
void makeHeap(Code &c, const SortedList &list, mlir::Value length);
// Puts an entry at a place of a heap whose subtrees are in order.
void siftDown(Code &c, const SortedList &list, mlir::Value place, mlir::Value length, mlir::ValueRange entry);
// Sorts a heap.
void sortHeap(Code &c, const SortedList &list, mlir::Value length);
// Whether x comes before y among numbers; NaN comes after all others, and is equal to itself.
mlir::Value isLess(Code &c, mlir::Type element, mlir::Value x, mlir::Value y);

// The running sums along one axis at `index`, for as many rows side by side as there are lanes, element by element.
void scanInOrder(KernelBody &k, graph::CumSumOp op, Indices index, int64_t axis, int64_t lanes);

// x + y for elements of a type; 16-bit floats in single precision.
mlir::Value addElements(Code &c, mlir::Type element, mlir::Value x, mlir::Value y);

} // namespace fathom
