// The schedules of matrix products and convolutions in blocks of work groups.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

// Elements between rows (or steps) of a block in local memory beyond its own, so that what is read together lies in
// different banks.
inline int64_t localPad(bool fragments, bool byRows, int64_t elementBytes) {
  return !fragments ? 4 : byRows ? 16 / elementBytes : 8;
}

struct BlockContractSchedule {
  int64_t blockM = 32, blockN = 32, blockK = 16;
  int64_t itemM = 4, itemN = 4;
  int64_t stages = 2;
  bool fragments = false;

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
      Field<S>{
          "stages", &S::stages, 1, 4,
          "blocks of steps in local memory: the next ones are fetched while one is multiplied; 1: one after the other"}
          .at(Level::Cache),
      Field<S>{"fragments", &S::fragments,
               "1: a tile's sums are those of tensor cores' instructions, which 32 items compute together; 0: items "
               "multiply"}
          .at(Level::Registers)};
  return table;
}

} // namespace fathom
