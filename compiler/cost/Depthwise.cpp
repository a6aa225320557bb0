// Tiles of neighbouring pixels, which share weights and, where windows overlap, loads.
#include "compiler/cost/Depthwise.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

constexpr int64_t elementBytes = DepthwiseConv::elementBytes;
// What waiting for the lines of pixels costs, which lie apart, in multiples of the time that a stream of as many bytes
// takes. Nothing has fetched a task's first window, nor the rows behind it unless code does; then it helps where
// several lines of a pixel are read. Rows come again where the cache did not keep them.
static double firstWindow(double lines, const Target &target) {
  const Calibration &c = target.calibration;
  return 1 + (c.depthwiseFirstWindow + c.depthwiseFirstLine / lines) * waiting(target);
}
static double nextRow(bool ahead, double lines, const Target &target) {
  const Calibration &c = target.calibration;
  return ahead ? c.depthwiseAhead + c.depthwiseAheadLine / lines : linesApart(lines, target);
}
static double rowAgain(bool ahead, const Target &target) {
  const Calibration &c = target.calibration;
  return 1 + (ahead ? c.depthwiseAgainAhead : c.depthwiseAgain) * waiting(target);
}

int64_t registersOf(const DepthwiseSchedule &s, const Target &target) {
  int64_t vectors = llvm::divideCeil(s.lanes, target.lanes(32));
  return s.tileW * vectors + 2 * vectors;
}

// A tile of `pixels` for `lanes` channels.
static double tile(const DepthwiseConv &conv, int64_t pixels, int64_t lanes, bool ahead, const Target &target) {
  const Calibration &c = target.calibration;
  double vectors = double(llvm::divideCeil(lanes, target.lanes(32))), taps = conv.inside * double(conv.taps);
  double rows = taps / double(conv.across), accumulators = double(pixels) * vectors;
  double multiplyAdds = taps * accumulators;
  double inRow = double((pixels - 1) * conv.stride + conv.across), each = double(pixels * conv.across);
  double pixelLoads = conv.sharesLoads ? std::min(inRow, each) : each;
  double live = accumulators + vectors * (1 + std::min(pixelLoads, double(pixels + 2)));
  double missing = std::max(0.0, live - double(target.vectorRegisters));
  double loads = vectors * (pixelLoads * rows + taps) + c.depthwiseReloads * missing * rows;
  double latency = taps * double(target.fmaLatency) / std::max(1.0, double(target.fmaInFlight()) / accumulators);
  double widened = vectors * pixelLoads * rows * conv.widening;
  double inner =
      std::max({(multiplyAdds + widened) / target.fmaPerCycle, loads / (c.depthwiseLoadShare * target.loadsPerCycle),
                (multiplyAdds + widened + loads) / (c.depthwiseIssueShare * target.issuedPerCycle), latency});
  // A math function is a long chain: several of them side by side hide each other's latency.
  double chains = 1 + c.depthwiseChains / vectors;
  // Lines are asked for between the results, where loads have nothing to do.
  double fetched = ahead
                       ? double(pixels * std::min(conv.stride, conv.across)) * std::min(double(conv.strideDown), rows) *
                             std::max(1.0, double(lanes * conv.imageBytes) / lineBytes)
                       : 0;
  return inner + c.depthwisePixel * double(pixels) + fetched / target.loadsPerCycle +
         accumulators * (conv.consumerCycles * chains + c.depthwiseStore / target.storesPerCycle);
}

// Bringing the windows of a block of channels into the first-level cache, row by row, and the results into others.
static Movement movement(const DepthwiseConv &conv, const DepthwiseSchedule &s, const Target &target) {
  const Calibration &c = target.calibration;
  const CacheLevel &first = target.caches[0];
  int64_t blocks = llvm::divideCeil(conv.channels, s.blockC), channels = std::min(s.blockC, conv.channels);
  int64_t run = channels * conv.imageBytes, resultRun = channels * elementBytes;
  double lines = double(llvm::divideCeil(run, lineBytes)), pixels = double(conv.inputWidth);
  double rows = double(conv.rows), windowRows = double(conv.taps / conv.across);
  double down = std::min(double(conv.strideDown), windowRows); // rows that a window has and the one before had not
  double begun = std::ceil(rows / double(s.grain));            // windows at the beginnings of tasks

  // Bytes of all blocks from where `resident` bytes stay, as a stream.
  auto streamed = [&](double runs, double resident, int64_t runBytes) {
    return refill(double(blocks * runBytes) * runs, resident, target).waitedFor();
  };
  Movement moved = streamed(begun * windowRows * pixels, conv.bytes, run) * firstWindow(lines, target);
  moved += streamed((rows - begun) * down * pixels, conv.bytes, run) * nextRow(s.fetchAhead, lines, target);
  moved += streamed(rows * double(conv.width), conv.bytes, resultRun) * c.depthwiseResults;

  double inWindow = (windowRows + (s.fetchAhead ? down : 0)) * pixels;
  double window = double(run) * inWindow + double(resultRun) * double(conv.width + conv.taps);
  bool kept = window <= c.depthwiseKeptShare * double(first.bytes) &&
              setsFilled(inWindow, conv.channels * conv.imageBytes, first, run) <= 1;
  if (!kept)
    moved +=
        streamed((rows - begun) * (windowRows - down) * pixels, std::min(conv.bytes, double(blocks) * window), run) *
        rowAgain(s.fetchAhead, target);
  // A line that comes in several loads is waited for by each of them.
  double pieces = std::max(1.0, double(lineBytes) / double(s.lanes * conv.imageBytes));
  return moved * (1 + c.depthwisePieces * waiting(target) * (pieces - 1));
}

Estimate estimate(const DepthwiseConv &conv, const DepthwiseSchedule &s, const Target &target) {
  Estimate e = Estimate::on(target);
  double rowStart = target.calibration.depthwiseRowStart;
  double fullTile = tile(conv, s.tileW, s.lanes, s.fetchAhead, target);
  auto pixels = [&](int64_t lanes) {
    int64_t rest = conv.width % s.tileW;
    double whole = lanes == s.lanes ? fullTile : tile(conv, s.tileW, lanes, s.fetchAhead, target);
    double cycles = double(conv.width / s.tileW) * whole;
    if (rest)
      cycles += conv.unknownWidth ? double(rest) * tile(conv, 1, lanes, s.fetchAhead, target)
                                  : tile(conv, rest, lanes, s.fetchAhead, target);
    return cycles;
  };
  // A row of a block of channels, the last of which may be smaller.
  auto row = [&](int64_t channels) {
    int64_t native = std::min(s.lanes, target.lanes(32)), rest = channels % s.lanes;
    double cycles = rowStart + double(channels / s.lanes) * pixels(s.lanes);
    cycles += rest / native ? double(rest / native) * pixels(native) : 0;
    cycles += rest % native ? double(rest % native) * pixels(1) : 0;
    return cycles;
  };
  int64_t rest = conv.channels % s.blockC;
  double rows = double(conv.channels / s.blockC) * row(s.blockC) + (rest ? row(rest) : 0);
  e.arithmetic = double(conv.rows) * rows;
  if (rest || conv.width % s.tileW || s.blockC % s.lanes) {
    double tiles = double(conv.channels) / double(s.lanes) * (double(conv.width) / double(s.tileW));
    double full = double(llvm::divideCeil(conv.channels, s.blockC)) * rowStart + tiles * fullTile;
    e.tails = std::max(0.0, double(conv.rows) * (rows - full));
  }
  e.rowParts = double(llvm::divideCeil(conv.rows, s.grain));
  e.tasks = e.rowParts * double(llvm::divideCeil(conv.channels, s.blockC));
  // Beside the shared cache, data comes from those of other cores.
  e.exchange = target.calibration.depthwiseFromOthers * conv.bytes / target.caches.back().bytesPerCycle;
  e.moves(movement(conv, s, target));
  return e;
}

} // namespace fathom::cost
