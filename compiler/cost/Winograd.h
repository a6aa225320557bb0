// A draft of what a convolution by Winograd's method costs, from its schedule alone.
#pragma once

#include "compiler/cost/Product.h"

namespace fathom::cost {

struct WinogradConv {
  int64_t size = 4;     // pixels of a tile's side: 2 or 4
  int64_t tiles = 1;    // of all images
  int64_t pixels = 1;   // that the tiles really have
  int64_t channels = 1; // of the input
  int64_t columns = 1;  // channels of the result
  int64_t groups = 1;   // of both
  double resultStreams = 1;

  int64_t positions() const { return (size + 2) * (size + 2); }
  int64_t groupChannels() const { return channels / groups; }
  int64_t groupColumns() const { return columns / groups; }
};

struct WinogradSchedule {
  int64_t tileM = 1, tileN = 1, unrollK = 1, inFlight = 1;
  int64_t taskTiles = 1, taskN = 1;
  int64_t loadAhead = 0;
  bool fetchAhead = true; // the weights of the next position, while tiles pass those of the current one
};

Estimate estimate(const WinogradConv &conv, const WinogradSchedule &schedule, const Target &target);

} // namespace fathom::cost
