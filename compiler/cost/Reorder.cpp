// Shuffles, and lines that are thrown out before all squares on them have passed.
#include "compiler/cost/Reorder.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// Cycles of beginning a run: its addresses, and streams that hardware does not fetch ahead yet, from the second-level
// cache and from beyond it, and the share of a cache that streams take from the lines of a run. Measured with 10 sizes
// on Neoverse-N1.
constexpr double runStart = 80, farRunStart = 200, streamsTake = 0.75;
// Instructions of a loop's end and of a square's addresses.
constexpr double squareEnd = 6;

// What share of lines that are visited side by side, at a distance, a cache has lost when the next square comes to
// them, if as much of it as `others` is taken by what passes meanwhile.
static double lostLines(double side, int64_t distance, double others, const CacheLevel &level) {
  double filled = std::max(setsFilled(side, distance, level), side * lineBytes / double(level.bytes));
  return std::clamp(filled + others - 1, 0.0, 1.0);
}

Estimate estimate(const Reorder &reorder, const ReorderSchedule &schedule, const Target &target) {
  Estimate e;
  int64_t inner = schedule.alongInner ? reorder.along : reorder.across;
  int64_t other = schedule.alongInner ? reorder.across : reorder.along;
  int64_t run = std::min(schedule.run, inner), runs = reorder.matrices * llvm::divideCeil(inner, run);
  double tile = double(schedule.tile),
         vectors = std::ceil(tile * double(reorder.bits) / double(8 * target.vectorBytes));
  double shuffles = reorder.sources * tile * std::log2(tile) * vectors;
  double instructions = tile * vectors * (reorder.instructions + reorder.sources) + shuffles + squareEnd;
  // Shuffles have units of their own on x86-64.
  double cycles =
      std::max(instructions / target.issuedPerCycle, shuffles / (target.isAArch64() ? target.fmaPerCycle : 1));
  // What does not come out even overlaps with the square before it; fewer elements than a square's go one by one.
  int64_t rest = inner % run;
  double squares = double(llvm::divideCeil(other, schedule.tile)) *
                   (double(inner / run) * double(llvm::divideCeil(run, schedule.tile)) +
                    (rest < schedule.tile ? 0 : double(llvm::divideCeil(rest, schedule.tile))));
  double single = rest < schedule.tile ? double(rest * other) : 0;
  if (other < schedule.tile)
    squares = 0, single = double(inner * other);
  bool isFar = target.caches.size() > 1 && reorder.bytes > double(target.caches[1].bytes);
  e.arithmetic = double(reorder.matrices) * (squares * cycles + single * 2 * reorder.instructions);
  // Squares pass streams of neighbours on one side, and on the other one lines that later squares complete. A line that
  // was lost is moved again for each of its squares.
  double squaresOfLine = std::max(1.0, double(8 * lineBytes) / (tile * double(reorder.bits)));
  int64_t streamed = schedule.alongInner ? reorder.resultDistance : reorder.sourceDistance;
  int64_t completed = schedule.alongInner ? reorder.sourceDistance : reorder.resultDistance;
  double starts = double(runs) * double(llvm::divideCeil(other, schedule.tile));
  e.movement =
      refill(reorder.bytes, reorder.bytes, target).beside(e.arithmetic) + starts * (isFar ? farRunStart : runStart);
  for (size_t level = 0; level + 1 < std::min<size_t>(target.caches.size(), 3); ++level) {
    const CacheLevel &cache = target.caches[level];
    double lost = (lostLines(tile, streamed, 0, cache) + lostLines(double(run), completed, streamsTake, cache)) / 2;
    if (reorder.bytes > double(cache.bytes))
      e.movement += lost * (squaresOfLine - 1) * reorder.bytes / target.caches[level + 1].bytesPerCycle;
  }
  e.tasks = double(llvm::divideCeil(runs, schedule.grain));
  e.perTask = taskStart;
  return e;
}

} // namespace fathom::cost
