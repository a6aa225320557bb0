// Loop construction and merging.
#include "compiler/codegen/common/LoopSpace.h"
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

SmallVector<Loop> loopsOver(RankedTensorType type, ArrayRef<const Buffer *> merge, ArrayRef<int64_t> without) {
  Layout layout = layoutOf(type);
  SmallVector<Loop> loops;
  for (int64_t d : layout.order) {
    if (graph::isConstant(layout.sizes[d], 1) || llvm::is_contained(without, d))
      continue;
    bool merged = !loops.empty() && !merge.empty() && llvm::all_of(merge, [&](const Buffer *buffer) {
      // The merged loop's size stands in for the outer dimension's neighbours already merged into it.
      return canMerge(layout.sizes, buffer->layout, loops.back().dim, d);
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

void delinearize(Code &c, Value position, ArrayRef<Loop> loops, Indices &index) {
  for (size_t i = loops.size(); i-- > 0;) {
    Value size = c.expr(loops[i].size);
    index[loops[i].dim] = {i == 0 ? position : c.rem(position, size), 0};
    position = i == 0 ? position : c.div(position, size);
  }
}

void vectorLoop(Code &c, Value lower, Value upper, int64_t wide, int64_t narrow,
                llvm::function_ref<void(Value, int64_t)> body) {
  SmallVector<int64_t, 3> widths{wide};
  if (narrow < wide)
    widths.push_back(narrow);
  if (widths.back() > 1)
    widths.push_back(1);
  vectorLoop(c, lower, upper, widths, body);
}

void vectorLoop(Code &c, Value lower, Value upper, ArrayRef<int64_t> widths,
                llvm::function_ref<void(Value, int64_t)> body) {
  Value at = lower;
  for (int64_t lanes : widths) {
    Value end = upper;
    if (lanes > 1) {
      Value count = c.sub(upper, at);
      end = c.sub(upper, c.rem(count, c.i64(lanes)));
    }
    c.loop(at, end, lanes, [&](Value i) { body(i, lanes); });
    at = end;
  }
}

} // namespace fathom
