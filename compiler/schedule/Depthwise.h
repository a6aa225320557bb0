// The schedules of convolutions of single channels.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct DepthwiseSchedule {
  int64_t tileW = 1, lanes = 1, blockC = 1;
  bool fetchAhead = false;
  int64_t grain = 1;
  int64_t fetchBlock = 3;

  static llvm::ArrayRef<Field<DepthwiseSchedule>> fields();
};

inline llvm::ArrayRef<Field<DepthwiseSchedule>> DepthwiseSchedule::fields() {
  using S = DepthwiseSchedule;
  static constexpr Field<S> table[] = {
      {"tile_w", &S::tileW, 1, 16, "pixels computed together"},
      Field<S>{"lanes", &S::lanes, 1, 64, "channels computed together"}.inVectors(),
      Field<S>{"block_c", &S::blockC, 1, mostPerTask, "channels of a task"}.partOf("channels"),
      {"fetch_ahead", &S::fetchAhead,
       "1: a row fetches what the next one, and the next block of channels, need; 0: it does not"},
      {"fetch_block", &S::fetchBlock, 0, 1024,
       "the most rows of a task, in heights of the window, that fetch the first windows of the next block of channels",
       3},
      Field<S>{"grain", &S::grain, 1, mostPerTask, "rows of a task"}.partOf("rows")};
  return table;
}

} // namespace fathom
