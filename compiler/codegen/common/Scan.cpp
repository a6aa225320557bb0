// Running sums along an axis. Side by side, rows are summed up in vectors; along a row, so are the lanes of each
// vector.
#include "compiler/codegen/common/Sequential.h"
#include "compiler/kernel/RowAxes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// The lanes of a vector moved by a distance, towards the last one or (in reverse) the first; zeros follow.
Value moveLanes(Code &c, Value x, int64_t distance, bool reverse) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> mask(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t from = reverse ? lane + distance : lane - distance;
    mask[lane] = from >= 0 && from < lanes ? lanes + from : 0;
  }
  return vector::ShuffleOp::create(c.b, c.loc, c.number(x.getType(), 0), x, mask);
}

// The running sums of a vector's lanes: after each step, a lane holds the sum of twice as many (Hillis and Steele).
Value scanLanes(Code &c, Type element, Value x, bool reverse) {
  for (int64_t distance = 1; distance < cast<VectorType>(x.getType()).getNumElements(); distance *= 2)
    x = addElements(c, element, x, moveLanes(c, x, distance, reverse));
  return x;
}

void storeSums(KernelBody &k, ArrayRef<Index> index, Value sums, int64_t lanes) {
  k.e.bind(k.anchor->getResult(0), [=](ArrayRef<Index>, int64_t) { return sums; });
  k.storeResults(index, lanes);
}

// One row, vector by vector and then element by element. The sum of all vectors before is held in every lane; only its
// own addition is between one vector and the next.
void scanAlong(KernelBody &k, CumSumOp op, Indices index, int64_t axis, int64_t lanes) {
  Code &c = k.e.c;
  Type element = op.getType().getElementType();
  bool reverse = op.getReverse();
  Value size = k.e.size(op.getInput(), axis), zero = c.number(registerType(element), 0);
  Value whole = c.sub(size, c.rem(size, c.i64(lanes)));
  auto at = [&](Value i, int64_t width) {
    index[axis] = {reverse ? c.sub(c.sub(size, c.i64(width)), i) : i, width > 1 ? 1 : 0};
  };
  Value before = zero;
  if (lanes > 1) {
    SmallVector<Value> all =
        c.loop(c.i64(0), whole, lanes, ValueRange{c.splat(zero, lanes)}, [&](Value i, ValueRange before) {
          at(i, lanes);
          Value sums = scanLanes(c, element, k.e.element(op.getInput(), index, lanes), reverse);
          Value last = c.splat(c.extract(sums, reverse ? 0 : lanes - 1), lanes);
          Value own = op.getExclusive() ? moveLanes(c, sums, 1, reverse) : sums;
          storeSums(k, index, addElements(c, element, before[0], own), lanes);
          return SmallVector<Value>{addElements(c, element, before[0], last)};
        });
    before = c.extract(all[0], 0);
  }
  c.loop(lanes > 1 ? whole : c.i64(0), size, 1, ValueRange{before}, [&](Value i, ValueRange sum) {
    at(i, 1);
    Value next = addElements(c, element, sum[0], k.e.element(op.getInput(), index, 1));
    storeSums(k, index, op.getExclusive() ? sum[0] : next, 1);
    return SmallVector<Value>{next};
  });
}

} // namespace

void scanInOrder(KernelBody &k, CumSumOp op, Indices index, int64_t axis, int64_t lanes) {
  Code &c = k.e.c;
  Type element = op.getType().getElementType();
  Value size = k.e.size(op.getInput(), axis);
  c.loop(c.i64(0), size, 1, ValueRange{c.splat(c.number(registerType(element), 0), lanes)},
         [&](Value i, ValueRange sum) {
           index[axis] = {op.getReverse() ? c.sub(c.sub(size, c.i64(1)), i) : i, 0};
           Value next = addElements(c, element, sum[0], k.e.element(op.getInput(), index, lanes));
           storeSums(k, index, op.getExclusive() ? sum[0] : next, lanes);
           return SmallVector<Value>{next};
         });
}

Grid emitScan(KernelBody &k, const ScanSchedule &schedule) {
  auto op = cast<CumSumOp>(k.anchor);
  int64_t axis = rowAxes(op).front(), innermost = innermostDim(op.getType());
  bool isAlong = innermost < 0 || innermost == axis;
  return overRows(k, schedule, op.getType(), {axis}, [&](Indices index, int64_t lanes) {
    if (isAlong)
      scanAlong(k, op, index, axis, schedule.lanes);
    else
      scanInOrder(k, op, index, axis, lanes);
  });
}

} // namespace fathom
