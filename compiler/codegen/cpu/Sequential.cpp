// Scans, and what the sequential kernels share; scatters, sorts and others have files of their own.
#include "compiler/codegen/cpu/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid overElements(KernelBody &k, ArrayRef<Loop> loops, int64_t rank, llvm::function_ref<void(Indices &)> body) {
  Grid grid;
  auto [low, high] = k.taskRange(grid, iterations(loops, k.context()), k.schedule["grain"]);
  k.e.c.loop(low, high, 1, [&](Value position) {
    Indices index = k.e.zeros(rank);
    delinearize(k.e.c, position, loops, index);
    body(index);
  });
  return grid;
}

Value addElements(Code &c, Type element, Value x, Value y) {
  if (!isa<FloatType>(element))
    return c.add(x, y);
  if (element.getIntOrFloatBitWidth() > 16)
    return arith::AddFOp::create(c.b, c.loc, x, y);
  Type wide = c.b.getF32Type();
  auto extend = [&](Value v) { return arith::ExtFOp::create(c.b, c.loc, wide, v).getResult(); };
  return arith::TruncFOp::create(c.b, c.loc, element,
                                 arith::AddFOp::create(c.b, c.loc, extend(x), extend(y)).getResult());
}

// The sums along one axis for the row at `index`, in order of the data (or against it).
static void scanRow(KernelBody &k, CumSumOp op, Indices index, int64_t axis) {
  Code &c = k.e.c;
  Type element = op.getType().getElementType();
  Value size = k.e.size(op.getInput(), axis);
  c.loop(c.i64(0), size, 1, ValueRange{c.number(registerType(element), 0)}, [&](Value i, ValueRange sum) {
    index[axis] = {op.getReverse() ? c.sub(c.sub(size, c.i64(1)), i) : i, 0};
    Value next = addElements(c, element, sum[0], k.e.element(op.getInput(), index, 1));
    k.e.store(k.outputs[0], index, op.getExclusive() ? sum[0] : next, 1);
    return SmallVector<Value>{next};
  });
}

Grid emitCumSum(KernelBody &k) {
  Code &c = k.e.c;
  auto op = cast<CumSumOp>(k.anchor);
  auto type = op.getType();
  int64_t rank = type.getRank();
  if (auto known = constantElementsOf(op.getAxis())) {
    int64_t axis = *normalizeAxis(known->front(), rank);
    return overElements(k, loopsOver(type, {}, {axis}), rank, [&](Indices &index) { scanRow(k, op, index, axis); });
  }
  // Which rows are independent is known only at run time, so one task does all of them.
  Value axis = k.e.integerAt(op.getAxis(), k.e.zeros(cast<RankedTensorType>(op.getAxis().getType()).getRank()));
  axis = k.e.checkedIndex(axis, c.i64(rank));
  for (int64_t d = 0; d < rank; ++d)
    c.when(c.cmp(arith::CmpIPredicate::eq, axis, c.i64(d)), [&] {
      SmallVector<Loop> loops = loopsOver(type, {}, {d});
      c.loop(c.i64(0), c.expr(iterations(loops, k.context())), 1, [&](Value position) {
        Indices index = k.e.zeros(rank);
        delinearize(c, position, loops, index);
        scanRow(k, op, index, d);
      });
    });
  return Grid{getAffineConstantExpr(1, k.context()), 0};
}

Grid emitSequential(KernelBody &k) {
  return TypeSwitch<Operation *, Grid>(k.anchor)
      .Case([&](CumSumOp) { return emitCumSum(k); })
      .Case([&](ScatterElementsOp) { return emitScatterElements(k); })
      .Case([&](ScatterNDOp) { return emitScatterND(k); })
      .Case([&](TopKOp) { return emitTopK(k); })
      .Case([&](ConvTransposeOp) { return emitConvTranspose(k); })
      .Case([&](NonZeroOp) { return emitNonZero(k); })
      .Case([&](NonMaxSuppressionOp) { return emitNonMaxSuppression(k); })
      .Case([&](TensorScatterOp) { return emitTensorScatter(k); })
      .Case([&](UniqueOp) { return emitUnique(k); })
      .Default([&](Operation *) { return k.e.failed = true, Grid(); });
}

} // namespace fathom
