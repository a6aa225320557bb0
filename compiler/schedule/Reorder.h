// The schedules of kernels that change the order of elements.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct ReorderSchedule {
  int64_t tile = 4;
  int64_t run = 16;
  bool alongInner = false;
  int64_t grain = 1;

  static llvm::ArrayRef<Field<ReorderSchedule>> fields();
};

inline llvm::ArrayRef<Field<ReorderSchedule>> ReorderSchedule::fields() {
  using S = ReorderSchedule;
  static constexpr Field<S> table[] = {
      {"tile", &S::tile, 2, 64, "rows and columns of a square of elements that is transposed in registers"},
      Field<S>{"run", &S::run, 2, 1 << 20, "elements that squares pass before the next ones beside them"}.at(
          Level::Cache),
      Field<S>{"along_inner", &S::alongInner,
               "1: squares pass along the results' neighbours in memory; 0: along the operands'"}
          .at(Level::Form),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "runs of a task"}.partOf("runs")};
  return table;
}

} // namespace fathom
