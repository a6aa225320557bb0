// The tasks of a kernel, as its launch needs to know them.
#pragma once

#include "mlir/IR/AffineExpr.h"

namespace fathom {

// What the caller of a kernel must provide for.
struct Grid {
  mlir::AffineExpr tasks;
  int64_t scratchBytes = 0;
  // So many neighbouring tasks share work, which the code of a run of them does once, and may leave out after another
  // run of the group. It never gets a run of two groups.
  int64_t groupTasks = 1;
  // Of a machine of work items, a task is a work group of so many items, and scratchBytes is a group's part of global
  // memory; 0: a CPU's grid.
  int64_t groupItems = 0;
};

} // namespace fathom
