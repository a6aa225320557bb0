// A draft of what a convolution by spatial packing costs, from its schedule alone: tiles of neighbouring pixels by
// output channels, of one group or of several side by side.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/schedule/SpatialPack.h"

namespace fathom::cost {

struct SpatialPackConv {
  int64_t rows = 1;  // of pixels, of all images
  int64_t width = 1; // pixels of a row
  int64_t groups = 1;
  int64_t channels = 1, columns = 1;            // of a group: of the input, of the result
  int64_t kernel = 1, stride = 1, dilation = 1; // along a row
  int64_t kernelRows = 1;                       // stretches of the window along rows
  double consumerCycles = 0;                    // of the math functions fused behind, for a vector
  bool unknownWidth = false;                    // it is known only at run time
  bool swapsPairs = false;                      // of two channels: lanes multiply their own first, as it is loaded

  bool operator==(const SpatialPackConv &) const = default;
};

int64_t panelsOf(const SpatialPackConv &conv, const SpatialPackSchedule &schedule);
// How many pixels of the input so many neighbouring pixels of the result read along a row.
int64_t inputPixels(const SpatialPackConv &conv, int64_t pixels);
// Vector registers that the tile occupies.
int64_t registersOf(const SpatialPackConv &conv, const SpatialPackSchedule &schedule, const Target &target);

Estimate estimate(const SpatialPackConv &conv, const SpatialPackSchedule &schedule, const Target &target);

} // namespace fathom::cost
