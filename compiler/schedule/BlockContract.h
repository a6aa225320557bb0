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
  int64_t slices = 1, splits = 1;

  // Work items of a group: those that have a block's sums between them, as often as there are slices.
  int64_t tileItems() const { return (blockM / itemM) * (blockN / itemN); }
  int64_t items() const { return tileItems() * slices; }
  // So many sums of parts of the reduction are added to one.
  int64_t parts() const { return slices * splits; }
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
          .at(Level::Registers),
      Field<S>{"slices", &S::slices, 1, 8,
               "a power of two: parts of a block's steps that different work items sum up, whose sums are then added",
               3}
          .at(Level::Registers),
      Field<S>{"splits", &S::splits, 1, 8,
               "a power of two: parts of the reduction that different groups sum up, which read each other's sums from "
               "local memory; only where groups can do so",
               3}
          .at(Level::Tasks)};
  return table;
}

} // namespace fathom
