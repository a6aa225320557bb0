// Loop construction and merging.
#include "compiler/kernel/LoopSpace.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

static AffineExpr simplify(AffineExpr expr) { return graph::size::simplified(expr); }

bool canMerge(ArrayRef<AffineExpr> sizes, const Layout &buffer, int64_t outer, int64_t inner) {
  int64_t skip = sizes.size() - buffer.sizes.size();
  auto isBroadcast = [&](int64_t d) { return d < skip || graph::isConstant(buffer.sizes[d - skip], 1); };
  if (isBroadcast(outer) || isBroadcast(inner))
    return isBroadcast(outer) && isBroadcast(inner);
  if (inner - skip == buffer.blockedDim || outer - skip == buffer.blockedDim)
    return false;
  return simplify(buffer.strides[outer - skip] - buffer.strides[inner - skip] * sizes[inner]) ==
         getAffineConstantExpr(0, sizes[inner].getContext());
}

SmallVector<Loop> loopsOver(RankedTensorType type, ArrayRef<const Layout *> merge, ArrayRef<int64_t> without) {
  Layout layout = layoutOf(type);
  SmallVector<Loop> loops;
  for (int64_t d : layout.order) {
    if (graph::isConstant(layout.sizes[d], 1) || llvm::is_contained(without, d))
      continue;
    bool merged = !loops.empty() && !merge.empty() && llvm::all_of(merge, [&](const Layout *buffer) {
      // The merged loop's size stands in for the outer dimension's neighbours already merged into it.
      return canMerge(layout.sizes, *buffer, loops.back().dim, d);
    });
    if (merged)
      loops.back() = {d, simplify(loops.back().size * layout.sizes[d])};
    else
      loops.push_back({d, layout.sizes[d]});
  }
  return loops;
}

AffineExpr iterations(ArrayRef<Loop> loops, MLIRContext *context) {
  AffineExpr total = getAffineConstantExpr(1, context);
  for (const Loop &loop : loops)
    total = simplify(total * loop.size);
  return total;
}

} // namespace fathom
