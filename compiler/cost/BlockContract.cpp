// Waves of work groups and what bounds them.
#include "compiler/cost/BlockContract.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace fathom::cost {

// Cycles until data from the shared cache is there, and of starting a group and storing its results.
constexpr double memoryLatency = 500, groupStart = 1500;

// Whichever way a block lies there.
int64_t localBytesOf(const BlockProduct &p, const BlockContractSchedule &s) {
  auto panel = [&](int64_t extent, int64_t bytes) {
    int64_t bySteps = s.blockK * (extent + localPad(s.fragments, false, bytes));
    int64_t byRows = s.fragments ? extent * (s.blockK + localPad(true, true, bytes)) : 0;
    return s.stages * bytes * std::max(bySteps, byRows);
  };
  return panel(s.blockM, p.leftBytes) + panel(s.blockN, p.rightBytes);
}

int64_t registersOf(const BlockContractSchedule &s) {
  int64_t items = std::max<int64_t>(1, s.items());
  int64_t staged = s.stages > 1 ? llvm::divideCeil((s.blockM + s.blockN) * s.blockK, items) : 0;
  return s.itemM * s.itemN + s.itemM + s.itemN + staged + 32; // the last for addresses
}

int64_t residentGroups(const BlockProduct &p, const BlockContractSchedule &s, const Gpu &gpu) {
  int64_t items = llvm::alignTo(std::max<int64_t>(1, s.items()), gpu.lanes);
  return std::min({gpu.groups, gpu.items / items, gpu.registers / (items * registersOf(s)),
                   gpu.localBytes / std::max<int64_t>(1, localBytesOf(p, s))});
}

Estimate estimate(const BlockProduct &p, const BlockContractSchedule &s, const Target &target) {
  const Gpu &gpu = target.gpu;
  double blocks =
      double(p.batches) * double(llvm::divideCeil(p.rows, s.blockM)) * double(llvm::divideCeil(p.columns, s.blockN));
  double resident = double(std::max<int64_t>(1, residentGroups(p, s, gpu)));
  double perProcessor = std::ceil(blocks / double(gpu.multiprocessors));
  double together = std::min(resident, perProcessor), waves = std::ceil(perProcessor / resident);
  double steps = double(llvm::divideCeil(std::max<int64_t>(1, p.depth), s.blockK));

  // One group's step by what bounds it.
  double blockElements = double(s.blockM * s.blockN * s.blockK);
  double rate = !s.fragments ? gpu.multiplyAdds : p.leftBytes == 2 ? gpu.halfMultiplyAdds : gpu.tf32MultiplyAdds;
  double arithmetic = blockElements / rate * (p.multipliesByDouble ? 2 : 1);
  // Neighbouring items read the same rows, and as many columns as lie side by side.
  double lanesRead = double(s.items()) * double(s.blockK) *
                     (double(s.itemM * p.leftBytes) / 4 + double(s.itemN * p.rightBytes) / (s.fragments ? 8 : 2));
  double stored = double(s.blockK) * double(s.blockM * p.leftBytes + s.blockN * p.rightBytes);
  double local = (lanesRead + 2 * stored) / gpu.localBytesPerCycle;
  double cache = stored / (gpu.cacheBytesPerCycle / std::min(double(gpu.multiprocessors), blocks));
  // Few items cannot keep a multiprocessor busy: an item's multiply-adds wait for each other's results.
  double warps = double(s.items()) / double(gpu.lanes) * together;
  double busy = std::min(1.0, warps * std::sqrt(double(s.itemM * s.itemN)) / (s.fragments ? 32 : 24));
  double step = std::max({arithmetic / busy, local, cache}) * together;
  // Time on the way, which the arithmetic of all groups there covers, where they fetch ahead.
  double perStep = s.stages > 1 ? std::max(step, memoryLatency) : step + memoryLatency;
  Estimate e;
  e.arithmetic = waves * (steps * perStep + groupStart);
  double bytes =
      double(p.batches) * (double(p.rows * p.depth * p.leftBytes) * p.leftShare +
                           double(p.columns * p.depth * p.rightBytes) + double(p.rows * p.columns * p.resultBytes));
  double memory = bytes / gpu.memoryBytesPerCycle;
  if (memory > e.arithmetic)
    e.movement = memory - e.arithmetic, e.movementFrom[mostSources - 1] = e.movement;
  return e;
}

} // namespace fathom::cost
