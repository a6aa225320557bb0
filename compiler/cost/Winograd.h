// A draft of what a convolution by Winograd's method costs, from its schedule alone.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/schedule/Winograd.h"

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

  bool operator==(const WinogradConv &) const = default;
};

Estimate estimate(const WinogradConv &conv, const WinogradSchedule &schedule, const Target &target);

} // namespace fathom::cost
