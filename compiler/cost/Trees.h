// A draft of what descending decision trees costs, from its schedule alone. Pure functions; times are in cycles of one
// core.
#pragma once

#include "compiler/cost/Estimate.h"

namespace fathom::cost {

struct Trees {
  int64_t rows = 1, features = 1, trees = 1;
  double nodes = 1, leaves = 1; // of a tree, on average
  int64_t nodeBytes = 8, weights = 1;
};

struct TreesSchedule {
  int64_t rows = 1, trees = 1; // that descend together: rows through a tree, or trees by a row
  int64_t steps = 1;           // from one look for whether all are at a leaf to the next
  int64_t block = 1, grain = 1;
};

// Whether so many descents side by side have their places in registers.
bool fitsRegisters(int64_t descents, const Target &target);
Estimate estimate(const Trees &trees, const TreesSchedule &schedule, const Target &target);

} // namespace fathom::cost
