// The schedules of matrix products and convolutions.
#pragma once

#include "compiler/schedule/Field.h"
#include "compiler/target/Target.h"
#include "llvm/ADT/bit.h"

namespace fathom {

constexpr llvm::StringLiteral inFlightMeaning =
    "multiply-adds at a time: a tile of fewer accumulators has several sets of them, up to 8";
constexpr llvm::StringLiteral loadAheadMeaning =
    "multiply-adds that the inner loop's loads come ahead of their use, as far as there are registers; 0, or with too "
    "few of them for any order: LLVM orders that loop";
constexpr llvm::StringLiteral storeVectorsMeaning =
    "vectors of results that consumers are applied to together, through scratch";
constexpr int64_t mostLoadAhead = 64;

struct ContractSchedule {
  int64_t tileM = 1, tileN = 1, unrollK = 1, inFlight = 1;
  bool packed = false;
  int64_t blockK = 1;
  bool rowsOuter = false;
  int64_t taskM = 1, taskN = 1;
  bool throughScratch = false;
  int64_t streams = 1;
  bool fetchAhead = false;
  int64_t loadAhead = 0;
  int64_t packVectors = 2, rowApart = 0, storeVectors = 8;

  int64_t panel() const { return tileN; }
  static llvm::ArrayRef<Field<ContractSchedule>> fields();
};

// Sets of accumulators that a tile of so many of them has where so many multiply-adds are to be in flight.
inline int64_t accumulatorSets(int64_t accumulators, int64_t inFlight, int64_t run) {
  constexpr int64_t shortest = 32, most = 8; // steps of a reduction that adding sets up is worth; sets
  if (run < shortest)
    return 1;
  return llvm::bit_floor(uint64_t(std::clamp<int64_t>(inFlight / std::max<int64_t>(1, accumulators), 1, most)));
}

inline llvm::ArrayRef<Field<ContractSchedule>> ContractSchedule::fields() {
  using S = ContractSchedule;
  static constexpr Field<S> table[] = {
      {"tile_m", &S::tileM, 1, 32, "rows (pixels) of the register tile"},
      Field<S>{"tile_n", &S::tileN, 1, 256, "columns (channels) of the register tile and of a packed panel"}
          .inVectors(),
      Field<S>{"unroll_k", &S::unrollK, 1, 16, "steps of the reduction per iteration"}.at(Level::Registers),
      Field<S>{"in_flight", &S::inFlight, 1, Target::mostInFlight, inFlightMeaning}.at(Level::Registers),
      Field<S>{"load_ahead", &S::loadAhead, 0, mostLoadAhead, loadAheadMeaning}.at(Level::Registers),
      Field<S>{"pack_a", &S::packed, "1: rows are packed block by block, computing fused producers; 0: read in place"}
          .at(Level::Form),
      {"pack_vectors", &S::packVectors, 1, 8, "vectors of a row that are packed together", 2},
      {"row_apart", &S::rowApart, 0, 256,
       "elements between packed rows, which would share few sets of a cache; 0 where rows of a tile lie side by side",
       2},
      Field<S>{"block_k", &S::blockK, 1, 1 << 20, "steps of the reduction per packed block"}
          .wholeOf("depth")
          .shareOfCache(1, "tile_n"),
      Field<S>{"rows_outer", &S::rowsOuter, "1: panels stream past a tile of rows; 0: rows stream past a panel"}.at(
          Level::Form),
      Field<S>{"through_scratch", &S::throughScratch,
               "1: a tile is stored and read again before its consumers; 0: they take it from registers"}
          .at(Level::Form),
      {"store_vectors", &S::storeVectors, 1, 64, storeVectorsMeaning, 2},
      Field<S>{"streams", &S::streams, 1, 8,
               "panels that a tile is multiplied with together, each in a part of the weights of its own"}
          .at(Level::Registers),
      {"fetch_ahead", &S::fetchAhead,
       "1: tiles of rows that pass a panel fetch the next one meanwhile; 0: they do not"},
      Field<S>{"task_m", &S::taskM, 1, mostPerTask, "rows of a task"}.inUnitsOf("tile_m").partOf("rows"),
      Field<S>{"task_n", &S::taskN, 1, mostPerTask, "panels of a task"}.inUnitsOf("streams").partOf("panels")};
  return table;
}

} // namespace fathom
