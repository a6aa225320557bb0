// Shuffles, and lines that are thrown out before all squares on them have passed.
#include "compiler/cost/Reorder.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// What share of lines that are visited side by side, at a distance, a cache has lost when the next square comes to
// them, if as much of it as `others` is taken by what passes meanwhile.
static double lostLines(double side, int64_t distance, double others, const CacheLevel &level) {
  double filled = std::max(setsFilled(side, distance, level), side * lineBytes / double(level.bytes));
  return std::clamp(filled + others - 1, 0.0, 1.0);
}

static Movement waitingFor(size_t source, double cycles) {
  Movement moved{cycles};
  moved.from[source] = cycles;
  return moved;
}

Estimate estimate(const Reorder &reorder, const ReorderSchedule &schedule, const Target &target) {
  const Calibration &c = target.calibration;
  Estimate e = Estimate::on(target);
  int64_t inner = schedule.alongInner ? reorder.along : reorder.across;
  int64_t other = schedule.alongInner ? reorder.across : reorder.along;
  int64_t run = std::min(schedule.run, inner), runs = reorder.matrices * llvm::divideCeil(inner, run);
  double tile = double(schedule.tile),
         vectors = std::ceil(tile * double(reorder.bits) / double(8 * target.vectorBytes));
  double shuffles = reorder.sources * tile * std::log2(tile) * vectors;
  double instructions = tile * vectors * (reorder.instructions + reorder.sources) + shuffles + c.reorderSquareEnd;
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
  e.arithmetic = double(reorder.matrices) * (squares * cycles + single * c.reorderSingle * reorder.instructions);
  double size = double(schedule.tile), wholeSquares = double(other) / size * (double(inner) / size);
  e.tails = std::max(0.0, e.arithmetic - double(reorder.matrices) * wholeSquares * cycles);
  // Squares pass streams of neighbours on one side, and on the other one lines that later squares complete. A line that
  // was lost is moved again for each of its squares.
  double squaresOfLine = std::max(1.0, double(8 * lineBytes) / (tile * double(reorder.bits)));
  int64_t streamed = schedule.alongInner ? reorder.resultDistance : reorder.sourceDistance;
  int64_t completed = schedule.alongInner ? reorder.sourceDistance : reorder.resultDistance;
  double starts = double(runs) * double(llvm::divideCeil(other, schedule.tile));
  Refill passing = refill(reorder.bytes, reorder.bytes, target);
  Movement moved = passing.beside(e.arithmetic);
  // Streams begin where they come from: nearest where all stays in the first-level cache.
  size_t source = std::max_element(passing.fullFrom.begin(), passing.fullFrom.end()) - passing.fullFrom.begin();
  moved += waitingFor(source, starts * (isFar ? c.reorderFarRunStart : c.reorderRunStart));
  for (size_t level = 0; level + 1 < std::min<size_t>(target.caches.size(), 3); ++level) {
    const CacheLevel &cache = target.caches[level];
    double lost =
        (lostLines(tile, streamed, 0, cache) + lostLines(double(run), completed, c.reorderStreamsTake, cache)) / 2;
    if (reorder.bytes > double(cache.bytes))
      moved += waitingFor(level, lost * (squaresOfLine - 1) * reorder.bytes / target.caches[level + 1].bytesPerCycle);
  }
  e.moves(moved);
  e.tasks = double(llvm::divideCeil(runs, schedule.grain));
  return e;
}

} // namespace fathom::cost
