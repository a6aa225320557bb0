// Vectors, what is left of a row behind them, and the data that passes.
#include "compiler/cost/Sweep.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

namespace {

// Instructions for `width` elements side by side, with spilled registers stored and loaded again.
double issueCycles(const Sweep &sweep, double instructions, int64_t width, const Target &target) {
  double vectors = double(llvm::divideCeil(width, target.lanes(sweep.bits)));
  double spilled =
      std::max(0.0, vectors * sweep.live + target.calibration.sweepOtherRegisters - double(target.vectorRegisters));
  return (vectors * instructions + 2 * spilled) / target.issuedPerCycle;
}

// A vector of results, or one result, with all its steps.
double resultCycles(const Sweep &sweep, int64_t width, const Target &target) {
  double step = std::max(issueCycles(sweep, sweep.instructions, width, target), sweep.carried);
  double cycles = double(sweep.steps) * step + issueCycles(sweep, sweep.once, width, target);
  double vectors = double(llvm::divideCeil(width, target.lanes(sweep.bits)));
  // Instructions of later vectors fill the gaps of the first.
  const Calibration &c = target.calibration;
  double ahead = std::max(1.0, c.sweepWindow / (vectors * (double(sweep.steps) * sweep.instructions + sweep.once) + 1));
  return std::max(cycles, sweep.latency / ahead) + c.sweepLoopEnd / target.issuedPerCycle;
}

// Calls `add(vectors, width)` for the vectors that a row of elements is divided into: of `lanes`, then, where tasks cut
// rows, of halves of it down to the target's own, then single elements.
template <typename Add>
void overVectors(const Sweep &sweep, int64_t elements, int64_t lanes, const Target &target, Add add) {
  int64_t native = std::min(lanes, target.lanes(sweep.bits));
  for (int64_t width = lanes;; width = width == native ? 1 : sweep.cutsRows ? width / 2 : native) {
    if (elements / width)
      add(double(elements / width), width);
    elements %= width;
    if (width == 1)
      return;
  }
}

// Steps that lie apart: every vector of results passes all of them, and fetches whole lines.
Movement movementApart(const Sweep &sweep, int64_t elements, int64_t lanes, const Target &target) {
  Movement moved;
  overVectors(sweep, elements, lanes, target, [&](double vectors, int64_t width) {
    double lines = std::ceil(double(width * sweep.bits) / (8 * lineBytes));
    double bytes = vectors * double(sweep.rows * sweep.steps) * lines * lineBytes;
    moved += refill(bytes, sweep.bytes, target).waitedFor() * linesApart(lines, target);
  });
  return moved;
}

// What elements cost that full vectors leave over, beyond their share of one.
double tailCycles(const Sweep &sweep, int64_t elements, int64_t lanes, double row, const Target &target) {
  if (elements % lanes == 0)
    return 0;
  double full = double(elements) / double(lanes) * resultCycles(sweep, lanes, target);
  if (sweep.acrossLanes)
    full =
        double(sweep.passes) * (full + (elements < lanes ? 0 : std::log2(double(lanes)) * double(target.fmaLatency)));
  return std::max(0.0, row - full);
}

} // namespace

double rowCycles(const Sweep &sweep, int64_t elements, int64_t lanes, const Target &target) {
  double full = double(elements / lanes) * resultCycles(sweep, lanes, target);
  if (sweep.acrossLanes) {
    // What is left is summed up one by one, and the lanes at the end.
    double combined = full > 0 ? std::log2(double(lanes)) * double(target.fmaLatency) : 0;
    return double(sweep.passes) * (full + double(elements % lanes) * resultCycles(sweep, 1, target) + combined);
  }
  double cycles = 0;
  overVectors(sweep, elements, lanes, target,
              [&](double vectors, int64_t width) { cycles += vectors * resultCycles(sweep, width, target); });
  return cycles;
}

int64_t leastGrain(const Sweep &sweep, int64_t lanes, const Target &target) {
  const Calibration &c = target.calibration;
  double row = c.sweepRowStart + rowCycles(sweep, sweep.length, lanes, target);
  double least = c.sweepWorthStarting * c.taskStart / (sweep.cutsRows ? row / double(sweep.length) : row);
  return std::max<int64_t>(1, int64_t(std::ceil(least)));
}

Estimate estimate(const Sweep &sweep, const SweepSchedule &schedule, const Target &target) {
  Estimate e = Estimate::on(target);
  int64_t stretch = sweep.cutsRows ? std::min(schedule.grain, sweep.length) : sweep.length;
  int64_t full = sweep.length / stretch, rest = sweep.length % stretch;
  double row = 0, tails = 0;
  Movement apart;
  auto add = [&](int64_t times, int64_t elements) {
    double cycles = rowCycles(sweep, elements, schedule.lanes, target);
    row += double(times) * (target.calibration.sweepRowStart + cycles);
    tails += double(times) * tailCycles(sweep, elements, schedule.lanes, cycles, target);
    if (sweep.cutsRows)
      apart += movementApart(sweep, elements, schedule.lanes, target) * double(times);
  };
  add(full, stretch);
  add(rest > 0, rest);
  e.arithmetic = double(sweep.rows) * row, e.tails = double(sweep.rows) * tails;
  e.tasks = double(sweep.cutsRows ? sweep.rows * (full + (rest > 0)) : llvm::divideCeil(sweep.rows, schedule.grain));
  e.moves(sweep.cutsRows ? apart : refill(sweep.bytes, sweep.bytes, target).beside(e.arithmetic));
  return e;
}

} // namespace fathom::cost
