// A draft of what a convolution by spatial packing costs, from its schedule alone: tiles of neighbouring pixels by
// output channels, of one group or of several side by side.
#pragma once

#include "compiler/cost/Product.h"

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
};

struct SpatialPackSchedule {
  int64_t tileW = 1;      // pixels of the register tile
  int64_t tileO = 1;      // output channels of a group in a panel
  int64_t groups = 1;     // groups in a panel; several of them are there as a whole
  int64_t tileI = 1;      // input channels of a step
  bool unrollW = false;   // the window's pixels along a row are unrolled, and share what they load
  bool rowsOuter = false; // panels pass by a row, not rows by a panel
  int64_t taskRows = 1, taskPanels = 1;
  int64_t loadAhead = 0;

  int64_t panel() const { return tileO * groups; }
  // Loads that are shared, and lanes that are shuffled, are left to LLVM.
  bool canLoadAhead() const { return groups == 1 && !unrollW; }
};

int64_t panelsOf(const SpatialPackConv &conv, const SpatialPackSchedule &schedule);
// How many pixels of the input so many neighbouring pixels of the result read along a row.
int64_t inputPixels(const SpatialPackConv &conv, int64_t pixels);
// Whether groups side by side in a panel spread one input channel after the other over their lanes, each once for all
// taps along a row. Tap by tap is left to lanes that are factors as they are, and to pairs that are swapped ahead.
inline bool spreadsOnce(bool swapsPairs, const Target &target) { return !target.laneFma && !swapsPairs; }
// Vector registers that the tile occupies.
int64_t registersOf(const SpatialPackConv &conv, const SpatialPackSchedule &schedule, const Target &target);

Estimate estimate(const SpatialPackConv &conv, const SpatialPackSchedule &schedule, const Target &target);

} // namespace fathom::cost
