// The schedules of products with matrices of small integers.
#include "compiler/cost/PackedProduct.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

cost::PackedProduct problemOf(Operation *op) {
  auto product = cast<MatMulNBitsOp>(op);
  cost::PackedProduct p{1, product.getN(), product.getK(), product.getBits()};
  Sizes sizes = sizesOf(product.getInput());
  for (AffineExpr size : ArrayRef(sizes).drop_back())
    p.rows *= std::max<int64_t>(1, representative(op, size));
  return p;
}

cost::PackedSchedule fromKnobs(const Schedule &s) { return {s["tile_m"], s["tile_n"], s["row_n"], s["grain"]}; }

void overSpace(Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body) {
  cost::PackedProduct p = problemOf(op);
  auto fits = [&](int64_t rows, int64_t columns) { return cost::registersOf(rows, columns) <= target.vectorRegisters; };
  for (int64_t tileM : {1, 2, 4, 8})
    for (int64_t tileN : {1, 2, 4})
      for (int64_t rowN : {1, 2, 4, 8})
        if (fits(tileM, tileN) && fits(1, rowN))
          for (int64_t grain : fractions(p.columns, rowN)) {
            Schedule s;
            s.set("tile_m", tileM);
            s.set("tile_n", tileN);
            s.set("row_n", rowN);
            s.set("grain", grain);
            body(s);
          }
}

double score(Operation *op, const Schedule &s, const Target &target) {
  return cost::overThreads(cost::estimate(problemOf(op), fromKnobs(s), target), target);
}

std::string violation(const Schedule &s, Operation *, const Target &target) {
  int64_t need = std::max(cost::registersOf(s["tile_m"], s["tile_n"]), cost::registersOf(1, s["row_n"]));
  if (need <= target.vectorRegisters)
    return "";
  return llvm::formatv("a tile of {0} x {1} and one of 1 x {2} need {3} vector registers and {4} has {5}", s["tile_m"],
                       s["tile_n"], s["row_n"], need, target.cpu, target.vectorRegisters)
      .str();
}

} // namespace

const Family packedProductFamily{overSpace, score, violation};

} // namespace fathom
