// Maps of work items.
#include "compiler/codegen/simt/SimtKernel.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

Grid emitSimtMap(KernelBody &k, const MapSchedule &schedule) {
  Code &c = k.e.c;
  Grid grid;
  auto type = cast<RankedTensorType>(k.returned[0].getType());
  SmallVector<Loop> dims = loopsOver(type, k.onlyElementwise() ? k.alignedLayouts() : SmallVector<const Layout *>());
  AffineExpr count = iterations(dims, k.context());
  grid.tasks = graph::size::simplified(count.ceilDiv(schedule.grain));
  auto compute = [&](Value position) {
    Indices index = k.e.zeros(type.getRank());
    delinearize(c, position, dims, index);
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
