// Tiles along a row, the window's rows around them.
#include "compiler/cost/SpatialPack.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

namespace fathom::cost {

int64_t panelsOf(const SpatialPackConv &conv, const SpatialPackSchedule &s) {
  return s.groups > 1 ? llvm::divideCeil(conv.groups, s.groups) : conv.groups * (conv.columns / s.tileO);
}

int64_t inputPixels(const SpatialPackConv &conv, int64_t pixels) {
  int64_t common = std::gcd(conv.stride, conv.dilation), stride = conv.stride / common,
          dilation = conv.dilation / common;
  // Pixel p + dilation reads at tap t - stride what pixel p reads at tap t.
  int64_t again = std::max<int64_t>(0, pixels - dilation) * std::max<int64_t>(0, conv.kernel - stride);
  return pixels * conv.kernel - again;
}

static int64_t vectorsOf(int64_t columns, const Target &target) { return llvm::divideCeil(columns, target.lanes(32)); }

// Whether input channels are spread over the lanes of their groups by instructions of their own: where groups end
// within a vector, or multiply-adds cannot take a lane as their factor.
static bool spreads(const SpatialPackConv &conv, const SpatialPackSchedule &s, const Target &target) {
  return s.groups > 1 && (!target.multipliesByLane() || conv.columns % target.lanes(32));
}

int64_t registersOf(const SpatialPackConv &conv, const SpatialPackSchedule &s, const Target &target) {
  int64_t vectors = vectorsOf(s.panel(), target), perPixel = 1;
  // The weights of all taps, how to spread a channel, it itself.
  if (s.groups > 1 && s.unrollW && spreadsOnce(conv.swapsPairs, target))
    return s.tileW * vectors + conv.kernel + 3;
  if (s.groups > 1) // as loaded, or every input channel spread over the lanes of its group
    perPixel = vectors *
               (s.unrollW && spreads(conv, s, target) ? conv.channels : llvm::divideCeil(conv.channels, conv.columns));
  else if (target.multipliesByLane() && s.unrollW) // in a loop, one vector after the other is loaded
    perPixel = llvm::divideCeil(s.tileI, target.lanes(32));
  int64_t pixels = s.unrollW ? inputPixels(conv, s.tileW) : s.tileW;
  // Without lane-wise multiply-adds one broadcast after the other is enough.
  int64_t factors = s.groups == 1 && !target.multipliesByLane() ? 1 : pixels * perPixel;
  return s.tileW * vectors + vectors + factors;
}

namespace {

struct Scheduled {
  const SpatialPackConv &conv;
  const SpatialPackSchedule &s;
  const Target &target;
  const Calibration &c = target.calibration;
  static constexpr double element = 4;
  int64_t lanes = target.lanes(32);
  int64_t panels = panelsOf(conv, s), taskPanels = std::min(s.taskPanels, panels);
  int64_t taskRows = std::min(s.taskRows, conv.rows);
  int64_t rowTasks = llvm::divideCeil(conv.rows, taskRows), panelTasks = llvm::divideCeil(panels, taskPanels);

  // Cycles that reading a pixel takes longer because others of the window throw it out of the first-level cache.
  double collision() const {
    int64_t distance = conv.groups * conv.channels * int64_t(element), pixels = s.rowsOuter ? s.tileW : conv.width;
    double filled = setsFilled(double(conv.kernelRows * inputPixels(conv, pixels)), distance, target.caches[0]);
    int64_t lines = llvm::divideCeil(s.groups * conv.channels * int64_t(element), lineBytes);
    // Weights and results pass through the cache as well.
    return filled > c.spatialUsableWays
               ? c.spatialCollisionStall * std::min(filled, c.spatialOverfilled) * double(lines)
               : 0;
  }

  // One pixel of the window along a row, for all input channels of a group.
  double tap(int64_t pixels) const {
    int64_t vectors = vectorsOf(s.panel(), target);
    double steps = double(conv.channels), multiplyAdds = double(pixels * vectors) * steps;
    double fresh = double(inputPixels(conv, pixels)) / double(conv.kernel); // pixels that no tap before has read
    double read = s.unrollW ? fresh : double(pixels), loads = double(vectors) * steps, shuffles = 0;
    if (s.groups > 1) {
      loads += read * double(vectors * llvm::divideCeil(conv.channels, conv.columns));
      shuffles = spreads(conv, s, target) ? read * double(vectors) * (steps - double(conv.swapsPairs)) : 0;
    } else {
      loads += read *
               (target.multipliesByLane() ? double(llvm::divideCeil(conv.channels, std::min(lanes, s.tileI))) : steps);
    }
    // The tiles before and after overlap with a chain of multiply-adds.
    double latency = steps * double(target.fmaLatency) * c.spatialExposedLatency;
    int64_t missing = std::max<int64_t>(0, target.fmaInFlight() - pixels * vectors);
    multiplyAdds += steps * double(missing) * c.spatialIdleSlot;
    double stall = c.spatialLoadStall * loads + fresh * collision();
    return stall + std::max({(multiplyAdds + shuffles) / target.fmaPerCycle, loads / target.loadsPerCycle, latency,
                             (multiplyAdds + shuffles + loads) / target.issuedPerCycle});
  }

  double tile(int64_t pixels) const {
    double turns = double(conv.channels / s.tileI - 1) + (s.unrollW ? 1.0 / double(conv.kernel) : 1.0);
    double order = s.canLoadAhead() ? inOrder(s.loadAhead, conv.channels, /*packed=*/false, target) : 1;
    double window = double(conv.kernelRows * conv.kernel) * (tap(pixels) * order + turns * c.spatialLoopTurn);
    double stores = double(pixels * vectorsOf(s.panel(), target));
    return window + c.spatialTileStart + stores / target.storesPerCycle;
  }

  // A row of tiles, and what of it partial ones cost beyond full ones.
  std::pair<double, double> row() const {
    double full = tile(s.tileW), fullTiles = c.spatialRowStart + double(conv.width / s.tileW) * full;
    double cycles = fullTiles;
    int64_t rest = conv.width % s.tileW;
    if (rest && !conv.unknownWidth)
      cycles += tile(rest);
    for (int64_t pixels = 1; conv.unknownWidth && pixels <= rest; pixels *= 2)
      cycles += rest & pixels ? tile(pixels) : 0;
    return {cycles, std::max(0.0, cycles - fullTiles - double(rest) / double(s.tileW) * full)};
  }

  Refill movement() const {
    double all = double(conv.groups * conv.channels), line = 64 / element;
    double rowBytes = double(conv.width * conv.stride) * all * element;
    double panelBytes = double(conv.kernelRows * conv.kernel * s.panel() * conv.channels) * element;
    // A panel reads whole lines of a pixel, however few of their channels it needs.
    double share = std::min(all, std::max(line, double(s.groups * conv.channels))) / all;
    double weights = panelBytes * double(taskPanels), taskInput = rowBytes * double(taskRows);
    Refill moved = refill(taskInput, rowBytes * double(conv.rows), target);
    if (s.rowsOuter) {
      int64_t columns = llvm::divideCeil(conv.width, s.tileW);
      double window = double(conv.kernelRows * inputPixels(conv, s.tileW)) * all * element;
      moved += refill(weights * double(taskRows * columns), weights + window, target);
    } else {
      Refill passes = refill(taskInput * share * double(taskPanels), taskInput * share + panelBytes, target);
      // Lines of one panel follow each other at large distances.
      moved = moved.exposedAtLeast(c.spatialExposedStrided);
      moved += Refill{passes.full, 0, passes.fullFrom}.exposedAtLeast(c.spatialExposedStrided);
    }
    moved = moved * double(rowTasks * panelTasks);
    moved += coldRefill(panelBytes * double(panels), target);
    return moved;
  }

  double results() const {
    double vectors = double(conv.rows * conv.width * panels * vectorsOf(s.panel(), target));
    double bytes = double(conv.rows * conv.width * conv.groups * conv.columns) * element;
    return vectors * (conv.consumerCycles * c.longChain + c.resultVector) +
           storingCycles(bytes, double(taskPanels * s.panel()) * element, panelTasks > 1, target);
  }
};

} // namespace

Estimate estimate(const SpatialPackConv &conv, const SpatialPackSchedule &schedule, const Target &target) {
  Scheduled scheduled{conv, schedule, target};
  Estimate e = Estimate::on(target);
  e.tasks = double(scheduled.rowTasks * scheduled.panelTasks);
  auto [row, tails] = scheduled.row();
  e.arithmetic = double(conv.rows * scheduled.panels) * row;
  e.tails = double(conv.rows * scheduled.panels) * tails;
  e.moves(scheduled.movement().beside(e.arithmetic));
  e.results = scheduled.results();
  return e;
}

} // namespace fathom::cost
