// A draft of what a matrix product costs, from its schedule alone: multiply-adds and loads of the register tile, data
// that moves through the caches, packing, tails and tasks. Pure functions; times are in cycles of one core.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Contract.h"
#include <algorithm>

namespace fathom::cost {

// A product as the inner loops see it. A convolution is one of pixels by channels.
struct Product {
  int64_t batches = 1, rows = 1, columns = 1;
  int64_t taps = 1, run = 1; // the reduction: so many stretches of so many neighbouring elements
  unsigned bits = 32;
  int64_t sharedRows = 1;    // how many rows read the same elements: the taps of a window
  bool coldPanels = true;    // weights, which no kernel before has brought into the caches
  double resultStreams = 1;  // tensors of the result's size that the fused consumers read and write
  int64_t rowStride = 0;     // elements from one row to the next, where that is one distance
  double consumerCycles = 0; // of the math functions fused behind, for a vector
  double producerCycles = 0; // of what computes the left operand while it is packed, for a vector
  bool unknownRows = false;  // how many there are is known only at run time
  int64_t groupColumns = 0;  // 0 without groups
  int64_t turns = 1;         // so many products of this kind take turns, panel by panel
  double instructions = 1;   // of a multiply-add

  int64_t depth() const { return taps * run; }

  bool operator==(const Product &) const = default;
};

// Whether the loops of a target's 32-bit floats can be ordered ahead of LLVM.
bool canLoadAhead(const ContractSchedule &schedule, int64_t run, const Target &target);
// How far ahead loads come best in a reduction of so many steps, where they can.
int64_t bestLoadAhead(const ContractSchedule &schedule, int64_t run, const Target &target);
// What such a reduction takes in the order that a schedule gives it, in parts of what it takes in the best one.
double inOrder(int64_t loadAhead, int64_t run, bool packed, const Target &target);

// Whether a schedule can fetch ahead: several tiles of so many rows pass a panel, one at a time. Several panels are as
// many streams, which the hardware follows from one tile to the next.
inline bool canFetchAhead(const ContractSchedule &s, int64_t rows) {
  return !s.rowsOuter && std::min(s.taskM, rows) > s.tileM && s.streams == 1;
}

Estimate estimate(const Product &product, const ContractSchedule &schedule, const Target &target);

// Cycles of one step of the reduction for a tile of rows x columns with `sets` sets of accumulators.
double stepCycles(int64_t rows, int64_t columns, bool packed, int64_t sets, const Target &target, unsigned bits,
                  double instructions = 1);
// Instructions that add four products of bytes to every lane of a vector; of `narrow` ones, where that takes fewer.
double byteProductInstructions(const Target &target, bool narrow);
// Vector registers that a tile occupies, of which so many panels with these columns are multiplied together.
int64_t registersOf(int64_t rows, int64_t columns, bool packed, const Target &target, unsigned bits,
                    int64_t panels = 1);
// Steps of a reduction of so many that an iteration takes best.
int64_t unrolledSteps(int64_t run, const Target &target, unsigned bits);

} // namespace fathom::cost
