// Default register tiles, loop orders and task grids of contractions, and the constraints that any schedule of theirs
// must meet.
#include "compiler/codegen/common/Layout.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

struct Problem {
  int64_t rows = 1, columns = 1, depth = 1;
  int64_t run = 0;          // the contiguous part of the reduction; 0 if only known at run time
  int64_t groupColumns = 0; // 0 without groups
  int64_t panel = 0;        // columns of a panel where the weights are packed already
  unsigned bits = 32;
  bool knownColumns = true;
  bool producesLeft = false;    // the left operand is computed inside the kernel
  bool keepsPartialSums = true; // the result's buffer can hold them between blocks of the reduction
};

Problem problemOf(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  Sizes sizes = sizesOf(type);
  Problem p;
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  p.bits = std::max(32u, width);
  p.panel = layoutOf(cast<RankedTensorType>(op->getOperand(1).getType())).block;
  p.producesLeft = op->getOperand(0).getDefiningOp() && op->getParentOfType<func::FuncOp>().getName() != "main";
  p.keepsPartialSums = width >= 32;
  if (op->getParentOfType<func::FuncOp>().getName() != "main") {
    Operation *terminator = op->getBlock()->getTerminator();
    p.keepsPartialSums &=
        terminator->getNumOperands() == 1 &&
        cast<RankedTensorType>(terminator->getOperand(0).getType()).getElementType() == type.getElementType();
  }
  if (isa<MatMulOp>(op)) {
    auto right = cast<RankedTensorType>(op->getOperand(1).getType());
    p.columns = size(sizes.back());
    p.knownColumns = constantSize(sizes.back()).has_value();
    p.depth = size(sizesOf(right)[right.getRank() - 2]);
    p.run = constantSize(sizesOf(right)[right.getRank() - 2]).value_or(0);
    bool batched = llvm::any_of(llvm::seq<int64_t>(0, right.getRank() - 2),
                                [&](int64_t d) { return !isConstant(sizesOf(right)[d], 1); });
    for (int64_t d = batched ? type.getRank() - 2 : 0; d < type.getRank() - 1; ++d)
      p.rows *= size(sizes[d]);
    return p;
  }
  auto conv = cast<ConvOp>(op);
  p.columns = size(sizes[1]);
  p.knownColumns = constantSize(sizes[1]).has_value();
  for (auto [d, expr] : llvm::enumerate(sizes))
    p.rows *= d == 1 ? 1 : size(expr);
  Sizes weight = sizesOf(conv.getWeight());
  for (AffineExpr expr : ArrayRef(weight).drop_front())
    p.depth *= size(expr);
  p.run = constantSize(weight[1]).value_or(0) * size(weight.back());
  if (conv.getGroup() > 1)
    p.groupColumns = p.columns / conv.getGroup();
  return p;
}

// Registers a tile of rows x columns occupies: accumulators, the left operand's rows and a row of the panel. A packed
// left operand has the rows side by side in a few vectors; one read in place takes a vector for each row; without
// lane-wise multiply-adds one broadcast is enough.
int64_t registersOf(int64_t rows, int64_t columns, bool packed, const Target &target, unsigned bits) {
  int64_t lanes = target.lanes(bits), vectors = llvm::divideCeil(columns, lanes);
  int64_t leftRegisters = !target.laneFma ? 1 : packed ? llvm::divideCeil(rows, lanes) : rows;
  return rows * vectors + leftRegisters + vectors;
}

// The share of multiply-adds that do useful work and are not held up by latency or loads.
double tileScore(int64_t rows, int64_t columns, const Problem &p, const Target &target) {
  int64_t lanes = target.lanes(p.bits), vectors = llvm::divideCeil(columns, lanes);
  int64_t fullPanels = p.columns / columns, tail = p.columns % columns;
  int64_t computed = (fullPanels * vectors + llvm::divideCeil(tail, lanes)) * lanes;
  double useful = double(p.columns) / computed;
  double accumulators = rows * vectors;
  double latency = std::min(1.0, accumulators / target.fmaInFlight);
  // Loads per multiply-add: a vector of each row per lane count (or a broadcast per row and step), and the panel's row.
  double loads = (target.laneFma ? double(rows) / lanes : double(rows)) + vectors;
  double pressure = std::min(1.0, accumulators / (loads * 2));
  // Among tiles that keep the units busy, the larger one loads less.
  return useful * latency * pressure * (1 - 0.2 * loads / accumulators);
}

struct Tile {
  int64_t rows = 1, columns = 1;
  double score = -1;
};

Tile bestTile(const Problem &p, bool packed, const Target &target) {
  int64_t lanes = target.lanes(p.bits), limit = std::min<int64_t>(p.rows, 12);
  Tile best;
  auto consider = [&](int64_t m, int64_t n) {
    if (registersOf(m, n, packed, target, p.bits) > target.vectorRegisters || (packed && target.laneFma && m % lanes))
      return;
    // A tail of few rows wastes the accumulators that hide latency.
    int64_t tail = p.rows % m;
    double full = double(p.rows - tail) / p.rows;
    double score = full * tileScore(m, n, p, target) + (tail ? (1 - full) * tileScore(tail, n, p, target) : 0);
    if (score > best.score + 1e-9)
      best = {m, n, score};
  };
  auto overRows = [&](int64_t n) {
    for (int64_t m = limit; m >= 1; --m)
      consider(m, n);
  };
  if (p.panel) {
    overRows(p.panel);
  } else if (p.groupColumns) {
    for (int64_t n = std::min<int64_t>(p.groupColumns, 4 * lanes); n >= 1; --n)
      if (p.groupColumns % n == 0)
        overRows(n);
  } else {
    for (int64_t vectors = 1; vectors <= 6; ++vectors)
      overRows(vectors * lanes);
  }
  return best;
}

// Whether the left operand can be packed at all.
bool canPack(const Problem &p) { return !p.groupColumns && p.knownColumns && p.run; }

} // namespace

Schedule contractDefaults(Operation *op, const Target &target) {
  Problem p = problemOf(op);
  // Packing pays when the packed rows meet many panels; a producer inside the kernel needs it.
  constexpr int64_t worthPacking = 128;
  bool wants =
      target.laneFma && p.bits == 32 && p.keepsPartialSums && p.columns >= worthPacking && p.rows >= target.lanes(32);
  bool packed = canPack(p) && (p.producesLeft || wants);
  Tile tile = bestTile(p, packed, target);
  if (tile.score < 0) // no tile of this panel width is packable
    packed = p.producesLeft, tile = {1, std::max<int64_t>(1, p.panel), 0};
  if (!packed && wants && p.panel)
    tile = bestTile(p, false, target);
  int64_t elementBytes = p.bits / 8;
  Schedule s;
  s.set("tile_m", tile.rows);
  s.set("tile_n", tile.columns);
  s.set("unroll_k", target.laneFma && !packed ? target.lanes(p.bits) : 2);
  s.set("in_flight", target.fmaInFlight);
  s.set("pack_a", packed);
  // A block of a panel fits the first-level cache with room for the rows that stream past; blocks are of about equal
  // length.
  int64_t limit = std::max<int64_t>(64, target.l1Bytes * 5 / 8 / (tile.columns * elementBytes));
  int64_t run = std::max<int64_t>(1, p.run), blocks = p.keepsPartialSums ? llvm::divideCeil(run, limit) : 1;
  s.set("block_k", llvm::alignTo(llvm::divideCeil(run, blocks), 4));
  // A tile of rows that fits the first-level cache stays there while the panels, one contiguous stream, pass; longer
  // rows stream instead.
  s.set("rows_outer", !packed && tile.rows * p.depth * elementBytes <= target.l1Bytes * 3 / 4);
  // A task's rows fit half the second-level cache. Few rows are not split further, which would read the panels again
  // for each part: the panels are, into a few tasks for a handful of workers; fewer where every task packs the rows
  // anew.
  int64_t rowBytes = (packed ? s["block_k"] : p.depth) * elementBytes;
  int64_t mostRows = std::max<int64_t>(target.l2Bytes / 2 / rowBytes, 4 * tile.rows);
  int64_t taskM = llvm::alignTo(llvm::divideCeil(p.rows, llvm::divideCeil(p.rows, mostRows)), tile.rows);
  int64_t panels = llvm::divideCeil(p.columns, tile.columns), rowTasks = llvm::divideCeil(p.rows, taskM);
  int64_t parts = llvm::divideCeil(packed ? 4 : 8, rowTasks);
  int64_t taskN = llvm::divideCeil(panels, parts);
  s.set("task_m", taskM);
  s.set("task_n", std::max<int64_t>(1, taskN));
  return s;
}

std::string contractViolation(const Schedule &s, Operation *op, const Target &target) {
  Problem p = problemOf(op);
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  bool packed = s["pack_a"];
  if (int64_t need = registersOf(s["tile_m"], s["tile_n"], packed, target, p.bits); need > target.vectorRegisters)
    return text("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", s["tile_m"], s["tile_n"], need,
                target.cpu, target.vectorRegisters);
  if (p.groupColumns && p.groupColumns % s["tile_n"])
    return text("tile_n = {0} must divide the {1} output channels of a group", s["tile_n"], p.groupColumns);
  if (p.panel && p.panel != s["tile_n"])
    return text("tile_n = {0} differs from the width {1} of the packed weights", s["tile_n"], p.panel);
  if (s["task_m"] % s["tile_m"])
    return text("task_m = {0} must be a multiple of tile_m = {1}", s["task_m"], s["tile_m"]);
  if (p.producesLeft && !packed)
    return "pack_a must be 1: the left operand is computed inside the kernel";
  if (packed && !canPack(p))
    return "pack_a must be 0: groups, and sizes known only at run time, are read in place";
  if (packed && s["block_k"] < p.run && !p.keepsPartialSums)
    return text("block_k = {0} must be at least {1}: the result's buffer cannot hold partial sums", s["block_k"],
                p.run);
  if (packed && s["task_m"] * std::min(s["block_k"], p.run) * p.bits / 8 > (int64_t(16) << 20))
    return text("task_m = {0} rows of block_k = {1} steps do not fit 16 MiB of scratch", s["task_m"], s["block_k"]);
  return "";
}

} // namespace fathom
