// The schedules of products with matrices of small integers.
#include "compiler/cost/PackedProduct.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

cost::PackedProduct problemOf(Operation *op, const Target &) {
  auto product = cast<MatMulNBitsOp>(op);
  cost::PackedProduct p{1, product.getN(), product.getK(), product.getBits()};
  Sizes sizes = sizesOf(product.getInput());
  for (AffineExpr size : ArrayRef(sizes).drop_back())
    p.rows *= std::max<int64_t>(1, representative(op, size));
  return p;
}

int64_t registersOf(const PackedProductSchedule &s) {
  return std::max(cost::registersOf(s.tileM, s.tileN, s.vectors), cost::registersOf(1, s.rowN, s.vectors));
}

std::string violation(const cost::PackedProduct &, const PackedProductSchedule &s, const Target &target) {
  if (s.chunk % PackedProductSchedule::unit)
    return llvm::formatv("chunk = {0} must be 16 or 32", s.chunk).str();
  if (!llvm::isPowerOf2_64(s.vectors))
    return llvm::formatv("vectors = {0} must be a power of two", s.vectors).str();
  int64_t need = registersOf(s);
  if (need <= target.vectorRegisters)
    return "";
  return llvm::formatv("a tile of {0} x {1} and one of 1 x {2} need {3} vector registers and {4} has {5}", s.tileM,
                       s.tileN, s.rowN, need, target.cpu, target.vectorRegisters)
      .str();
}

void candidates(const cost::PackedProduct &p, const Target &target,
                llvm::function_ref<void(const PackedProductSchedule &)> body) {
  for (int64_t tileM : {1, 2, 4, 8})
    for (int64_t tileN : {1, 2, 4})
      for (int64_t rowN : {1, 2, 4, 8})
        for (int64_t grain : fractions(p.columns, rowN))
          body({tileM, tileN, rowN, grain});
}

// The draft cannot tell these apart.
void overChunks(const PackedProductSchedule &s, llvm::function_ref<void(const PackedProductSchedule &)> body) {
  for (int64_t vectors : {2, 1})
    for (int64_t chunk : {32, 16}) {
      PackedProductSchedule variant = s;
      variant.chunk = chunk, variant.vectors = vectors;
      body(variant);
    }
}

const FamilyOf<cost::PackedProduct, PackedProductSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = cost::estimate,
            .violation = violation,
            .variants = overChunks,
            .extents = [](const cost::PackedProduct &p, const PackedProductSchedule &) -> Extents {
              return {{"columns", p.columns}};
            }});

} // namespace

const KernelClass packedProductClass{.name = "packed_product",
                                     .meaning = "products with matrices of small integers",
                                     .family = family,
                                     .fixed = "tile_m: 4, tile_n: 2, row_n: 4, chunk: 32, grain: 64",
                                     .takesConsumers = false,
                                     .goesByStrides = false};

} // namespace fathom
