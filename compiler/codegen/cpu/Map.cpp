// Kernels without an anchor: every element is computed on demand.
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/graph/SizeMath.h"
#include <numeric>

using namespace mlir;

namespace fathom {

// What a copy into panels reads, or null.
static Value packedInput(KernelBody &k) {
  auto relayout = k.returned[0].getDefiningOp<graph::RelayoutOp>();
  bool isPacked = relayout && k.e.isBuffer(relayout.getInput()) && layoutOf(relayout.getType()).blockedDim >= 0;
  return isPacked ? relayout.getInput() : Value();
}

// The same where the columns lie side by side already, as of the values of attention.
static Value packedAlongRows(KernelBody &k) {
  Value input = packedInput(k);
  bool isAlong = input && innermostDim(cast<RankedTensorType>(input.getType())) == k.outputs[0].layout.blockedDim;
  return isAlong ? input : Value();
}

// Four vectors of four are what transposeFour() takes.
constexpr int64_t square = 4;

// The same where other elements lie side by side, as of the keys of attention, and squares of them can be transposed in
// registers.
static Value packedAcrossRows(KernelBody &k) {
  Value input = packedInput(k);
  const Layout &output = k.outputs[0].layout;
  if (!input || packedAlongRows(k) || k.returned.size() > 1 || output.block % square || k.e.target.lanes(32) < square)
    return {};
  auto type = cast<RankedTensorType>(input.getType());
  int64_t along = innermostDim(type);
  if (along < 0 || layoutOf(type).blockedDim >= 0 || type.getElementTypeBitWidth() != 32)
    return {};
  auto enough = [&](int64_t dim) { return graph::constantSize(graph::sizesOf(type)[dim]).value_or(square) >= square; };
  return enough(along) && enough(output.blockedDim) ? input : Value();
}

static Grid emitTransposed(KernelBody &k, const MapSchedule &schedule, Value input) {
  Code &c = k.e.c;
  Grid grid;
  auto type = cast<RankedTensorType>(input.getType());
  const Layout &layout = k.outputs[0].layout;
  int64_t across = layout.blockedDim, along = innermostDim(type), grain = schedule.grain;
  SmallVector<Loop> outer = loopsOver(type, {}, {across, along});
  AffineExpr columns = graph::sizesOf(type)[across], depth = graph::sizesOf(type)[along];
  AffineExpr panels = graph::size::simplified(columns.ceilDiv(layout.block));
  int64_t ofPanel = layout.block * graph::constantSize(depth).value_or(grain);
  auto [first, last] = k.taskRange(grid, graph::size::simplified(iterations(outer, k.context()) * panels),
                                   std::max<int64_t>(1, grain / std::max<int64_t>(1, ofPanel)));
  Indices index = k.e.zeros(type.getRank());
  auto copy = [&](Value column, Value step) {
    index[across] = {column}, index[along] = {step};
    k.e.store(k.outputs[0], index, k.e.element(input, index, 1), 1);
  };
  auto transpose = [&](Value column, Value step) {
    SmallVector<Value> rows;
    index[along] = {step, 1};
    for (int64_t i = 0; i < square; ++i) {
      index[across] = {c.add(column, i)};
      rows.push_back(k.e.element(input, index, square));
    }
    index[across] = {column, 1, square};
    for (auto [i, vector] : llvm::enumerate(transposeFour(c, rows))) {
      index[along] = {c.add(step, i)};
      k.e.store(k.outputs[0], index, vector, square);
    }
  };
  auto whole = [&](Value size) { return c.sub(size, c.rem(size, c.i64(square))); };
  c.loop(first, last, 1, [&](Value panel) {
    Value count = c.expr(panels);
    delinearize(c, c.div(panel, count), outer, index);
    Value low = c.mul(c.rem(panel, count), layout.block), end = c.expr(depth), stepsEnd = whole(end);
    Value width = c.min(c.i64(layout.block), c.sub(c.expr(columns), low)), columnsEnd = c.add(low, whole(width));
    c.loop(low, columnsEnd, square, [&](Value column) {
      c.loop(c.i64(0), stepsEnd, square, [&](Value step) { transpose(column, step); });
      c.loop(stepsEnd, end, 1, [&](Value step) {
        for (int64_t i = 0; i < square; ++i)
          copy(c.add(column, i), step);
      });
    });
    c.loop(columnsEnd, c.add(low, width), 1,
           [&](Value column) { c.loop(c.i64(0), end, 1, [&](Value step) { copy(column, step); }); });
  });
  return grid;
}

// Whether a result has so few elements along its innermost dimension, as an image has channels, that vectors rather run
// along the one outside it: those of neighbours are then shuffled into the order of memory (AArch64 stores them so).
static bool isInterleaved(KernelBody &k, const Loop &middle, const Loop &inner, int64_t most) {
  if (k.returned.size() != 1 || k.outputs[0].layout.block > 1)
    return false;
  const Layout &layout = k.outputs[0].layout;
  std::optional<int64_t> few = graph::constantSize(inner.size);
  unsigned bits = k.outputs[0].type.getElementTypeBitWidth();
  return few && *few >= 2 && *few <= most && (bits == 32 || bits == 8) &&
         graph::isConstant(layout.strides[inner.dim], 1) && graph::isConstant(layout.strides[middle.dim], *few);
}

// All elements along `inner` of `lanes` neighbours along `middle`, from `at` on.
static void storeInterleaved(KernelBody &k, Indices index, const Loop &middle, const Loop &inner, Value at,
                             int64_t lanes) {
  Code &c = k.e.c;
  int64_t few = *graph::constantSize(inner.size);
  Value all = c.undefined(vectorType(k.outputs[0].type.getElementType(), few * lanes));
  index[middle.dim] = {at, 1};
  SmallVector<int64_t> order(few * lanes);
  for (int64_t i = 0; i < few; ++i) {
    index[inner.dim] = {c.i64(i), 0};
    Value values = k.e.element(k.returned[0], index, lanes);
    all = vector::InsertStridedSliceOp::create(c.b, c.loc, values, all, ArrayRef<int64_t>{i * lanes},
                                               ArrayRef<int64_t>{1});
    for (int64_t lane = 0; lane < lanes; ++lane)
      order[lane * few + i] = i * lanes + lane;
  }
  index[middle.dim] = {at, 0}, index[inner.dim] = {c.i64(0), 1};
  k.e.store(k.outputs[0], index, vector::ShuffleOp::create(c.b, c.loc, all, all, order), few * lanes);
}

Grid emitMap(KernelBody &k, const MapSchedule &schedule) {
  k.e.tableEntries = schedule.tables, k.e.paddedLanes = schedule.paddedLanes;
  if (Value input = packedAcrossRows(k))
    return emitTransposed(k, schedule, input);
  Code &c = k.e.c;
  Grid grid;
  auto type = cast<RankedTensorType>(k.returned[0].getType());
  int64_t wide = schedule.lanes, grain = schedule.grain;
  int64_t native = k.e.target.lanes(type.getElementType().getIntOrFloatBitWidth()), narrow = std::min(wide, native);
  // Such a copy reads in the order of memory, and vectors do not leave a panel.
  Value input = packedAlongRows(k);
  if (input) {
    wide = std::gcd(wide, layoutOf(type).block), narrow = std::gcd(wide, native);
    type = cast<RankedTensorType>(input.getType());
  }
  SmallVector<Loop> loops = loopsOver(type, k.onlyElementwise() ? k.alignedLayouts() : SmallVector<const Layout *>());
  Indices index = k.e.zeros(type.getRank());
  if (loops.empty()) {
    grid.tasks = iterations(loops, k.context());
    k.storeResults(index, 1);
    return grid;
  }
  Loop inner = loops.pop_back_val();
  auto along = [&](Value low, Value high) {
    vectorLoop(c, low, high, wide, narrow, [&](Value iv, int64_t lanes) {
      bool isMultiple = Code::constant(low) == 0 && wide % lanes == 0;
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
  int64_t together = k.e.target.lanes(32); // of narrow elements, too: what they are computed of is mostly wider
  bool interleaved = native > 1 && together > 1 && isInterleaved(k, loops.back(), inner, schedule.interleaved);
  std::optional<Loop> middle;
  if (innerSize < schedule.shortLoop && (loops.size() > 1 || interleaved))
    middle = loops.pop_back_val();
  auto overMiddle = [&](Value first, Value end) {
    if (interleaved) {
      Value rest = c.sub(end, c.rem(c.sub(end, first), c.i64(together)));
      c.loop(first, rest, together, [&](Value at) { storeInterleaved(k, index, *middle, inner, at, together); });
      first = rest;
    }
    c.loop(first, end, 1, [&](Value iv) {
      index[middle->dim] = {iv, 0};
      along(c.i64(0), c.expr(inner.size));
    });
  };
  if (loops.empty()) {
    auto [low, high] = k.taskRange(grid, middle->size, llvm::alignTo(std::max<int64_t>(1, grain / innerSize), native));
    overMiddle(low, high);
    return grid;
  }
  if (middle)
    innerSize *= graph::constantSize(middle->size).value_or(1);
  int64_t rows = std::max<int64_t>(1, grain / std::max<int64_t>(1, innerSize));
  auto [low, high] = k.taskRange(grid, iterations(loops, k.context()), rows);
  c.loop(low, high, 1, [&](Value row) {
    delinearize(c, row, loops, index);
    if (middle)
      overMiddle(c.i64(0), c.expr(middle->size));
    else
      along(c.i64(0), c.expr(inner.size));
  });
  return grid;
}

} // namespace fathom
