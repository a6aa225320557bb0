// The schedules of matrix products and convolutions in blocks of work groups.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

// Elements between rows of a block in local memory beyond its own, so that a column lies in several banks.
constexpr int64_t localPad = 4;

struct BlockContractSchedule {
  int64_t blockM = 32, blockN = 32, blockK = 16;
  int64_t itemM = 4, itemN = 4;
  int64_t stages = 2;

  // Work items of a group.
  int64_t items() const { return (blockM / itemM) * (blockN / itemN); }
  static llvm::ArrayRef<Field<BlockContractSchedule>> fields();
};

inline llvm::ArrayRef<Field<BlockContractSchedule>> BlockContractSchedule::fields() {
  using S = BlockContractSchedule;
  static constexpr Field<S> table[] = {
      {"block_m", &S::blockM, 1, 256, "rows (pixels) of a work group's block"},
      {"block_n", &S::blockN, 1, 256, "columns (channels) of a work group's block"},
      {"block_k", &S::blockK, 1, 128, "steps of the reduction that lie in local memory at a time"},
      {"item_m", &S::itemM, 1, 16, "rows of a work item's tile"},
      {"item_n", &S::itemN, 1, 16, "columns of a work item's tile"},
      {"stages", &S::stages, 1, 2,
       "2: the next steps' factors are fetched while these are multiplied, and local memory has both; 1: one after the "
       "other"}};
  return table;
}

} // namespace fathom
