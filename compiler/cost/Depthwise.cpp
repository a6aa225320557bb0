// Tiles of neighbouring pixels, which share weights and, where windows overlap, loads.
#include "compiler/cost/Depthwise.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace fathom::cost {

// Starting a row, and addresses for each pixel of a tile.
constexpr double rowStart = 30, perPixel = 5;
// The shares of the loads and instructions that could start in a cycle, of what does (measured on Neoverse-V1).
constexpr double loadShare = 0.65, issueShare = 0.45;
// Loads that come again for every register that is missing.
constexpr double reloads = 1.2;

int64_t registersOf(const DepthwiseSchedule &s, const Target &target) {
  int64_t vectors = llvm::divideCeil(s.lanes, target.lanes(32));
  return s.tileW * vectors + 2 * vectors;
}

// A tile of `pixels` for `lanes` channels.
static double tile(const DepthwiseConv &conv, int64_t pixels, int64_t lanes, const Target &target) {
  double vectors = double(llvm::divideCeil(lanes, target.lanes(32))), taps = double(conv.taps);
  double rows = taps / double(conv.across), accumulators = double(pixels) * vectors;
  double multiplyAdds = taps * accumulators;
  double inRow = double((pixels - 1) * conv.stride + conv.across), each = double(pixels * conv.across);
  double pixelLoads = conv.sharesLoads ? std::min(inRow, each) : each;
  double live = accumulators + vectors * (1 + std::min(pixelLoads, double(pixels + 2)));
  double missing = std::max(0.0, live - double(target.vectorRegisters));
  double loads = vectors * (pixelLoads * rows + taps) + reloads * missing * rows;
  double latency = taps * double(target.fmaLatency) / std::max(1.0, double(target.fmaInFlight()) / accumulators);
  double inner = std::max({multiplyAdds / target.fmaPerCycle, loads / (loadShare * target.loadsPerCycle),
                           (multiplyAdds + loads) / (issueShare * target.issuedPerCycle), latency});
  // A math function is a long chain: several of them side by side hide each other's latency.
  double chains = 1 + 0.2 / vectors;
  return inner + perPixel * double(pixels) +
         accumulators * (conv.consumerCycles * chains + 0.5 / target.storesPerCycle);
}

Estimate estimate(const DepthwiseConv &conv, const DepthwiseSchedule &s, const Target &target) {
  Estimate e;
  auto pixels = [&](int64_t lanes) {
    int64_t rest = conv.width % s.tileW;
    double cycles = double(conv.width / s.tileW) * tile(conv, s.tileW, lanes, target);
    if (rest)
      cycles += conv.unknownWidth ? double(rest) * tile(conv, 1, lanes, target) : tile(conv, rest, lanes, target);
    return cycles;
  };
  int64_t native = std::min(s.lanes, target.lanes(32)), rest = conv.channels % s.lanes;
  double row = rowStart + double(conv.channels / s.lanes) * pixels(s.lanes);
  row += rest / native ? double(rest / native) * pixels(native) : 0;
  row += rest % native ? double(rest % native) * pixels(1) : 0;
  e.arithmetic = double(conv.rows) * row;
  e.tasks = double(llvm::divideCeil(conv.rows, s.grain));
  e.perTask = taskStart;
  e.movement = refill(conv.bytes, conv.bytes, target).beside(e.arithmetic);
  return e;
}

} // namespace fathom::cost
