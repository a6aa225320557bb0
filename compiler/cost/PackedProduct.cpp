// Tiles of rows and columns, whole ones and what is left.
#include "compiler/cost/PackedProduct.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace fathom::cost {

int64_t registersOf(int64_t rows, int64_t columns, int64_t vectors) { return vectors * rows * columns + columns + 2; }

static double tile(const PackedProduct &p, int64_t rows, int64_t columns, const Target &target) {
  double vectors = double(llvm::divideCeil(p.depth, target.lanes(32)));
  double pairs = double(rows * columns);
  const Calibration &c = target.calibration;
  double issued = vectors * (pairs + double(columns) * c.packedUnpacking + double(rows)) / target.issuedPerCycle;
  double latency = vectors * double(target.fmaLatency) * pairs / std::max(pairs, double(target.fmaInFlight()));
  double inner = std::max({vectors * pairs / target.fmaPerCycle, issued, latency / pairs});
  return inner + c.packedTileStart + c.packedAddingUp * pairs;
}

Estimate estimate(const PackedProduct &p, const PackedProductSchedule &s, const Target &target) {
  Estimate e = Estimate::on(target);
  double full = 0;
  auto stripes = [&](double times, int64_t height, int64_t width) {
    int64_t grain = std::min(s.grain, p.columns), tasks = llvm::divideCeil(p.columns, grain);
    double whole = tile(p, height, width, target);
    full += times * double(p.columns) / double(width) * whole;
    // Columns that do not fill a tile are computed one by one.
    return double(tasks) * (double(grain / width) * whole + double(grain % width) * tile(p, height, 1, target));
  };
  int64_t together = p.rows / s.tileM, alone = p.rows % s.tileM;
  e.arithmetic = double(together) * stripes(double(together), s.tileM, s.tileN) +
                 double(alone) * stripes(double(alone), 1, s.rowN);
  e.tails = std::max(0.0, e.arithmetic - full);
  e.tasks = double(llvm::divideCeil(p.columns, s.grain));
  double weights = double(p.columns * p.depth * p.bits) / 8, inputs = double(p.rows * p.depth) * 4;
  double taskWeights = weights / e.tasks, rowTiles = double(together + alone);
  Refill moved = coldRefill(weights, target);
  moved += refill(weights * (rowTiles - 1), taskWeights + inputs / rowTiles, target);
  moved += refill(inputs, inputs, target) * e.tasks;
  e.moves(moved.beside(e.arithmetic));
  return e;
}

} // namespace fathom::cost
