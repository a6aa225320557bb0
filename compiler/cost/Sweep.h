// A draft of what a pass over data costs, from its schedule alone: elementwise work, copies, reductions along axes,
// pooling windows. Pure functions; times are in cycles of one core.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Sweep.h"

namespace fathom::cost {

// Rows of neighbouring elements, along which the lanes run. A vector of results takes a number of steps, which follow
// each other where they are summed up; where tasks cut rows, each step lies in a row of its own.
struct Sweep {
  int64_t rows = 1, length = 1;
  bool cutsRows = false; // whether tasks are stretches of rows, or whole rows
  unsigned bits = 32;    // of an element in a register
  int64_t steps = 1;
  double instructions = 2; // of a step, for a vector
  double carried = 0;      // cycles from one step to the next of the same sum
  double once = 0;         // instructions besides the steps, for a vector of results
  double latency = 4;      // until an element is through
  double live = 2;         // registers that a vector occupies
  // Whether the vectors of a row are summed up into one, and how many passes over the row there are.
  bool acrossLanes = false;
  int64_t passes = 1;
  double bytes = 0; // that all rows read and write
};

Estimate estimate(const Sweep &sweep, const SweepSchedule &schedule, const Target &target);
// Cycles of `elements` neighbouring elements of a row.
double rowCycles(const Sweep &sweep, int64_t elements, int64_t lanes, const Target &target);
// The least of a task that is worth starting it.
int64_t leastGrain(const Sweep &sweep, int64_t lanes, const Target &target);

} // namespace fathom::cost
