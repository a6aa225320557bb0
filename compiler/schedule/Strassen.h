// The schedules of matrix products in quarters by Strassen's method.
#pragma once

#include "compiler/schedule/Contract.h"

namespace fathom {

struct StrassenSchedule {
  int64_t tileM = 1, tileN = 1, unrollK = 1, inFlight = 1;
  bool fetchAhead = false;
  int64_t taskM = 1, taskN = 1;
  int64_t loadAhead = 0;
  int64_t stored = 7;
  int64_t factorApart = 48, fetchPairs = 4;

  int64_t panel() const { return tileN; }
  static llvm::ArrayRef<Field<StrassenSchedule>> fields();
};

inline llvm::ArrayRef<Field<StrassenSchedule>> StrassenSchedule::fields() {
  using S = StrassenSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"stored", &S::stored, 4, 7,
               "factors of the weights that are stored; the others are added up while the kernel runs"}
          .at(Level::Form),
      {"tile_m", &S::tileM, 1, 32, "pairs of rows of the register tile"},
      Field<S>{"tile_n", &S::tileN, 1, 256,
               "columns of the register tile and of a packed panel, both of half the product"}
          .inVectors(),
      Field<S>{"unroll_k", &S::unrollK, 1, 16, "steps of the reduction per iteration"}.at(Level::Registers),
      Field<S>{"in_flight", &S::inFlight, 1, Target::mostInFlight, inFlightMeaning}.at(Level::Registers),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      {"fetch_ahead", &S::fetchAhead, "1: tiles that pass a panel fetch the next one meanwhile; 0: they do not"},
      {"factor_apart", &S::factorApart, 0, 1024,
       "elements between the factors of the left side, which are written together", 2},
      {"fetch_pairs", &S::fetchPairs, 0, 64, "pairs of rows ahead of which what is added to them is fetched", 2},
      Field<S>{"task_m", &S::taskM, 1, mostPerTask, "pairs of rows of a task"}.inUnitsOf("tile_m").partOf("rows"),
      Field<S>{"task_n", &S::taskN, 1, mostPerTask, "panels of a task"}.partOf("panels")};
  return table;
}

} // namespace fathom
