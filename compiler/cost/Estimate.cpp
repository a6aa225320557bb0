// Sums over threads, and refills by where a working set stays.
#include "compiler/cost/Estimate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace fathom::cost {

// How often work is done that neighbouring tasks share: for every group of them, and again where a run ends within one.
// A thread takes half of its share, then half of the rest, and so on, and where the work's results are kept, only the
// ends of the share matter.
static double timesShared(const Estimate &e, double threads) {
  double groups = e.tasks / e.groupTasks, runs = 1 + std::log2(std::max(1.0, e.tasks / threads));
  return std::min(e.groupTasks, 1 + threads * (e.isKept ? 1 : runs) / groups);
}

Estimate Estimate::on(const Target &target) {
  return {.perTask = target.calibration.taskStart, .spreading = target.calibration.spreading};
}

void Estimate::moves(const Movement &moved) { movement = moved.cycles, movementFrom = moved.from; }

double Estimate::total(int64_t threads, double slowest) const {
  double work = arithmetic + movement + packing + results + tasks * perTask;
  if (tasks <= 1 || threads <= 1)
    return work;
  work += packing * (timesShared(*this, double(threads)) - 1);
  work += exchange * std::max(0.0, 1 - rowParts / double(threads));
  // The slowest may begin a task when the others are about to end theirs.
  double rounds = std::ceil(tasks / double(threads)), waiting = 1 / slowest - 1;
  return work * std::min(1.0, (rounds + waiting) * std::max(largest, 1 / tasks)) + spreading;
}

Parts Estimate::parts(int64_t threads, double slowest) const {
  bool isShared = tasks > 1 && threads > 1;
  double share = 1 / double(isShared ? threads : 1);
  Parts p{.arithmetic = (arithmetic - tails) * share, .tails = tails * share};
  for (auto [part, all] : llvm::zip(p.movement, movementFrom))
    part = all * share;
  p.packing = packing * share, p.results = results * share, p.tasks = tasks * perTask * share;
  if (!isShared)
    return p;
  p.exchange = exchange * std::max(0.0, 1 - rowParts / double(threads)) * share;
  p.spreading = spreading;
  p.imbalance = total(threads, slowest) - p.sum();
  return p;
}

double Parts::sum() const {
  double moved = std::accumulate(movement.begin(), movement.end(), 0.0);
  return arithmetic + tails + moved + packing + results + tasks + imbalance + exchange + spreading;
}

double overThreads(const Estimate &estimate, const Target &target) {
  return estimate.total(1) + double(target.cores) * estimate.total(target.cores, target.slowestCore);
}

Refill asStream(const Refill &refill, const Target &target) {
  return refill.scaled(1, target.calibration.exposedStream);
}

// So many bytes from one source.
static Refill refillFrom(size_t source, double cycles, double share) {
  Refill refill{cycles, share * cycles};
  refill.fullFrom[source] = refill.full, refill.exposedFrom[source] = refill.exposed;
  return refill;
}

Refill refill(double bytes, double residentBytes, const Target &target, double fetchedAhead) {
  const Calibration &c = target.calibration;
  if (residentBytes <= double(target.caches[0].bytes) * c.usableCapacity)
    return {};
  double share = c.exposedNear;
  for (auto [source, level] : llvm::enumerate(llvm::ArrayRef(target.caches).drop_front())) {
    if (residentBytes + fetchedAhead <= double(level.bytes) * c.usableCapacity)
      return refillFrom(std::min<size_t>(source, mostSources - 2), bytes / level.bytesPerCycle, share);
    share = c.exposedFar;
  }
  return coldRefill(bytes, target);
}

Refill coldRefill(double bytes, const Target &target) {
  return refillFrom(mostSources - 1, bytes / target.memoryBytesPerCycle, target.calibration.exposedFar);
}

double storingCycles(double bytes, double stretch, bool inParts, const Target &target) {
  Refill stored = refill(bytes, bytes, target);
  // Short stretches are waited for in full.
  double astray = inParts ? std::min(1.0, target.calibration.astrayLines * double(lineBytes) / stretch) : 0;
  return stored.exposed + (stored.full - stored.exposed) * astray;
}

double waiting(const Target &target) {
  constexpr double neoverseN1 = 128; // its reorder window
  return neoverseN1 / double(target.reorderWindow);
}

double linesApart(double lines, const Target &target) {
  return 1 + target.calibration.linesApart * waiting(target) / (lines * lines);
}

double setsFilled(double runs, int64_t distance, const CacheLevel &level, int64_t run) {
  int64_t way = level.bytes / level.ways;
  if (distance < lineBytes || way < lineBytes)
    return 0;
  int64_t lines = llvm::divideCeil(run, lineBytes), beginnings = std::max<int64_t>(1, way / std::gcd(distance, way));
  int64_t sets = std::min(way / lineBytes, beginnings * lines);
  return runs * double(lines) / double(level.ways * sets);
}

} // namespace fathom::cost
