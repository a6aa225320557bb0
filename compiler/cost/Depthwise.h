// A draft of what a convolution of single channels costs, from its schedule alone.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/Depthwise.h"

namespace fathom::cost {

struct DepthwiseConv {
  static constexpr int64_t elementBytes = 4;
  int64_t rows = 1, width = 1, channels = 1; // of the result: all rows of pixels, pixels of one, channels
  int64_t inputWidth = 1;                    // pixels of a row that is read
  int64_t taps = 9, across = 3;              // of the window, and how many of them lie in a row
  double inside = 1;                         // the share of the taps that lies in the image
  int64_t stride = 1, strideDown = 1;        // from pixel to pixel along a row, and from row to row
  bool sharesLoads = true;                   // windows of neighbouring pixels overlap
  int64_t imageBytes = elementBytes;         // of an element of the image
  double widening = 0;                       // instructions that make a vector of floats of what is loaded
  double consumerCycles = 0;                 // of the math functions fused behind, for a vector
  double bytes = 0;                          // of all operands
  bool unknownWidth = false;                 // pixels are counted only at run time
};

// Vector registers that a tile occupies: accumulators, a weight and the pixels that it meets.
int64_t registersOf(const DepthwiseSchedule &schedule, const Target &target);
Estimate estimate(const DepthwiseConv &conv, const DepthwiseSchedule &schedule, const Target &target);

} // namespace fathom::cost
