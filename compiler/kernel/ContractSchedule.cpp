// Default register tiles, loop orders and task grids of contractions, and the constraints that any schedule of theirs must meet.
#include "compiler/codegen/common/Layout.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

struct Problem {
  int64_t rows, columns, depth, groupColumns; // groupColumns: 0 without groups
  unsigned bits;
  bool knownColumns;
};

Problem problemOf(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto size = [](AffineExpr expr) { return std::max<int64_t>(1, constantSize(expr).value_or(128)); };
  Sizes sizes = sizesOf(type);
  Problem p{1, 1, 1, 0, std::max(32u, type.getElementType().getIntOrFloatBitWidth()), true};
  if (isa<MatMulOp>(op)) {
    auto right = cast<RankedTensorType>(op->getOperand(1).getType());
    p.columns = size(sizes.back());
    p.knownColumns = constantSize(sizes.back()).has_value();
    p.depth = size(sizesOf(right)[right.getRank() - 2]);
    bool batched = llvm::any_of(llvm::seq<int64_t>(0, right.getRank() - 2), [&](int64_t d) { return !isConstant(sizesOf(right)[d], 1); });
    for (int64_t d = batched ? type.getRank() - 2 : 0; d < type.getRank() - 1; ++d)
      p.rows *= size(sizes[d]);
    return p;
  }
  auto conv = cast<ConvOp>(op);
  p.columns = size(sizes[1]);
  for (auto [d, expr] : llvm::enumerate(sizes))
    p.rows *= d == 1 ? 1 : size(expr);
  for (AffineExpr expr : ArrayRef(sizesOf(conv.getWeight())).drop_front())
    p.depth *= size(expr);
  if (conv.getGroup() > 1)
    p.groupColumns = p.columns / conv.getGroup();
  return p;
}

// Registers a tile of rows x columns occupies: accumulators, the left operand's rows (or one broadcast) and a row of the panel.
int64_t registersOf(int64_t rows, int64_t columns, const Target &target, unsigned bits) {
  int64_t vectors = llvm::divideCeil(columns, target.lanes(bits));
  return rows * vectors + (target.laneFma ? rows : 1) + vectors;
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
  return useful * latency * pressure;
}

} // namespace

Schedule contractDefaults(Operation *op, const Target &target) {
  Problem p = problemOf(op);
  int64_t lanes = target.lanes(p.bits);
  int64_t bestM = 1, bestN = 1;
  double best = -1;
  auto consider = [&](int64_t m, int64_t n) {
    if (registersOf(m, n, target, p.bits) > target.vectorRegisters)
      return;
    // A tail of few rows wastes the accumulators that hide latency.
    int64_t tail = p.rows % m;
    double full = double(p.rows - tail) / p.rows, tailScore = tail ? tileScore(tail, n, p, target) : 0;
    double score = full * tileScore(m, n, p, target) + (1 - full) * tailScore;
    if (score > best + 1e-9)
      best = score, bestM = m, bestN = n;
  };
  int64_t limitM = std::min<int64_t>(p.rows, 12);
  if (p.groupColumns) {
    for (int64_t n = std::min<int64_t>(p.groupColumns, 4 * lanes); n >= 1; --n)
      if (p.groupColumns % n == 0)
        for (int64_t m = limitM; m >= 1; --m)
          consider(m, n);
  } else {
    for (int64_t vectors = 1; vectors <= 6; ++vectors)
      for (int64_t m = limitM; m >= 1; --m)
        consider(m, vectors * lanes);
  }
  Schedule s;
  s.set("tile_m", bestM);
  s.set("tile_n", bestN);
  s.set("unroll_k", target.laneFma ? lanes : 2);
  // Panels that fit the first-level cache are reused by all rows; otherwise the rows' tile stays and the panels stream.
  int64_t panelBytes = p.depth * bestN * p.bits / 8;
  s.set("rows_outer", panelBytes > target.l1Bytes / 2);
  // A task's rows fit half the second-level cache, and there are at least a few tasks for a handful of workers.
  int64_t rowBytes = std::max<int64_t>(1, p.depth * p.bits / 8);
  int64_t taskM = std::clamp<int64_t>(target.l2Bytes / 2 / rowBytes, 4 * bestM, std::max<int64_t>(4 * bestM, p.rows));
  taskM = std::min<int64_t>(taskM, llvm::divideCeil(p.rows, 4));
  taskM = llvm::alignTo(std::max<int64_t>(taskM, bestM), bestM);
  int64_t panels = llvm::divideCeil(p.columns, bestN), rowTasks = llvm::divideCeil(p.rows, taskM);
  int64_t taskN = rowTasks >= 4 ? panels : llvm::divideCeil(panels, llvm::divideCeil(8, rowTasks));
  s.set("task_m", taskM);
  s.set("task_n", std::max<int64_t>(1, taskN));
  return s;
}

std::string contractViolation(const Schedule &s, Operation *op, const Target &target) {
  Problem p = problemOf(op);
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  if (int64_t need = registersOf(s["tile_m"], s["tile_n"], target, p.bits); need > target.vectorRegisters)
    return text("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", s["tile_m"], s["tile_n"], need, target.cpu, target.vectorRegisters);
  if (p.groupColumns && p.groupColumns % s["tile_n"])
    return text("tile_n = {0} must divide the {1} output channels of a group", s["tile_n"], p.groupColumns);
  if (s["task_m"] % s["tile_m"])
    return text("task_m = {0} must be a multiple of tile_m = {1}", s["task_m"], s["tile_m"]);
  return "";
}

} // namespace fathom
