// A draft of what descending decision trees costs, from its schedule alone. Pure functions; times are in cycles of one
// core.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Trees.h"

namespace fathom::cost {

struct Trees {
  int64_t rows = 1, features = 1, trees = 1;
  double nodes = 1, leaves = 1; // of a tree, on average
  int64_t nodeBytes = 8, weights = 1;
};

// Whether so many descents side by side have their places in registers.
bool fitsRegisters(int64_t descents, const Target &target);
Estimate estimate(const Trees &trees, const TreesSchedule &schedule, const Target &target);

} // namespace fathom::cost
