// A draft of what changing the order of elements costs, from its schedule alone: squares transposed in registers, and
// the lines that they touch. Pure functions; times are in cycles of one core.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Reorder.h"

namespace fathom::cost {

// Matrices that are read with their neighbours along one dimension and written with neighbours along the other.
struct Reorder {
  int64_t matrices = 1;
  int64_t along = 1, across = 1; // elements along the results' neighbours, and along the sources'
  // Bytes from a result to the next one across, and from a source's element to the next one along.
  int64_t resultDistance = 0, sourceDistance = 0;
  unsigned bits = 32;
  double sources = 1;      // tensors that are transposed
  double instructions = 2; // for a vector of results, with loads and stores
  double bytes = 0;        // that are read and written
};

Estimate estimate(const Reorder &reorder, const ReorderSchedule &schedule, const Target &target);

} // namespace fathom::cost
