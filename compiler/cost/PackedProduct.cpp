// Tiles of rows and columns, whole ones and what is left.
#include "compiler/cost/PackedProduct.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace fathom::cost {

// Instructions that widen a vector of packed weights to floats: bytes or nibbles apart, to integers, to floats.
constexpr double unpacking = 4;
// Starting a tile, and adding up the lanes of a sum.
constexpr double tileStart = 20, addingUp = 4;

int64_t registersOf(int64_t rows, int64_t columns) {
  // Sums are kept in pairs of vectors, for the block and in all.
  return 2 * rows * columns + columns + 2;
}

static double tile(const PackedProduct &p, int64_t rows, int64_t columns, const Target &target) {
  double vectors = double(llvm::divideCeil(p.depth, target.lanes(32)));
  double pairs = double(rows * columns);
  double issued = vectors * (pairs + double(columns) * unpacking + double(rows)) / target.issuedPerCycle;
  double latency = vectors * double(target.fmaLatency) * pairs / std::max(pairs, double(target.fmaInFlight()));
  double inner = std::max({vectors * pairs / target.fmaPerCycle, issued, latency / pairs});
  return inner + tileStart + addingUp * pairs;
}

Estimate estimate(const PackedProduct &p, const PackedProductSchedule &s, const Target &target) {
  Estimate e;
  auto stripes = [&](int64_t height, int64_t width) {
    int64_t grain = std::min(s.grain, p.columns), tasks = llvm::divideCeil(p.columns, grain);
    // Columns that do not fill a tile are computed one by one.
    return double(tasks) * (double(grain / width) * tile(p, height, width, target) +
                            double(grain % width) * tile(p, height, 1, target));
  };
  int64_t together = p.rows / s.tileM, alone = p.rows % s.tileM;
  e.arithmetic = double(together) * stripes(s.tileM, s.tileN) + double(alone) * stripes(1, s.rowN);
  e.tasks = double(llvm::divideCeil(p.columns, s.grain));
  e.perTask = taskStart;
  double weights = double(p.columns * p.depth * p.bits) / 8, inputs = double(p.rows * p.depth) * 4;
  double taskWeights = weights / e.tasks, rowTiles = double(together + alone);
  Refill moved = coldRefill(weights, target);
  moved += refill(weights * (rowTiles - 1), taskWeights + inputs / rowTiles, target);
  moved += refill(inputs, inputs, target) * e.tasks;
  e.movement = moved.beside(e.arithmetic);
  return e;
}

} // namespace fathom::cost
