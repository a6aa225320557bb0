// Concatenations that copy run by run.
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

Grid emitConcat(KernelBody &k, const ConcatSchedule &schedule) {
  Code &c = k.e.c;
  Grid grid;
  auto op = cast<graph::ConcatOp>(k.anchor);
  auto type = op.getType();
  int64_t axis = *graph::normalizeAxis(op.getAxis(), type.getRank());
  // Rows are the dimensions outside the concatenated one; within a row every input is one run of loops.
  SmallVector<int64_t> inside{axis};
  SmallVector<int64_t> order = layoutOf(type).order;
  inside.append(llvm::find(order, axis), order.end());
  SmallVector<Loop> rows = loopsOver(type, {}, inside);
  AffineExpr rowCount = iterations(rows, k.context());
  int64_t inputs = op.getInputs().size();
  int64_t each = schedule.grain;
  // One task per input and stretch of rows, so that a concatenation of few rows still spreads over workers.
  AffineExpr stretches = graph::size::simplified(rowCount.ceilDiv(each));
  grid.tasks = graph::size::simplified(stretches * inputs);
  Value which = c.rem(k.task, c.i64(inputs)), low = c.mul(c.div(k.task, c.i64(inputs)), each);
  Value high = c.min(c.add(low, each), c.expr(rowCount));
  Value start = c.i64(0);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    c.when(c.cmp(arith::CmpIPredicate::eq, which, c.i64(i)), [&] {
      auto inputType = cast<RankedTensorType>(input.getType());
      // Loops in the order of the output's memory, over the input's sizes.
      auto ordered = withLayout(inputType, order);
      SmallVector<int64_t> outside;
      for (const Loop &row : rows)
        outside.push_back(row.dim);
      SmallVector<Loop> run = loopsOver(ordered, {}, outside);
      c.loop(low, high, 1, [&](Value row) {
        Indices index = k.e.zeros(type.getRank());
        delinearize(c, row, rows, index);
        std::function<void(size_t)> nest = [&](size_t depth) {
          auto copy = [&](int64_t lanes) {
            Indices at = index;
            at[axis].base = c.add(at[axis].base, start);
            k.e.bind(op.getResult(), [&](ArrayRef<Index>, int64_t n) { return k.e.element(input, index, n); });
            k.storeResults(at, lanes);
          };
          if (depth == run.size())
            return copy(1);
          Value size = c.expr(run[depth].size);
          if (depth + 1 == run.size())
            return vectorLoop(c, c.i64(0), size, schedule.lanes, k.e.target.lanes(32), [&](Value iv, int64_t lanes) {
              index[run[depth].dim] = {iv, lanes > 1 ? 1 : 0};
              copy(lanes);
            });
          c.loop(c.i64(0), size, 1, [&](Value iv) {
            index[run[depth].dim] = {iv, 0};
            nest(depth + 1);
          });
        };
        nest(0);
      });
    });
    start = c.add(start, k.e.size(input, axis));
  }
  return grid;
}

} // namespace fathom
