// The schedules of ensembles of decision trees.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct TreesSchedule {
  int64_t rows = 1, trees = 1;
  int64_t steps = 1;
  int64_t block = 1, grain = 1;

  static llvm::ArrayRef<Field<TreesSchedule>> fields();
};

inline llvm::ArrayRef<Field<TreesSchedule>> TreesSchedule::fields() {
  using S = TreesSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"rows", &S::rows, 1, 32, "rows that descend a tree together"}.at(Level::Registers),
      Field<S>{"trees", &S::trees, 1, 32, "trees that a single row descends together"}.at(Level::Registers),
      Field<S>{"steps", &S::steps, 1, 32, "levels that are descended before it is seen whether all have reached a leaf"}
          .at(Level::Registers),
      Field<S>{"block", &S::block, 1, 1 << 20, "rows that pass a tree before the next one is taken"}.inUnitsOf("rows"),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "rows of a task"}.partOf("rows")};
  return table;
}

} // namespace fathom
