// Shuffles, and lines that are thrown out before all squares on them have passed.
#include "compiler/cost/Reorder.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// Cycles of beginning a run: its addresses, and streams that hardware does not fetch ahead yet.
constexpr double runStart = 30;
// Instructions of a loop's end and of a square's addresses.
constexpr double squareEnd = 6;

// Moves of a line for each time that it is needed: one, or as many as there are squares on it, where lines that are
// visited side by side, at a distance, throw each other out meanwhile.
static double movesOfLine(double side, int64_t distance, double squaresOfLine, const Target &target) {
  const CacheLevel &first = target.caches[0];
  double filled = std::max(setsFilled(side, distance, first), 2 * side * lineBytes / double(first.bytes));
  return 1 + (squaresOfLine - 1) * std::clamp(filled - 1, 0.0, 1.0);
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
  e.arithmetic = double(reorder.matrices) * (squares * cycles + single * 2 * reorder.instructions) +
                 double(runs) * double(llvm::divideCeil(other, schedule.tile)) * runStart;
  // Squares pass streams of neighbours on one side, and on the other one lines that later squares complete.
  double squaresOfLine = std::max(1.0, double(8 * lineBytes) / (tile * double(reorder.bits)));
  int64_t streamed = schedule.alongInner ? reorder.resultDistance : reorder.sourceDistance;
  int64_t completed = schedule.alongInner ? reorder.sourceDistance : reorder.resultDistance;
  double moves = (movesOfLine(tile, streamed, squaresOfLine, target) +
                  movesOfLine(double(run), completed, squaresOfLine, target)) /
                 2;
  Refill once = refill(reorder.bytes, reorder.bytes, target);
  double near = target.caches.size() > 1 ? reorder.bytes / target.caches[1].bytesPerCycle : 0;
  e.movement = once.beside(e.arithmetic) + (moves - 1) * near;
  e.tasks = double(llvm::divideCeil(runs, schedule.grain));
  e.perTask = taskStart;
  return e;
}

} // namespace fathom::cost
