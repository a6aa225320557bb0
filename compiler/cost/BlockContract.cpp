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
  int64_t sums = (s.parts() > 1 ? s.slices : 0) * s.blockM * s.blockN * (p.multipliesByDouble ? 8 : 4);
  return panel(s.blockM, p.leftBytes) + panel(s.blockN, p.rightBytes) + sums;
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

// What a step of a group takes, of so many that are on a multiprocessor together, among so many of all.
static double stepOfItems(const BlockProduct &p, const BlockContractSchedule &s, const Gpu &gpu, double together,
                          double blocks) {
  double arithmetic = double(s.blockM * s.blockN * s.blockK) / gpu.multiplyAdds * (p.multipliesByDouble ? 2 : 1);
  // Neighbouring items read the same rows, and as many columns as lie side by side.
  double lanesRead = double(s.tileItems()) * double(s.blockK) *
                     (double(s.itemM * p.leftBytes) / 4 + double(s.itemN * p.rightBytes) / 2);
  double stored = double(s.blockK) * double(s.blockM * p.leftBytes + s.blockN * p.rightBytes);
  double local = (lanesRead + 2 * stored) / gpu.localBytesPerCycle;
  double cache = stored / (gpu.cacheBytesPerCycle / std::min(double(gpu.multiprocessors), blocks));
  // Few items cannot keep a multiprocessor busy: an item's multiply-adds wait for each other's results.
  double warps = double(s.items()) / double(gpu.lanes) * together;
  double busy = std::min(1.0, warps * std::sqrt(double(s.itemM * s.itemN)) / 24);
  double step = std::max({arithmetic / busy, local, cache}) * together;
  // Time on the way, which the arithmetic of all groups there covers, where they fetch ahead.
  return s.stages > 1 ? std::max(step, memoryLatency) : step + memoryLatency;
}

// The same on tensor cores. Constants are fitted to a thousand times of eight products and convolutions on an H200
// (bench/gpu/results/h200-schedules.json), of which its choices are within a seventh of the best.
static double stepOfFragments(const BlockProduct &p, const BlockContractSchedule &s, const Gpu &gpu, double together,
                              double blocks) {
  // Instructions do not reach the cores' rate, and a multiprocessor has a share of the cache that others leave idle.
  constexpr double shareOfRate = 0.6, cacheShare = 1.3, mostCacheBytes = 64;
  // Cycles of a warp for an instruction of the cores, for the fragments that one takes, and for 16 bytes on their way.
  constexpr double instruction = 14, fragment = 8, fetched = 6, warpsAtOnce = 5.5, barrier = 50, latency = 600;
  double steps = p.leftBytes == 2 ? 16 : 8, bytes = double(p.leftBytes);
  double arithmetic = double(s.blockM * s.blockN * s.blockK) /
                      (shareOfRate * (p.leftBytes == 2 ? gpu.halfMultiplyAdds : gpu.tf32MultiplyAdds));
  double read = double(s.tileItems() * s.blockK) * (double(s.itemM) / 4 + double(s.itemN) / 8) * bytes *
                (p.leftBytes == 2 ? 0.6 : 0.9);
  double stored = double(s.blockK * (s.blockM + s.blockN)) * bytes;
  double local = (read + 2 * stored) / gpu.localBytesPerCycle;
  double cache = stored / std::min(mostCacheBytes,
                                   cacheShare * gpu.cacheBytesPerCycle / std::min(double(gpu.multiprocessors), blocks));
  // A warp's instructions come one after the other, and few warps do not fill each other's gaps.
  double rows = double(s.itemM) / 2, columns = double(s.itemN) / 2, times = double(s.blockK / s.slices) / steps;
  double own =
      (instruction * rows * columns + fragment * (rows + columns)) * times + fetched * stored / 16 / double(s.items());
  double warps = double(s.items()) / double(gpu.lanes) * together;
  double step =
      std::max({std::max(arithmetic, local) * together, cache * together, own * std::max(1.0, warps / warpsAtOnce)}) +
      barrier;
  return std::max(step, latency / double(std::max<int64_t>(1, s.stages - 1)));
}

Estimate estimate(const BlockProduct &p, const BlockContractSchedule &s, const Target &target) {
  const Gpu &gpu = target.gpu;
  double blocks = double(s.splits) * double(p.batches) * double(llvm::divideCeil(p.rows, s.blockM)) *
                  double(llvm::divideCeil(p.columns, s.blockN));
  double resident = double(std::max<int64_t>(1, residentGroups(p, s, gpu)));
  double perProcessor = std::ceil(blocks / double(gpu.multiprocessors));
  double together = std::min(resident, perProcessor), waves = std::ceil(perProcessor / resident);
  double steps = double(llvm::divideCeil(llvm::divideCeil(std::max<int64_t>(1, p.depth), s.blockK), s.splits));
  bool hasCores = s.fragments && gpu.tf32MultiplyAdds + gpu.halfMultiplyAdds > 0;
  double perStep = (hasCores ? stepOfFragments : stepOfItems)(p, s, gpu, together, blocks);
  // Parts' sums go through local memory, behind barriers that take longer between groups.
  constexpr double sliceBarrier = 160, splitBarrier = 1500;
  double adding = s.parts() == 1 ? 0
                                 : (s.splits > 1 ? splitBarrier : sliceBarrier) +
                                       8 * double(s.slices * s.blockM * s.blockN) / gpu.localBytesPerCycle * together;
  double start = hasCores ? 2700 + 2 * double(s.itemM * s.itemN / s.slices) : groupStart;
  Estimate e;
  e.arithmetic = waves * (steps * perStep + adding + start);
  double bytes =
      double(p.batches) * (double(p.rows * p.depth * p.leftBytes) * p.leftShare +
                           double(p.columns * p.depth * p.rightBytes) + double(p.rows * p.columns * p.resultBytes));
  double memory = bytes / gpu.memoryBytesPerCycle;
  if (memory > e.arithmetic)
    e.movement = memory - e.arithmetic, e.movementFrom[mostSources - 1] = e.movement;
  return e;
}

} // namespace fathom::cost
