// Two products, and what lies between them.
#include "compiler/cost/Attention.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace fathom::cost {

namespace {

constexpr double element = 4;

double bytesOf(const AttentionProblem &p) { return double(p.batches * p.keys * (p.depth + p.columns)) * element; }

// Keys and values come from wherever all of them lie, for every task.
Refill firstReading(const AttentionProblem &p, int64_t tasks, const Target &target) {
  return refill(bytesOf(p), bytesOf(p), target) * double(tasks);
}

// What fetching ahead costs every tile of rows, and what is waited for where none does: with keys in the third-level
// cache, up to four tiles gain.
double fetching(const AttentionProblem &p, int64_t tiles, const Target &target) {
  return bytesOf(p) / lineBytes * double(tiles) * target.calibration.attentionFetchedLine;
}
Refill unfetched(const Refill &first, const Target &target) {
  return first.scaled(0, target.calibration.attentionUnfetched);
}

} // namespace

bool gainsFromFetching(const AttentionProblem &p, const AttentionSchedule &s, const Target &target) {
  Refill first = firstReading(p, llvm::divideCeil(p.rows, s.taskM), target);
  return p.unknownRows || fetching(p, llvm::divideCeil(p.rows, s.tileM), target) < unfetched(first, target).exposed;
}

Estimate estimate(const AttentionProblem &p, const AttentionSchedule &s, const Target &target) {
  bool packed = keepsRowsTogether(target);
  // Rows fill whole vectors, but for a single one that is left over.
  bool leavesOne = p.rows > s.tileM && p.rows % s.tileM == 1;
  int64_t rows = leavesOne ? p.rows : llvm::alignTo(p.rows, rowUnit(target));
  int64_t lanes = target.lanes(32), taskM = std::min(s.taskM, rows);
  int64_t block = std::min(s.blockN, p.keys), blocks = llvm::divideCeil(p.keys, s.blockN);
  double tiles = double(p.batches * llvm::divideCeil(rows, s.tileM));

  auto ofProduct = [&](int64_t columns, int64_t run) {
    Product product{.batches = p.batches, .rows = rows, .columns = columns, .run = run, .coldPanels = false};
    product.unknownRows = p.unknownRows;
    ContractSchedule schedule{.tileM = s.tileM, .tileN = s.tileN, .unrollK = s.unrollK};
    schedule.inFlight = s.inFlight, schedule.packed = packed, schedule.blockK = run;
    schedule.rowsOuter = !packed, schedule.taskM = llvm::alignTo(taskM, s.tileM);
    schedule.taskN = llvm::divideCeil(columns, s.tileN), schedule.loadAhead = s.loadAhead;
    return estimate(product, schedule, target);
  };
  // The last panel of keys is computed whole, whatever is left for it.
  Estimate scores = ofProduct(llvm::alignTo(p.keys, s.tileN), p.depth), values = ofProduct(p.columns, p.keys);

  const Calibration &c = target.calibration;
  Estimate e = Estimate::on(target);
  e.arithmetic = scores.arithmetic + values.arithmetic;
  e.arithmetic += double(p.batches * llvm::divideCeil(rows * p.keys, lanes)) * c.attentionSoftmax;
  double single = p.unknownKeys ? double(s.tileN - 1) / 2 : double(p.keys % s.tileN);
  double alone = double(p.batches * rows) * single * c.attentionSingleScore;
  e.tails = scores.tails + values.tails + alone;
  e.arithmetic += alone;
  e.arithmetic += tiles * c.attentionTileStart;
  if (blocks > 1)
    e.arithmetic +=
        double(p.batches * rows * llvm::divideCeil(p.columns, lanes) * (blocks + 1)) * c.attentionWaitingSums;

  // The keys and values of a block pass a tile of rows, and all values' panels its scores.
  double ofKey = double(p.depth + p.columns) * element, panels = double(block) * ofKey;
  double kept = double(s.tileM * block) * element, passes = double(llvm::divideCeil(p.columns, s.tileN) + 3);
  double panel = double(s.tileN * std::max(p.depth, block)) * element;
  Refill moved = asStream(refill(panels, panels + kept, target), target) * (tiles * double(blocks));
  moved += asStream(refill(kept * passes, kept + panel, target), target) * (tiles * double(blocks));
  Refill first = firstReading(p, llvm::divideCeil(rows, taskM), target);
  moved += first;
  if (s.fetchAhead && !p.unknownRows)
    e.arithmetic += fetching(p, llvm::divideCeil(p.rows, s.tileM), target);
  if (!s.fetchAhead && !p.unknownRows)
    moved += unfetched(first, target);
  e.moves(moved.beside(e.arithmetic));
  e.packing = scores.packing;
  e.results = values.results;
  e.tasks = double(p.batches * llvm::divideCeil(rows, taskM));
  return e;
}

} // namespace fathom::cost
