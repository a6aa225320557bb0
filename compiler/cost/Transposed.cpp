// Phases with the same number of taps cost the same.
#include "compiler/cost/Transposed.h"

#include "llvm/Support/MathExtras.h"
#include <map>

namespace fathom::cost {

// What a tap of groups side by side costs beside its multiply-adds and loads: its addresses and a branch.
constexpr double tapStart = 2;

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
  int64_t vectors = llvm::divideCeil(s.tileN, target.lanes(conv.bits));
  double multiplyAdds = double(s.tileM * vectors), loads = multiplyAdds + double(vectors);
  double tap = std::max({multiplyAdds / target.fmaPerCycle, loads / target.loadsPerCycle, double(target.fmaLatency),
                         (multiplyAdds + loads) / target.issuedPerCycle}) +
               tapStart;
  double tiles = double(llvm::divideCeil(conv.rows, s.tileM) * panelsOf(conv, s));
  return tiles * (double(taps) * tap + multiplyAdds / target.storesPerCycle + 30);
}

Estimate estimate(const TransposedConv &conv, const TransposedSchedule &s, const Target &target) {
  std::map<int64_t, int64_t> phasesWith;
  for (int64_t taps : conv.taps)
    ++phasesWith[taps];
  ContractSchedule phase = s;
  phase.blockK = conv.channels;
  Estimate e;
  for (auto [taps, phases] : phasesWith) {
    // Results without a tap are stored all the same.
    Estimate one = estimate(productOf(conv, std::max<int64_t>(1, taps)), phase, target);
    e.arithmetic += double(phases) * (conv.sideBySide ? sideBySideCycles(conv, s, taps, target) : one.arithmetic);
    e.movement += double(phases) * one.movement;
    e.results += double(phases) * one.results;
  }
  int64_t rowTasks = llvm::divideCeil(conv.rows, std::min(s.taskM, conv.rows));
  int64_t panelTasks = llvm::divideCeil(panelsOf(conv, s), s.taskN);
  int64_t phaseTasks = llvm::divideCeil(conv.phases(), s.taskP);
  e.tasks = double(rowTasks * panelTasks * phaseTasks);
  e.perTask = taskStart;
  return e;
}

} // namespace fathom::cost
