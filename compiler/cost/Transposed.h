// A draft of what a transposed convolution by phases costs: a product for each phase, read in place.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/schedule/Transposed.h"
#include <vector>

namespace fathom::cost {

struct TransposedConv {
  int64_t rows = 1; // pixels of a phase, of all images
  int64_t groups = 1;
  int64_t channels = 1, columns = 1; // of a group: of the input, of the result
  std::vector<int64_t> taps{1};      // of each phase
  bool sideBySide = false;           // whole groups stand side by side in a panel, a lane for each column
  unsigned bits = 32;
  double consumerCycles = 0; // of the math functions fused behind, for a vector
  bool coldPanels = true;    // weights, which no kernel before has brought into the caches
  bool unknownRows = false;
  int64_t rowStride = 1; // elements from one pixel of the input to the next

  int64_t phases() const { return int64_t(taps.size()); }
  int64_t panelColumns() const { return sideBySide ? groups * columns : columns; }

  bool operator==(const TransposedConv &) const = default;
};

// Panels of all groups.
int64_t panelsOf(const TransposedConv &conv, const TransposedSchedule &schedule);
// Vector registers that the tile occupies.
int64_t registersOf(const TransposedConv &conv, const TransposedSchedule &schedule, const Target &target);

Estimate estimate(const TransposedConv &conv, const TransposedSchedule &schedule, const Target &target);

} // namespace fathom::cost
