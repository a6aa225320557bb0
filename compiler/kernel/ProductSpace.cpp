// The schedules of products and convolutions that read their operands where they lie: machines of work items have them
// for whatever no other class takes.
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/schedule/Product.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

struct Problem {
  double batches = 1; // each with its own right operand
  int64_t rows = 1, columns = 1, depth = 1;
  int64_t groupColumns = 0; // 0 without groups
};

constexpr int64_t mostResults = 32; // of a tile: they and their operands are to stay in registers

Problem problemOf(Operation *op, const Target &) {
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  Sizes sizes = sizesOf(op->getResult(0)), right = sizesOf(op->getOperand(1));
  Problem p;
  if (isa<MatMulOp>(op)) {
    int64_t rank = typeOf(op->getResult(0)).getRank();
    for (AffineExpr expr : ArrayRef(sizes).drop_back(2))
      p.batches *= double(size(expr));
    p.rows = size(sizes[rank - 2]), p.columns = size(sizes[rank - 1]), p.depth = size(right[right.size() - 2]);
    return p;
  }
  if (auto product = dyn_cast<MatMulNBitsOp>(op)) {
    p.columns = product.getN(), p.depth = product.getK();
    for (AffineExpr expr : ArrayRef(sizes).drop_back())
      p.rows *= size(expr);
    return p;
  }
  p.columns = size(sizes[1]);
  for (auto [d, expr] : llvm::enumerate(sizes))
    if (d != 1)
      p.rows *= size(expr);
  for (AffineExpr expr : ArrayRef(right).drop_front())
    p.depth *= size(expr);
  if (int64_t groups = cast<ConvOp>(op).getGroup(); groups > 1)
    p.groupColumns = p.columns / groups;
  return p;
}

std::string violation(const Problem &p, const ProductSchedule &s, const Target &) {
  if (s.tileM * s.tileN > mostResults)
    return llvm::formatv("tile_m * tile_n must be at most {0}", mostResults).str();
  if (p.groupColumns && p.groupColumns % s.tileN)
    return llvm::formatv("tile_n = {0} must divide the {1} output channels of a group", s.tileN, p.groupColumns).str();
  return "";
}

void candidates(const Problem &, const Target &, llvm::function_ref<void(const ProductSchedule &)> body) {
  for (int64_t height : {1, 2, 4, 8})
    for (int64_t width : {1, 2, 4, 8})
      body({height, width});
}

// Steps of multiply-adds, with the loads of what they multiply; what is computed beyond the edges counts, too.
cost::Estimate estimate(const Problem &p, const ProductSchedule &s, const Target &target) {
  constexpr double perLoad = 4; // instructions, with its address
  cost::Estimate e = cost::Estimate::on(target);
  e.tasks = p.batches * double(llvm::divideCeil(p.rows, s.tileM) * llvm::divideCeil(p.columns, s.tileN));
  double step = double(s.tileM * s.tileN) + perLoad * double(s.tileM + s.tileN);
  e.arithmetic = e.tasks * double(p.depth) * step / target.issuedPerCycle;
  return e;
}

const FamilyOf<Problem, ProductSchedule>
    family({.problem = problemOf, .candidates = candidates, .estimate = estimate, .violation = violation});

} // namespace

const KernelClass productClass{.name = "product",
                               .meaning = "products and convolutions, operands read where they lie",
                               .family = family,
                               .fixed = "tile_m: 4, tile_n: 4",
                               .takesProducers = false};

} // namespace fathom
