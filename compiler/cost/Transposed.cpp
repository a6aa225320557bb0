// Phases with the same number of taps cost the same.
#include "compiler/cost/Transposed.h"

#include "llvm/Support/MathExtras.h"
#include <map>

namespace fathom::cost {

int64_t panelsOf(const TransposedConv &conv, const TransposedSchedule &s) {
  return (conv.sideBySide ? 1 : conv.groups) * llvm::divideCeil(conv.panelColumns(), s.tileN);
}

int64_t registersOf(const TransposedConv &conv, const TransposedSchedule &s, const Target &target) {
  if (!conv.sideBySide)
    return registersOf(s.tileM, s.tileN, /*packed=*/false, target, conv.bits);
  // Weights, and a vector of the input at a time.
  int64_t vectors = llvm::divideCeil(s.tileN, target.lanes(conv.bits));
  return s.tileM * vectors + vectors + 1;
}

// The product of a phase with so many taps.
static Product productOf(const TransposedConv &conv, int64_t taps) {
  Product product;
  product.rows = conv.rows, product.columns = conv.panelColumns();
  product.batches = conv.sideBySide ? 1 : conv.groups;
  product.taps = taps, product.run = conv.channels;
  product.bits = conv.bits, product.sharedRows = std::max<int64_t>(1, taps);
  product.coldPanels = conv.coldPanels, product.unknownRows = conv.unknownRows;
  product.rowStride = conv.rowStride, product.consumerCycles = conv.consumerCycles;
  return product;
}

// Every tap loads its pixels as vectors of channels.
static double sideBySideCycles(const TransposedConv &conv, const TransposedSchedule &s, int64_t taps,
                               const Target &target) {
  const Calibration &c = target.calibration;
  int64_t vectors = llvm::divideCeil(s.tileN, target.lanes(conv.bits));
  double multiplyAdds = double(s.tileM * vectors), loads = multiplyAdds + double(vectors);
  double tap = std::max({multiplyAdds / target.fmaPerCycle, loads / target.loadsPerCycle, double(target.fmaLatency),
                         (multiplyAdds + loads) / target.issuedPerCycle}) +
               c.transposedTapStart;
  double tiles = double(llvm::divideCeil(conv.rows, s.tileM) * panelsOf(conv, s));
  return tiles * (double(taps) * tap + multiplyAdds / target.storesPerCycle + c.transposedTileStart);
}

Estimate estimate(const TransposedConv &conv, const TransposedSchedule &s, const Target &target) {
  std::map<int64_t, int64_t> phasesWith;
  for (int64_t taps : conv.taps)
    ++phasesWith[taps];
  ContractSchedule phase = s;
  phase.blockK = conv.channels;
  Estimate e = Estimate::on(target);
  Movement moved;
  for (auto [taps, phases] : phasesWith) {
    // Results without a tap are stored all the same.
    Estimate one = estimate(productOf(conv, std::max<int64_t>(1, taps)), phase, target);
    double cycles = conv.sideBySide ? sideBySideCycles(conv, s, taps, target) : one.arithmetic;
    // Side by side, rows and panels that tiles are not filled by are computed all the same.
    double full = double(conv.rows * conv.panelColumns()) /
                  double(llvm::alignTo(conv.rows, s.tileM) * llvm::alignTo(conv.panelColumns(), s.tileN));
    e.arithmetic += double(phases) * cycles;
    e.tails += double(phases) * (conv.sideBySide ? cycles * (1 - full) : one.tails);
    moved += Movement{one.movement, one.movementFrom} * double(phases);
    e.results += double(phases) * one.results;
  }
  int64_t rowTasks = llvm::divideCeil(conv.rows, std::min(s.taskM, conv.rows));
  int64_t panelTasks = llvm::divideCeil(panelsOf(conv, s), s.taskN);
  int64_t phaseTasks = llvm::divideCeil(conv.phases(), s.taskP);
  e.tasks = double(rowTasks * panelTasks * phaseTasks);
  e.moves(moved);
  return e;
}

} // namespace fathom::cost
