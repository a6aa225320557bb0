// Seven products of quarters that take turns, and the sums before and behind them.
#include "compiler/cost/Strassen.h"

#include "llvm/Support/MathExtras.h"

namespace fathom::cost {

// Vector operations for a vector of each quarter: four loads, five sums and seven stores on the way in; seven loads and
// eight sums on the way out, and four stores and loads as the results of a last panel that is not full have them. Those
// of the others come from registers: for them this is too much by a few cycles.
constexpr double inputSums = 5, inputLoads = 4, inputStores = 7;
constexpr double resultSums = 8, resultLoads = 11, resultStores = 4;
// The same for a vector of a factor that is the sum of two others.
constexpr double restSums = 1, restLoads = 2, restStores = 1;

ContractSchedule ofQuarter(const StrassenProduct &p, const StrassenSchedule &s, const Target &target) {
  ContractSchedule inner{s.tileM,       s.tileN, s.unrollK, s.inFlight, target.multipliesByLane(),
                         p.halfDepth(), false,   s.taskM,   s.taskN};
  inner.fetchAhead = s.fetchAhead, inner.loadAhead = s.loadAhead;
  return inner;
}

Estimate estimate(const StrassenProduct &p, const StrassenSchedule &s, const Target &target) {
  constexpr int64_t factors = 7;
  // The last panel is computed whole.
  int64_t columns = llvm::alignTo(p.halfColumns(), s.tileN);
  Product quarter{.rows = p.pairs(), .columns = columns, .run = p.halfDepth(), .resultStreams = 0};
  quarter.rowStride = p.halfDepth(), quarter.turns = factors;
  Estimate e = estimate(quarter, ofQuarter(p, s, target), target);
  e.tails += (e.arithmetic - e.tails) * double(columns - p.halfColumns()) / double(columns);
  int64_t panels = columns / s.tileN;
  e.largest =
      double(std::min(s.taskM, p.pairs())) / double(p.pairs()) * double(std::min(s.taskN, panels)) / double(panels);

  auto vectors = [&](int64_t count) { return double(llvm::divideCeil(count, target.lanes(32))); };
  double input = double(p.pairs()) * vectors(p.halfDepth()), result = double(p.pairs()) * vectors(p.halfColumns());
  // Rows side by side, as lane-wise multiply-adds take them, are transposed on their way.
  const Calibration &c = target.calibration;
  double moved = target.multipliesByLane() ? inputStores * c.strassenTransposing : 0;
  int64_t panelTasks = llvm::divideCeil(panels, s.taskN), rowTasks = llvm::divideCeil(p.pairs(), s.taskM);
  double rest = double(rowTasks * (factors - p.stored)) * double(p.halfDepth()) * vectors(columns);
  e.packing =
      rest * (restSums / c.strassenSums + restLoads / target.loadsPerCycle + restStores / target.storesPerCycle);
  e.packing += double(panelTasks) * input *
               (inputSums / c.strassenSums + inputLoads / target.loadsPerCycle + inputStores / target.storesPerCycle +
                moved + 4 * p.producerCycles);
  e.results = result * (resultSums / c.strassenSums + resultLoads / target.loadsPerCycle +
                        resultStores / target.storesPerCycle + 4 * (p.consumerCycles + c.resultVector));
  return e;
}

} // namespace fathom::cost
