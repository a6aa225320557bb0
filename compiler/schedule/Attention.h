// The schedules of attention in one kernel.
#pragma once

#include "compiler/schedule/Contract.h"

namespace fathom {

struct AttentionSchedule {
  int64_t tileM = 1, tileN = 1, unrollK = 1;
  int64_t blockN = 1;
  int64_t taskM = 1;
  bool fetchAhead = false;
  int64_t loadAhead = 0;
  int64_t scoreApart = 16;
  int64_t expTogether = 4;
  int64_t inFlight = 8;

  int64_t panel() const { return tileN; }
  static llvm::ArrayRef<Field<AttentionSchedule>> fields();
};

// Rows that a tile has at least, and its multiples: where multiply-adds take a lane as their factor, rows lie side by
// side for every key, and lanes run along them.
inline bool keepsRowsTogether(const Target &target) { return target.multipliesByLaneOfFour(); }
inline int64_t rowUnit(const Target &target) { return keepsRowsTogether(target) ? target.lanes(32) : 1; }

inline llvm::ArrayRef<Field<AttentionSchedule>> AttentionSchedule::fields() {
  using S = AttentionSchedule;
  static constexpr Field<S> table[] = {
      {"tile_m", &S::tileM, 1, 32, "query rows whose scores are kept together, and rows of the register tile"},
      Field<S>{"tile_n", &S::tileN, 1, 256, "columns of the register tile: of a packed panel of keys, then of values"}
          .inVectors(),
      Field<S>{"unroll_k", &S::unrollK, 1, 16, "steps of a reduction per iteration"}.at(Level::Registers),
      Field<S>{"in_flight", &S::inFlight, 1, Target::mostInFlight, inFlightMeaning, 3}.at(Level::Registers),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      Field<S>{"block_n", &S::blockN, 1, 1 << 20, "keys whose scores are kept together"}
          .inUnitsOf("tile_n")
          .wholeOf("keys")
          .shareOfCache(1, "tile_m"),
      {"fetch_ahead", &S::fetchAhead,
       "1: a tile of rows fetches the panel behind the current one (where the number of rows is not known, tiles that "
       "are not full do); 0: none does"},
      {"score_apart", &S::scoreApart, 0, 1024, "elements between rows of scores, where these do not lie side by side",
       2},
      Field<S>{"exp_together", &S::expTogether, 1, 16,
               "vectors of scores whose exponentials, each a chain of operations that wait for one another, are taken "
               "together",
               3}
          .at(Level::Registers),
      Field<S>{"task_m", &S::taskM, 1, mostPerTask, "query rows of a task"}.inUnitsOf("tile_m").partOf("rows")};
  return table;
}

} // namespace fathom
