// Running sums along an axis that comes with the data, and what the sequential kernels share; scatters, sorts and
// others have files of their own.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid overElements(KernelBody &k, const SweepSchedule &schedule, ArrayRef<Loop> loops, int64_t rank,
                  llvm::function_ref<void(Indices &)> body) {
  Grid grid;
  auto [low, high] = k.taskRange(grid, iterations(loops, k.context()), schedule.grain);
  k.e.c.loop(low, high, 1, [&](Value position) {
    Indices index = k.e.zeros(rank);
    delinearize(k.e.c, position, loops, index);
    body(index);
  });
  return grid;
}

void overStretch(KernelBody &k, Value low, Value high, ArrayRef<Loop> loops, int64_t lanes, Indices &index,
                 llvm::function_ref<void(int64_t)> body) {
  Code &c = k.e.c;
  if (loops.empty())
    return c.loop(low, high, 1, [&](Value) { body(1); });
  Loop last = loops.back();
  auto along = [&](Value from, Value to) {
    vectorLoop(c, from, to, lanes, lanes, [&](Value i, int64_t width) {
      index[last.dim] = {i, width > 1 ? 1 : 0};
      body(width);
    });
  };
  if (loops.size() == 1)
    return along(low, high);
  // Row by row of the last loop; the first and the last row may be parts. There are no rows where one is empty.
  Value length = c.max(c.expr(last.size), c.i64(1));
  Value end = c.div(c.add(high, c.sub(length, c.i64(1))), length);
  c.loop(c.div(low, length), end, 1, [&](Value row) {
    delinearize(c, row, loops.drop_back(), index);
    Value start = c.mul(row, length);
    along(c.max(c.sub(low, start), c.i64(0)), c.min(c.sub(high, start), length));
  });
}

int64_t lanesAlong(KernelBody &k, RankedTensorType type, ArrayRef<Loop> loops) {
  bool isInnermost = !loops.empty() && loops.back().dim == layoutOf(type).order.back();
  return isInnermost ? k.e.target.lanes(8 * elementBytes(type.getElementType())) : 1;
}

Value addElements(Code &c, Type element, Value x, Value y) {
  if (!isa<FloatType>(element))
    return c.add(x, y);
  if (element.getIntOrFloatBitWidth() > 16)
    return arith::AddFOp::create(c.b, c.loc, x, y);
  Type wide = c.b.getF32Type(), narrow = x.getType();
  if (auto vector = dyn_cast<VectorType>(narrow))
    wide = vector.clone(wide);
  auto extend = [&](Value v) { return arith::ExtFOp::create(c.b, c.loc, wide, v).getResult(); };
  return arith::TruncFOp::create(c.b, c.loc, narrow,
                                 arith::AddFOp::create(c.b, c.loc, extend(x), extend(y)).getResult());
}

Grid emitCumSum(KernelBody &k) {
  Code &c = k.e.c;
  auto op = cast<CumSumOp>(k.anchor);
  auto type = op.getType();
  int64_t rank = type.getRank();
  // Which rows are independent is known only at run time, so one task does all of them.
  Value axis = k.e.integerAt(op.getAxis(), k.e.zeros(cast<RankedTensorType>(op.getAxis().getType()).getRank()));
  axis = k.e.checkedIndex(axis, c.i64(rank));
  for (int64_t d = 0; d < rank; ++d)
    c.when(c.cmp(arith::CmpIPredicate::eq, axis, c.i64(d)), [&] {
      SmallVector<Loop> loops = loopsOver(type, {}, {d});
      Indices index = k.e.zeros(rank);
      overStretch(k, c.i64(0), c.expr(iterations(loops, k.context())), loops, lanesAlong(k, type, loops), index,
                  [&](int64_t lanes) { scanInOrder(k, op, index, d, lanes); });
    });
  return Grid{getAffineConstantExpr(1, k.context()), 0};
}

Grid emitSequential(KernelBody &k, const SequentialSchedule &schedule) {
  return TypeSwitch<Operation *, Grid>(k.anchor)
      .Case([&](CumSumOp) { return emitCumSum(k); })
      .Case([&](ScatterElementsOp) { return emitScatterElements(k, schedule); })
      .Case([&](ScatterNDOp) { return emitScatterND(k, schedule); })
      .Case([&](TopKOp) { return emitTopK(k, schedule); })
      .Case([&](ConvTransposeOp) { return emitConvTranspose(k, schedule); })
      .Case([&](NonZeroOp) { return emitNonZero(k, schedule); })
      .Case([&](NonMaxSuppressionOp) { return emitNonMaxSuppression(k, schedule); })
      .Case([&](UniqueOp) { return emitUnique(k, schedule); })
      .Default([&](Operation *) { return k.e.failed = true, Grid(); });
}

} // namespace fathom
