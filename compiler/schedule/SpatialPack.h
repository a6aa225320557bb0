// The schedules of convolutions by spatial packing.
#pragma once

#include "compiler/schedule/Contract.h"

namespace fathom {

struct SpatialPackSchedule {
  int64_t tileW = 1;
  int64_t tileO = 1;
  int64_t groups = 1;
  int64_t tileI = 1;
  bool unrollW = false;
  bool rowsOuter = false;
  int64_t taskRows = 1, taskPanels = 1;
  int64_t loadAhead = 0;

  int64_t panel() const { return tileO * groups; }
  // Loads that are shared, and lanes that are shuffled, are left to LLVM.
  bool canLoadAhead() const { return groups == 1 && !unrollW; }
  static llvm::ArrayRef<Field<SpatialPackSchedule>> fields();
};

// Whether groups side by side in a panel spread one input channel after the other over their lanes, each once for all
// taps along a row. Tap by tap is left to lanes that are factors as they are, and to pairs that are swapped ahead.
inline bool spreadsOnce(bool swapsPairs, const Target &target) { return !target.multipliesByLane() && !swapsPairs; }

inline llvm::ArrayRef<Field<SpatialPackSchedule>> SpatialPackSchedule::fields() {
  using S = SpatialPackSchedule;
  static constexpr Field<S> table[] = {
      {"tile_w", &S::tileW, 1, 32, "pixels of the register tile, side by side in a row"},
      Field<S>{"tile_o", &S::tileO, 1, 256, "output channels of a group in the register tile and in a packed panel"}
          .wholeOf("columns")
          .inVectors(),
      Field<S>{"groups", &S::groups, 1, 64, "groups in a panel; several of them are there as a whole"}.at(
          Level::Registers),
      Field<S>{"tile_i", &S::tileI, 1, 64, "input channels of a group per step"}.wholeOf("channels"),
      Field<S>{"unroll_w", &S::unrollW,
               "1: the window's pixels along a row are unrolled and share what they load; 0: they are a loop"}
          .at(Level::Form),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      Field<S>{"rows_outer", &S::rowsOuter, "1: panels stream past a row of pixels; 0: rows stream past a panel"}.at(
          Level::Form),
      Field<S>{"task_h", &S::taskRows, 1, mostPerTask, "rows of pixels of a task"}.partOf("rows"),
      Field<S>{"task_n", &S::taskPanels, 1, mostPerTask, "panels of a task"}.partOf("panels")};
  return table;
}

} // namespace fathom
