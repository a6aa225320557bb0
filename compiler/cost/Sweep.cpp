// Vectors, what is left of a row behind them, and the data that passes.
#include "compiler/cost/Sweep.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// Instructions of a loop's end, and cycles of starting a row: its indices, and a branch that is often predicted wrong.
constexpr double loopEnd = 3, rowStart = 20;
// Instructions that are looked ahead: those of later vectors fill the gaps of the first.
constexpr double window = 128;
// Registers that hold constants and addresses.
constexpr double otherRegisters = 6;
// A task shall take so many times as long as starting it.
constexpr double worthStarting = 20;

namespace {

// Instructions for `width` elements side by side, with spilled registers stored and loaded again.
double issueCycles(const Sweep &sweep, double instructions, int64_t width, const Target &target) {
  double vectors = double(llvm::divideCeil(width, target.lanes(sweep.bits)));
  double spilled = std::max(0.0, vectors * sweep.live + otherRegisters - double(target.vectorRegisters));
  return (vectors * instructions + 2 * spilled) / target.issuedPerCycle;
}

// A vector of results, or one result, with all its steps.
double resultCycles(const Sweep &sweep, int64_t width, const Target &target) {
  double step = std::max(issueCycles(sweep, sweep.instructions, width, target), sweep.carried);
  double cycles = double(sweep.steps) * step + issueCycles(sweep, sweep.once, width, target);
  double vectors = double(llvm::divideCeil(width, target.lanes(sweep.bits)));
  double ahead = std::max(1.0, window / (vectors * (double(sweep.steps) * sweep.instructions + sweep.once) + 1));
  return std::max(cycles, sweep.latency / ahead) + loopEnd / target.issuedPerCycle;
}

} // namespace

double rowCycles(const Sweep &sweep, int64_t elements, int64_t lanes, const Target &target) {
  int64_t native = std::min(lanes, target.lanes(sweep.bits));
  double full = double(elements / lanes) * resultCycles(sweep, lanes, target);
  int64_t rest = elements % lanes;
  if (!sweep.acrossLanes)
    return full + double(rest / native) * resultCycles(sweep, native, target) +
           double(rest % native) * resultCycles(sweep, 1, target);
  // What is left is summed up one by one, and the lanes at the end.
  double combined = full > 0 ? std::log2(double(lanes)) * double(target.fmaLatency) : 0;
  return double(sweep.passes) * (full + double(rest) * resultCycles(sweep, 1, target) + combined);
}

int64_t leastGrain(const Sweep &sweep, int64_t lanes, const Target &target) {
  double row = rowStart + rowCycles(sweep, sweep.length, lanes, target);
  double least = worthStarting * taskStart / (sweep.cutsRows ? row / double(sweep.length) : row);
  return std::max<int64_t>(1, int64_t(std::ceil(least)));
}

Estimate estimate(const Sweep &sweep, const SweepSchedule &schedule, const Target &target) {
  Estimate e;
  int64_t stretch = sweep.cutsRows ? std::min(schedule.grain, sweep.length) : sweep.length;
  int64_t full = sweep.length / stretch, rest = sweep.length % stretch;
  double row = double(full) * (rowStart + rowCycles(sweep, stretch, schedule.lanes, target));
  if (rest)
    row += rowStart + rowCycles(sweep, rest, schedule.lanes, target);
  e.arithmetic = double(sweep.rows) * row;
  e.tasks = double(sweep.cutsRows ? sweep.rows * (full + (rest > 0)) : llvm::divideCeil(sweep.rows, schedule.grain));
  e.perTask = taskStart;
  e.movement = refill(sweep.bytes, sweep.bytes, target).beside(e.arithmetic);
  return e;
}

} // namespace fathom::cost
