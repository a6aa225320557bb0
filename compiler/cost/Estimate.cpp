// Sums over threads, and refills by where a working set stays.
#include "compiler/cost/Estimate.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace fathom::cost {

// Waking other threads and waiting for the last of them.
constexpr double spreading = 2000;
// The share of a level's capacity that a stream of other data leaves to what should stay there.
constexpr double usableCapacity = 0.75;
// Prefetching hides most of a refill from the second-level cache behind arithmetic, and less of one from farther away:
// the shares that remain.
constexpr double exposedNear = 0.12, exposedFar = 0.3;
// Panels follow each other in memory: one stream, which is prefetched from any distance. Where rows pass a panel, the
// code fetches the next one meanwhile.
constexpr double exposedStream = 0.4;

// How often work is done that neighbouring tasks share: for every group of them, and again where a run ends within one.
// A thread takes half of its share, then half of the rest, and so on, and where the work's results are kept, only the
// ends of the share matter.
static double timesShared(const Estimate &e, double threads) {
  double groups = e.tasks / e.groupTasks, runs = 1 + std::log2(std::max(1.0, e.tasks / threads));
  return std::min(e.groupTasks, 1 + threads * (e.isKept ? 1 : runs) / groups);
}

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

double overThreads(const Estimate &estimate, const Target &target) {
  return estimate.total(1) + double(target.cores) * estimate.total(target.cores, target.slowestCore);
}

Refill &Refill::operator+=(const Refill &other) {
  full += other.full, exposed += other.exposed;
  return *this;
}

Refill Refill::operator*(double times) const { return {full * times, exposed * times}; }

Refill asStream(Refill refill) { return {refill.full, refill.exposed * exposedStream}; }

double Refill::beside(double arithmetic) const { return std::max(exposed, full - arithmetic); }

Refill refill(double bytes, double residentBytes, const Target &target, double fetchedAhead) {
  if (residentBytes <= double(target.caches[0].bytes) * usableCapacity)
    return {};
  double share = exposedNear;
  for (const CacheLevel &level : llvm::ArrayRef(target.caches).drop_front()) {
    double cycles = bytes / level.bytesPerCycle;
    if (residentBytes + fetchedAhead <= double(level.bytes) * usableCapacity)
      return {cycles, share * cycles};
    share = exposedFar;
  }
  return coldRefill(bytes, target);
}

Refill coldRefill(double bytes, const Target &target) {
  double cycles = bytes / target.memoryBytesPerCycle;
  return {cycles, exposedFar * cycles};
}

double storingCycles(double bytes, double stretch, bool inParts, const Target &target) {
  Refill stored = refill(bytes, bytes, target);
  // Measured on Granite Rapids: stretches of two lines, half a row each, are waited for in full.
  double astray = inParts ? std::min(1.0, 2 * double(lineBytes) / stretch) : 0;
  return stored.exposed + (stored.full - stored.exposed) * astray;
}

double waiting(const Target &target) { return 128 / double(target.reorderWindow); }

double linesApart(double lines, const Target &target) { return 1 + 3 * waiting(target) / (lines * lines); }

double setsFilled(double runs, int64_t distance, const CacheLevel &level, int64_t run) {
  int64_t way = level.bytes / level.ways;
  if (distance < lineBytes || way < lineBytes)
    return 0;
  int64_t lines = llvm::divideCeil(run, lineBytes), beginnings = std::max<int64_t>(1, way / std::gcd(distance, way));
  int64_t sets = std::min(way / lineBytes, beginnings * lines);
  return runs * double(lines) / double(level.ways * sets);
}

} // namespace fathom::cost
