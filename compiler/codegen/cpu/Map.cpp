// Kernels without an anchor: every element is computed on demand, and concatenations that copy run by run.
#include "compiler/codegen/cpu/Kernels.h"
#include "compiler/graph/SizeMath.h"
#include <numeric>

using namespace mlir;

namespace fathom {

// Below this size the innermost loop is too short to pay for finding a row's indices; the next loop joins it.
static constexpr int64_t shortLoop = 32;

// A copy into panels of the columns that lie side by side already, as of the values of attention: what is read, or
// null.
static Value packedAlongRows(KernelBody &k) {
  auto relayout = k.returned[0].getDefiningOp<graph::RelayoutOp>();
  if (!relayout || !k.e.isBuffer(relayout.getInput()))
    return {};
  int64_t panels = layoutOf(relayout.getType()).blockedDim;
  auto input = cast<RankedTensorType>(relayout.getInput().getType());
  return panels >= 0 && innermostDim(input) == panels ? relayout.getInput() : Value();
}

Grid emitMap(KernelBody &k) {
  Code &c = k.e.c;
  Grid grid;
  auto type = cast<RankedTensorType>(k.returned[0].getType());
  int64_t wide = k.schedule["lanes"], grain = k.schedule["grain"];
  int64_t native = k.e.target.lanes(type.getElementType().getIntOrFloatBitWidth()), narrow = std::min(wide, native);
  // Such a copy reads in the order of memory, and vectors do not leave a panel.
  Value input = packedAlongRows(k);
  if (input) {
    wide = std::gcd(wide, layoutOf(type).block), narrow = std::gcd(wide, native);
    type = cast<RankedTensorType>(input.getType());
  }
  SmallVector<Loop> loops = loopsOver(type, k.onlyElementwise() ? k.alignedBuffers() : SmallVector<const Buffer *>());
  k.clearHalos();
  Indices index = k.e.zeros(type.getRank());
  if (loops.empty()) {
    grid.tasks = iterations(loops, k.context());
    k.storeResults(index, 1);
    return grid;
  }
  Loop inner = loops.pop_back_val();
  auto along = [&](Value low, Value high) {
    vectorLoop(c, low, high, wide, narrow, [&](Value iv, int64_t lanes) {
      bool isMultiple = input && Code::constant(low) == 0 && wide % lanes == 0;
      index[inner.dim] = {iv, lanes > 1 ? 1 : 0, isMultiple ? lanes : 1};
      k.storeResults(index, lanes);
    });
  };
  if (loops.empty()) {
    auto [low, high] = k.taskRange(grid, inner.size, grain);
    along(low, high);
    return grid;
  }
  int64_t innerSize = graph::constantSize(inner.size).value_or(grain);
  std::optional<Loop> middle;
  if (innerSize < shortLoop && loops.size() > 1) {
    middle = loops.pop_back_val();
    innerSize *= graph::constantSize(middle->size).value_or(1);
  }
  int64_t rows = std::max<int64_t>(1, grain / std::max<int64_t>(1, innerSize));
  auto [low, high] = k.taskRange(grid, iterations(loops, k.context()), rows);
  c.loop(low, high, 1, [&](Value row) {
    delinearize(c, row, loops, index);
    if (!middle)
      return along(c.i64(0), c.expr(inner.size));
    c.loop(c.i64(0), c.expr(middle->size), 1, [&](Value iv) {
      index[middle->dim] = {iv, 0};
      along(c.i64(0), c.expr(inner.size));
    });
  });
  return grid;
}

Grid emitConcat(KernelBody &k) {
  Code &c = k.e.c;
  Grid grid;
  auto op = cast<graph::ConcatOp>(k.anchor);
  auto type = op.getType();
  int64_t axis = *graph::normalizeAxis(op.getAxis(), type.getRank());
  k.clearHalos();
  // Rows are the dimensions outside the concatenated one; within a row every input is one run of loops.
  SmallVector<int64_t> inside{axis};
  SmallVector<int64_t> order = layoutOf(type).order;
  inside.append(llvm::find(order, axis), order.end());
  SmallVector<Loop> rows = loopsOver(type, {}, inside);
  AffineExpr rowCount = iterations(rows, k.context());
  int64_t inputs = op.getInputs().size();
  int64_t each = k.schedule["grain"];
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
            return vectorLoop(c, c.i64(0), size, k.schedule["lanes"], k.e.target.lanes(32),
                              [&](Value iv, int64_t lanes) {
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
