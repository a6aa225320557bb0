// The schedules of products and convolutions that read their operands where they lie.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct ProductSchedule {
  int64_t tileM = 1, tileN = 1;

  static llvm::ArrayRef<Field<ProductSchedule>> fields();
};

inline llvm::ArrayRef<Field<ProductSchedule>> ProductSchedule::fields() {
  using S = ProductSchedule;
  static constexpr Field<S> table[] = {{"tile_m", &S::tileM, 1, 16, "rows (pixels) of a task"},
                                       {"tile_n", &S::tileN, 1, 16, "columns (channels) of a task"}};
  return table;
}

} // namespace fathom
