// How many bytes accesses touch while some loops run: integer sets of addresses, counted.
//
// A set is a box: a run of bytes, repeated at strides. That counts what kernels do exactly: tiles, windows that
// overlap, rows of pixels that are counted through (quotients and remainders by the width). Approximated are: a range
// that is divided and does not begin or end at a multiple (as if it began at one), accesses of different form to one
// buffer (their overlap is that of the intervals that they span), and strides that neither nest nor divide each other
// (as if no bytes were hit twice, but no more than the interval holds).
#pragma once

#include "compiler/analysis/LoopTree.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fathom {

struct Stride {
  int64_t bytes, count;
};

// A run of bytes at all sums of strides.
struct ByteBox {
  llvm::SmallVector<Stride> strides;
  int64_t run;
};

// The bytes of all lines of `line` bytes that a box touches, where it begins at one. With the bytes of an element for a
// line: distinct elements, in bytes.
int64_t countBytes(ByteBox box, int64_t line);

// From the first to the last byte.
int64_t span(const ByteBox &box);

// Sorted numbers as sums of strides, innermost first, where they are that.
llvm::SmallVector<Stride> stridesOf(llvm::ArrayRef<int64_t> sorted);

// Accesses that differ in constants alone: unrolled steps, rows and columns of a register tile.
struct AccessGroup {
  unsigned buffer, node;
  mlir::AffineExpr shape; // without constants
  // The constants, by the part of the expression that they are added to: null for the whole.
  llvm::MapVector<mlir::AffineExpr, llvm::SmallVector<int64_t>> constants;
  int64_t bytes, start; // of one access; the smallest offset, where all counters are 0
  bool isWrite = false, isRead = false;
};

std::vector<AccessGroup> groupAccesses(const LoopTree &tree, unsigned node);

// What a group touches while all of the loops around it that are `active` run, and the others stand.
ByteBox boxOf(const AccessGroup &group, const LoopTree &tree, llvm::function_ref<bool(unsigned node)> active);

// All lines of some groups of one buffer.
int64_t unionBytes(llvm::ArrayRef<const AccessGroup *> groups, const LoopTree &tree, int64_t line,
                   llvm::function_ref<bool(unsigned node)> active);

} // namespace fathom
