// Transposed convolutions as products of phases. Results that lie the stride apart are a phase: they meet the same taps
// of the window, and neighbours among them read neighbouring pixels of the input.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

// The phases along a spatial dimension. Result s * q + phase meets taps first, first + tapStep, ... of the window,
// whose pixels of the input are q + from, q + from - inputStep, ...
struct PhaseAxis {
  int64_t stride, kernel, dilation, pad;
  int64_t common;             // greatest divisor of stride and dilation: other positions than its multiples meet no tap
  int64_t tapStep, inputStep; // from one tap to the next
  int64_t inverse;            // of the dilation, in steps of the stride

  struct Taps {
    int64_t first, count, from;
  };
  Taps taps(int64_t phase) const;
};

llvm::SmallVector<PhaseAxis> phaseAxes(const graph::Window &window);
// How many taps of the whole window the results of each phase meet, the last dimension's phases side by side.
llvm::SmallVector<int64_t> tapsOfPhases(const graph::Window &window);

// Whether there is a kernel for its phases: floats, with known numbers of channels. Others are gathered one by one.
bool hasPhases(graph::ConvTransposeOp op);
// Whether whole groups stand side by side in a panel, a lane for each: they have one input channel, and fewer output
// channels than a vector has lanes.
bool standsSideBySide(graph::ConvTransposeOp op, int64_t lanes);
// The zeros that it needs around its input: two numbers for each dimension.
llvm::SmallVector<int64_t> phaseHalo(graph::ConvTransposeOp op);
// How its weights lie: panels of output channels, the window, input channels of all groups; without panels where groups
// stand side by side.
llvm::SmallVector<int64_t> phaseWeightOrder(int64_t rank, bool sideBySide);

} // namespace fathom
