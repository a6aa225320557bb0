// The schedules of convolutions by Winograd's method.
#pragma once

#include "compiler/schedule/Contract.h"

namespace fathom {

struct WinogradSchedule {
  int64_t tileM = 1, tileN = 1, unrollK = 1, inFlight = 1;
  int64_t taskTiles = 1, taskN = 1;
  int64_t loadAhead = 0;
  bool fetchAhead = true;
  int64_t tile = 4;
  int64_t positionApart = 48;

  int64_t panel() const { return tileN; }
  static llvm::ArrayRef<Field<WinogradSchedule>> fields();
};

inline llvm::ArrayRef<Field<WinogradSchedule>> WinogradSchedule::fields() {
  using S = WinogradSchedule;
  static constexpr Field<S> table[] = {
      {"tile", &S::tile, 2, 4, "pixels of a tile's side: 2 or 4"},
      {"tile_m", &S::tileM, 1, 32, "tiles of the register tile"},
      Field<S>{"tile_n", &S::tileN, 1, 256, "columns (channels) of the register tile and of a packed panel"}
          .inVectors(),
      Field<S>{"unroll_k", &S::unrollK, 1, 16, "steps of the reduction per iteration"}.at(Level::Registers),
      Field<S>{"in_flight", &S::inFlight, 1, Target::mostInFlight, inFlightMeaning}.at(Level::Registers),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      {"fetch_ahead", &S::fetchAhead,
       "1: tiles that pass the weights of a position fetch the next ones meanwhile; 0: they do not"},
      {"position_apart", &S::positionApart, 0, 1024,
       "elements between the transformed tiles of one position and the next, which are written together", 2},
      Field<S>{"task_t", &S::taskTiles, 1, 1 << 20, "tiles of a task"}.partOf("tiles"),
      Field<S>{"task_n", &S::taskN, 1, mostPerTask, "panels of a task"}.partOf("panels")};
  return table;
}

} // namespace fathom
