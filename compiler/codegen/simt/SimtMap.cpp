// Maps of work items.
#include "compiler/codegen/simt/SimtKernel.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

// The element of the input that has this one, which comes after `start` along the axis.
static Value pieceAt(KernelBody &k, ArrayRef<Value> inputs, int64_t axis, Indices index, Value start) {
  Code &c = k.e.c;
  Value position = index[axis].base, end = c.add(start, k.e.size(inputs[0], axis));
  auto here = [&] {
    Indices at = index;
    at[axis] = {c.sub(position, start), 0};
    return k.e.element(inputs[0], at, 1);
  };
  if (inputs.size() == 1)
    return here();
  return c.when(c.cmp(arith::CmpIPredicate::slt, position, end), here,
                [&] { return pieceAt(k, inputs.drop_front(), axis, index, end); });
}

Grid emitSimtMap(KernelBody &k, const MapSchedule &schedule) {
  Code &c = k.e.c;
  Grid grid;
  auto type = cast<RankedTensorType>(k.returned[0].getType());
  auto concat = dyn_cast_or_null<graph::ConcatOp>(k.anchor);
  bool merges = !concat && k.onlyElementwise();
  SmallVector<Loop> dims = loopsOver(type, merges ? k.alignedLayouts() : SmallVector<const Layout *>());
  AffineExpr count = iterations(dims, k.context());
  grid.tasks = graph::size::simplified(count.ceilDiv(schedule.grain));
  auto compute = [&](Value position) {
    Indices index = k.e.zeros(type.getRank());
    delinearize(c, position, dims, index);
    if (concat) {
      int64_t axis = *graph::normalizeAxis(concat.getAxis(), type.getRank());
      Value element = pieceAt(k, llvm::to_vector(concat.getInputs()), axis, index, c.i64(0));
      return k.storeAnchor(index, element, 1);
    }
    k.storeResults(index, 1);
  };
  if (schedule.grain == 1) {
    compute(k.task);
    return grid;
  }
  Value items = c.expr(grid.tasks), left = c.sub(c.expr(count), k.task);
  Value rounds = c.div(c.add(left, c.sub(items, c.i64(1))), items);
  c.loop(c.i64(0), rounds, 1, [&](Value round) { compute(c.add(k.task, c.mul(round, items))); });
  return grid;
}

} // namespace fathom
