// The schedules of transposed convolutions: those of a phase's product, and how phases are tasks.
#pragma once

#include "compiler/schedule/Contract.h"

namespace fathom {

struct TransposedSchedule : ContractSchedule {
  int64_t taskP = 1;

  TransposedSchedule() { storeVectors = 4; }
  static llvm::ArrayRef<Field<TransposedSchedule>> fields();
};

inline llvm::ArrayRef<Field<TransposedSchedule>> TransposedSchedule::fields() {
  using S = TransposedSchedule;
  static constexpr Field<S> table[] = {
      {"tile_m", &S::tileM, 1, 32, "pixels of a phase in the register tile"},
      Field<S>{"tile_n", &S::tileN, 1, 256, "output channels of a group in the register tile and in a packed panel"}
          .inVectors(),
      Field<S>{"unroll_k", &S::unrollK, 1, 16, "steps of the reduction per iteration"}.at(Level::Registers),
      Field<S>{"in_flight", &S::inFlight, 1, Target::mostInFlight, inFlightMeaning}.at(Level::Registers),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      Field<S>{"through_scratch", &S::throughScratch,
               "1: a tile is stored and read again before its consumers; 0: they take it from registers"}
          .at(Level::Form),
      {"store_vectors", &S::storeVectors, 1, 64, storeVectorsMeaning, 3},
      Field<S>{"task_p", &S::taskP, 1, 1 << 12, "phases of a task"}.partOf("phases"),
      Field<S>{"task_m", &S::taskM, 1, mostPerTask, "pixels of a phase in a task"}.inUnitsOf("tile_m").partOf("rows"),
      Field<S>{"task_n", &S::taskN, 1, mostPerTask, "panels of a task"}.partOf("panels")};
  return table;
}

} // namespace fathom
