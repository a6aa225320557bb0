// The schedules of products with matrices of small integers.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct PackedProductSchedule {
  int64_t tileM = 1, tileN = 1, rowN = 1;
  int64_t grain = 1;
  int64_t chunk = 32;
  int64_t vectors = 2;

  static constexpr int64_t unit = 16; // weights widened together: no block is smaller

  static llvm::ArrayRef<Field<PackedProductSchedule>> fields();
};

inline llvm::ArrayRef<Field<PackedProductSchedule>> PackedProductSchedule::fields() {
  using S = PackedProductSchedule;
  static constexpr Field<S> table[] = {
      {"tile_m", &S::tileM, 1, 16, "rows of input that share the unpacking"},
      {"tile_n", &S::tileN, 1, 16, "columns that such rows are multiplied with together"},
      Field<S>{"row_n", &S::rowN, 1, 16, "columns that a single row is multiplied with together"}.at(Level::Registers),
      Field<S>{"chunk", &S::chunk, 16, 32,
               "weights of a column that are unpacked together, as far as a block has them: 16 or 32", 2}
          .at(Level::Registers),
      Field<S>{"vectors", &S::vectors, 1, 4, "vectors of a sum, as far as 16 weights fill them", 3}.at(
          Level::Registers),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "columns of a task"}.partOf("columns")};
  return table;
}

} // namespace fathom
