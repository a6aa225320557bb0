// Kernels that change the order of elements: squares of them are loaded as vectors along the sources' neighbours,
// transposed in registers, and stored as vectors along the results'.
#include "compiler/kernel/Reorder.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/Squares.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/schedule/Reorder.h"

using namespace mlir;

namespace fathom {

// The square whose first element is at `index`.
static void emitSquare(KernelBody &k, const Reorder &reorder, Indices index, int64_t tile) {
  Code &c = k.e.c;
  Value along = index[reorder.along.dim].base, across = index[reorder.across.dim].base;
  SmallVector<SmallVector<Value>> transposed;
  for (Value source : reorder.sources) {
    SmallVector<Value> rows;
    index[reorder.across.dim] = {across, 1};
    for (int64_t i = 0; i < tile; ++i) {
      index[reorder.along.dim] = {c.add(along, i)};
      rows.push_back(k.e.element(source, index, tile));
    }
    transposed.push_back(transposeSquare(c, rows));
  }
  index[reorder.along.dim] = {along, 1};
  for (int64_t i = 0; i < tile; ++i) {
    for (auto [source, vectors] : llvm::zip(reorder.sources, transposed))
      k.e.bind(source, [vector = vectors[i]](ArrayRef<Index>, int64_t) { return vector; });
    index[reorder.across.dim] = {c.add(across, i)};
    k.storeResults(index, tile);
  }
  for (Value source : reorder.sources)
    k.e.unbind(source);
}

Grid emitReorder(KernelBody &k, const ReorderSchedule &schedule) {
  Code &c = k.e.c;
  Grid grid;
  Reorder reorder = *reorderOf(k.kernel);
  int64_t tile = schedule.tile, run = schedule.run;
  const Loop &inner = schedule.alongInner ? reorder.along : reorder.across;
  const Loop &other = schedule.alongInner ? reorder.across : reorder.along;
  AffineExpr runs = graph::size::simplified(inner.size.ceilDiv(run));
  auto [first, last] =
      k.taskRange(grid, graph::size::simplified(iterations(reorder.outer, k.context()) * runs), schedule.grain);
  auto type = cast<RankedTensorType>(k.returned[0].getType());
  Value innerSize = c.expr(inner.size), otherSize = c.expr(other.size);
  c.loop(first, last, 1, [&](Value at) {
    Value count = c.expr(runs), low = c.mul(c.rem(at, count), run), high = c.min(c.add(low, run), innerSize);
    Indices index = k.e.zeros(type.getRank());
    delinearize(c, c.div(at, count), reorder.outer, index);
    // Squares that would leave the run overlap with those before them.
    auto squares = [&] {
      c.loop(c.i64(0), otherSize, tile, [&](Value i) {
        index[other.dim] = {c.min(i, c.sub(otherSize, c.i64(tile)))};
        c.loop(low, high, tile, [&](Value j) {
          index[inner.dim] = {c.min(j, c.sub(high, c.i64(tile)))};
          emitSquare(k, reorder, index, tile);
        });
      });
    };
    auto single = [&] {
      c.loop(c.i64(0), otherSize, 1, [&](Value i) {
        index[other.dim] = {i};
        c.loop(low, high, 1, [&](Value j) {
          index[inner.dim] = {j};
          k.storeResults(index, 1);
        });
      });
    };
    auto isAlways = [&](const Loop &loop) {
      std::optional<int64_t> size = graph::constantSize(loop.size);
      return size && *size >= tile && (&loop == &other || *size % run == 0 || *size % run >= tile);
    };
    if (isAlways(inner) && isAlways(other))
      return squares();
    Value fits = c.both(c.cmp(arith::CmpIPredicate::sge, c.sub(high, low), c.i64(tile)),
                        c.cmp(arith::CmpIPredicate::sge, otherSize, c.i64(tile)));
    c.when(fits, squares);
    c.when(c.cmp(arith::CmpIPredicate::eq, fits, c.integer(c.b.getI1Type(), 0)), single);
  });
  return grid;
}

} // namespace fathom
