// Arithmetic by tiles, movement by loop order.
#include "compiler/cost/Product.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace fathom::cost {

// One stream does not keep a memory busy: what several take of its time.
static double streamShare(int64_t streams, const Calibration &c) {
  return c.productManyStreams + (1 - c.productManyStreams) / double(streams * streams);
}

int64_t registersOf(int64_t rows, int64_t columns, bool packed, const Target &target, unsigned bits, int64_t panels) {
  // Accumulators, the left operand's rows and a row of the panel. A packed left operand has the rows side by side in a
  // few vectors; one read in place takes a vector for each row; without lane-wise multiply-adds one broadcast is
  // enough.
  int64_t lanes = target.lanes(bits), vectors = llvm::divideCeil(columns, lanes);
  int64_t leftRegisters = !target.multipliesByLane() ? 1 : packed ? llvm::divideCeil(rows, lanes) : rows;
  return rows * vectors * panels + leftRegisters + vectors;
}

int64_t unrolledSteps(int64_t run, const Target &target, unsigned bits) {
  if (!target.multipliesByLane()) {
    // Steps that are left over load their factors in an order that the back end spills in. So it does with two steps of
    // 14 x 2 vectors of AVX-512, whose four vectors of the panel it loads first (half of the speed that four steps
    // have); of other tiles, too, four are up to a tenth faster than two.
    for (int64_t steps : {4, 2, 3, 5, 7})
      if (run % steps == 0)
        return steps;
    return 2;
  }
  // A vector along each row has the factors of as many steps. Two of them take turns where the reduction is long
  // enough.
  int64_t lanes = target.lanes(bits);
  return run < 4 * lanes ? lanes : 2 * lanes;
}

// Read in place, what an ordered loop keeps in registers around it costs more than it saves in fewer steps.
static int64_t shortestOrdered(bool packed, const Target &target) {
  return packed ? 0 : int64_t(target.calibration.productOrderedRun);
}

bool canLoadAhead(const ContractSchedule &s, int64_t run, const Target &target) {
  if (!target.multipliesByLaneOfFour() || s.tileN % 4)
    return false;
  // Packed rows lie side by side in vectors; two vectors along a row take turns.
  int64_t sets = accumulatorSets(s.tileM * (s.tileN / 4) * s.streams, s.inFlight, run);
  return s.packed ? s.tileM % 4 == 0 : std::max(s.unrollK, sets) % 8 == 0;
}

int64_t bestLoadAhead(const ContractSchedule &s, int64_t run, const Target &target) {
  // Loads that come 8 multiply-adds ahead are in time; more does no harm.
  return canLoadAhead(s, run, target) && run >= shortestOrdered(s.packed, target) ? 24 : 0;
}

double inOrder(int64_t loadAhead, int64_t run, bool packed, const Target &target) {
  int64_t shortest = shortestOrdered(packed, target);
  if ((loadAhead > 0) == (target.multipliesByLaneOfFour() && run >= shortest))
    return 1;
  return 1 + target.calibration.productOtherOrder * std::abs(1 - double(shortest) / double(std::max<int64_t>(1, run)));
}

double byteProductInstructions(const Target &target, bool narrow) {
  switch (target.byteProduct()) {
  case ByteProduct::None:
    return 16; // two shifts, which rows or columns share, a product and a sum for each of the bytes
  case ByteProduct::Pairs:
    return narrow ? 3 : 4.5; // two products and two sums, and parts of what a tile shares
  case ByteProduct::Signed:
  case ByteProduct::Unsigned:
    break;
  }
  return 1;
}

double stepCycles(int64_t rows, int64_t columns, bool packed, int64_t sets, const Target &target, unsigned bits,
                  double instructions) {
  const Calibration &c = target.calibration;
  int64_t lanes = target.lanes(bits), vectors = llvm::divideCeil(columns, lanes);
  double multiplyAdds = double(rows * vectors) * instructions;
  double leftLoads = !target.multipliesByLane() ? double(rows) : double(rows) / double(lanes);
  if (packed && target.multipliesByLane())
    leftLoads = double(llvm::divideCeil(rows, lanes));
  double loads = leftLoads + double(vectors);
  double stalls = loads * c.productLoadStall;
  // With lane-wise multiply-adds, loads of rows and of panels wait differently: packed rows come from the second-level
  // cache beside a block of the panel that stays in the first; read in place, every row is a stream of its own, and
  // panels pass whole.
  if (target.multipliesByLane())
    stalls = packed ? leftLoads * c.productPackedRowStall + double(vectors) * c.productBlockStall
                    : leftLoads * c.productRowStall + double(vectors) * c.productPanelStall;
  if (target.multipliesByLane() && packed &&
      registersOf(rows, columns, packed, target, bits) + 1 >= target.vectorRegisters)
    stalls += c.productNoSpareRegister;
  // Where every multiply-add takes its factor from another register, they start at a lower rate: a tile
  // read in place needs two vectors of columns at least.
  if (target.multipliesByLane() && !packed && vectors == 1 && rows > lanes)
    multiplyAdds *= c.productNarrowTile;
  // No load is quite free: some miss the first-level cache, some collide.
  return stalls + std::max({multiplyAdds / target.fmaPerCycle, loads / target.loadsPerCycle,
                            (double(target.fmaLatency) + c.productLatencySlack) / double(sets),
                            (multiplyAdds + loads + c.productLoopIssue) / target.issuedPerCycle});
}

namespace {

// A product and its schedule, with the numbers that several parts of the estimate need.
struct Scheduled {
  const Product &p;
  const ContractSchedule &s;
  const Target &target;
  const Calibration &c = target.calibration;
  double element = p.bits / 8.0;
  int64_t lanes = target.lanes(p.bits);
  int64_t taskRows = std::min(s.taskM, p.rows);
  int64_t blockK = s.packed ? std::min(s.blockK, p.run) : p.depth();
  int64_t blocks = s.packed ? p.taps * llvm::divideCeil(p.run, blockK) : 1;
  int64_t panels = llvm::divideCeil(p.columns, s.tileN), taskPanels = std::min(s.taskN, panels);
  int64_t rowTasks = llvm::divideCeil(p.rows, taskRows), panelTasks = llvm::divideCeil(panels, taskPanels);
  // Products that take turns were measured on Neoverse-N1, too, whose multiply-adds take twice as long as
  // Neoverse-V1's: less is waited at branches, and more for panels.
  bool takesTurns = p.turns > 1 && target.multipliesByLane();
  static constexpr double neoverseV1 = 4; // its multiply-adds per cycle
  double hurry = takesTurns ? target.fmaPerCycle / neoverseV1 : 1;
  double panelWait = takesTurns ? c.productTurnsPanelWait * (waiting(target) - c.productTurnsHiddenWait) : 0;
  bool collides =
      !s.packed && setsFilled(double(s.tileM), int64_t(double(p.rowStride) * element), target.caches[0]) > 1;

  bool fetches = s.fetchAhead && canFetchAhead(s, p.rows);
  // How often rows are read, or packed, by one thread: neighbouring tasks of the same rows pack them once. Products
  // that take turns do not share them.
  int64_t packs() const { return s.packed && p.turns == 1 ? 1 : panelTasks; }

  // The heights of the tiles that so many rows are computed in, with how often each occurs. What is left by full ones
  // is one tile where it is known ahead, else tiles of powers of two.
  template <typename Body> void overTiles(int64_t rows, Body body) const {
    body(s.tileM, double(rows / s.tileM));
    int64_t tail = rows % s.tileM;
    if (!tail || !p.unknownRows)
      return body(tail, tail ? 1.0 : 0.0);
    for (int64_t height = 1; height <= tail; height *= 2)
      if (tail & height)
        body(height, 1.0);
  }

  // Tiles that a task's rows are computed in.
  double rowTiles() const {
    double tiles = 0;
    overTiles(taskRows, [&](int64_t, double count) { tiles += count; });
    return tiles;
  }

  // A tile of so many columns, of one panel or several.
  double tile(int64_t rows, int64_t columns) const {
    int64_t vectors = llvm::divideCeil(columns, lanes);
    int64_t sets = accumulatorSets(rows * vectors, s.inFlight, p.run);
    int64_t unroll = std::max(s.unrollK, sets), stretches = s.packed ? blocks : p.taps;
    int64_t stretch = s.packed ? std::min(blockK, p.run) : p.run, rest = stretch % unroll;
    // Steps that do not fill an iteration load their factors one by one.
    double step =
        stepCycles(rows, columns, s.packed, sets, target, p.bits, p.instructions) + double(vectors) * panelWait;
    double perStretch = double(stretch) * step * inOrder(s.loadAhead, p.run, s.packed, target) +
                        double(rest) * double(rows) / target.loadsPerCycle +
                        double(stretch / unroll + rest) * c.productIterationStart * hurry + c.productStretchStart;
    if (collides)
      perStretch += double(stretch * rows) / double(target.multipliesByLane() ? lanes : 1) * c.productCollisionStall;
    double fresh = s.rowsOuter || s.packed ? 0 : c.productNewRows * double(p.taps);
    double start = c.productTileStart + fresh + (blocks > 1 ? c.productPartialSums : 0);
    return double(stretches) * perStretch + (start + double(rows * vectors) / target.storesPerCycle) * double(blocks);
  }

  // All tiles, and what of it partial ones cost beyond full ones.
  std::pair<double, double> arithmetic() const {
    int64_t fullPanels = p.columns / s.tileN, tailColumns = p.columns % s.tileN;
    double together = double(fullPanels / s.streams), single = double(s.streams > 1 ? fullPanels % s.streams : 0);
    double cycles = 0, full = 0;
    overTiles(p.rows, [&](int64_t rows, double count) {
      if (count <= 0)
        return;
      double whole = tile(rows, s.tileN * s.streams);
      full = rows == s.tileM ? whole : full;
      cycles += count * (together * whole + (single ? single * tile(rows, s.tileN) : 0) +
                         (tailColumns ? tile(rows, tailColumns) : 0));
    });
    if (p.rows % s.tileM == 0 && !single && !tailColumns)
      return {double(p.batches) * cycles, 0};
    full = full > 0 ? full : tile(s.tileM, s.tileN * s.streams);
    double tiles = double(p.rows) / double(s.tileM) * (double(p.columns) / double(s.tileN * s.streams));
    return {double(p.batches) * cycles, double(p.batches) * std::max(0.0, cycles - tiles * full)};
  }

  // What a task moves while it runs.
  Refill ofTask() const {
    double left = double(taskRows * blockK) * element / double(p.sharedRows);
    // Panels that are multiplied together count as one.
    double passes = double(llvm::divideCeil(taskPanels, s.streams));
    double panel = double(s.tileN * s.streams * blockK) * element, allPanels = panel * passes;
    // That panels come at all is counted below, here only that they come again.
    double leftTile = left / rowTiles(), again = rowTiles() - 1;
    Refill moved;
    if (s.rowsOuter && !s.packed) {
      moved += asStream(refill(allPanels * again, allPanels + leftTile, target), target);
      // Rows too long to stay while the panels pass come anew with each of them.
      moved += refill(left * passes, leftTile + panel, target);
    } else {
      Refill rows = refill(left * passes, left * double(p.turns) + panel, target, fetches ? panel : 0);
      moved += takesTurns ? asStream(rows, target) * c.productTurnsRows : rows;
      moved += asStream(refill(allPanels * again, panel + leftTile, target), target);
    }
    moved = moved * double(blocks);
    // Partial sums wait in the result, those of all tasks that are packed for together.
    double result = double(taskRows) * double(std::min(taskPanels * s.tileN, p.columns)) * element;
    double kept = packs() == panelTasks ? result : double(taskRows * p.columns) * element;
    if (blocks > 1)
      moved += refill(result, kept + left, target) * (2 * double(blocks - 1));
    return moved;
  }

  double bytesOfRight() const {
    return double(p.columns * p.depth()) * element * (p.coldPanels ? 1 : double(p.batches));
  }

  // What is moved in all: each task's operands come from wherever all of them lie.
  Refill movement(double tasks) const {
    Refill moved = ofTask() * tasks;
    double left = double(p.batches * p.rows * p.depth()) * element / double(p.sharedRows);
    moved += refill(left, left * double(p.turns), target) * double(packs());
    if (fetches)
      moved += takesTurns ? asStream(panelsAgain(), target) : panelsAgain();
    return moved;
  }

  // The panels of every task but the first that has them.
  Refill panelsAgain() const {
    double right = bytesOfRight();
    return refill(right, right * double(p.turns), target) * double(rowTasks - 1);
  }

  // Cycles of waiting for panels on their way: they come while the first tile of a task's rows passes, unless they are
  // fetched ahead beside all tiles.
  Movement waitingForPanels(double arithmetic) const {
    Refill coming = firstReading();
    if (fetches)
      return asStream(coming, target).beside(c.productHiddenByArithmetic * arithmetic);
    coming += panelsAgain();
    return coming.beside(std::min(c.productHiddenByArithmetic, 1 / rowTiles()) * arithmetic);
  }

  // Panels on their way from wherever the kernel finds them.
  Refill firstReading() const {
    double right = bytesOfRight();
    Refill first = p.coldPanels ? coldRefill(right, target) : refill(right, right, target);
    // Panels that are left over are read one by one.
    int64_t together = p.columns / (s.tileN * s.streams) * s.tileN * s.streams;
    double share = double(together) / double(p.columns);
    return first.scaled(share * streamShare(s.streams, c) + (1 - share), 1);
  }

  // A load and a store for each vector, and a share of transposing it; there is no arithmetic that rows could come
  // beside.
  double packing() const {
    if (!s.packed)
      return 0;
    double elements = double(p.batches * p.rows * p.depth()), left = elements * element / double(p.sharedRows);
    double each = 1 / target.storesPerCycle + 1 / target.loadsPerCycle + c.productTransposing + p.producerCycles;
    double coming = refill(left, left * double(p.turns), target).full;
    return double(packs()) * std::max(elements / double(lanes) * each, coming);
  }

  double results() const {
    double vectors = double(p.batches * p.rows * llvm::divideCeil(p.columns, lanes));
    // A math function is a long chain: four of them side by side hide each other's latency.
    double chains = s.tileN % (4 * lanes) ? c.longChain : 1;
    double bytes = double(p.batches * p.rows * p.columns) * element * p.resultStreams;
    return vectors * (p.consumerCycles * chains + c.resultVector * p.resultStreams) +
           storingCycles(bytes, double(taskPanels * s.tileN) * element, panelTasks > 1, target);
  }
};

} // namespace

Estimate estimate(const Product &product, const ContractSchedule &schedule, const Target &target) {
  Scheduled scheduled{product, schedule, target};
  Estimate e = Estimate::on(target);
  e.tasks = double(product.batches * scheduled.rowTasks * scheduled.panelTasks);
  std::tie(e.arithmetic, e.tails) = scheduled.arithmetic();
  Movement moved = scheduled.movement(e.tasks).beside(e.arithmetic);
  moved += scheduled.waitingForPanels(e.arithmetic);
  e.moves(moved * double(product.turns));
  e.arithmetic *= double(product.turns), e.tails *= double(product.turns);
  e.packing = scheduled.packing();
  e.groupTasks = double(scheduled.panelTasks / scheduled.packs());
  e.results = scheduled.results();
  return e;
}

} // namespace fathom::cost
