// Convolution by spatial packing, of one group or of many: a register tile of neighbouring pixels of a row by the
// output channels of a panel, which lie within a group or are whole groups side by side. Weights come packed: panel,
// window, input channel of the group, channels of the panel. The input, channels-last with a halo, is read in place:
// its channels by groups, and the stretches of them that a step takes, are a view of it.
#include "compiler/schedule/SpatialPack.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/ConvAlgorithm.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class SpatialPack {
public:
  SpatialPack(KernelBody &k, const SpatialPackSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<ConvOp>(k.anchor)), input(e.buffer(op.getInput())),
        weight(e.buffer(op.getWeight())), type(op.getType()), element(type.getElementType()), window(*getWindow(op)),
        spatial(window.kernel.size()), last(1 + spatial), channels(*constantSize(sizesOf(op.getWeight())[1])),
        columns(*constantSize(sizesOf(op.getWeight())[0])), groupColumns(columns / op.getGroup()),
        tileW(schedule.tileW), panelWidth(weight.layout.block), together(schedule.groups),
        registers{e, element, panelWidth, schedule.tileI, 1, schedule.loadAhead, weight.pointer, element} {
    registers.stepsInOrder = !e.target.multipliesByLane();
  }

  Grid emit() {
    rowLoops = loopsOver(type, {}, {1, last});
    AffineExpr rows = iterations(rowLoops, k.context());
    int64_t panels = llvm::divideCeil(columns, panelWidth), taskPanels = schedule.taskPanels;
    int64_t panelTasks = llvm::divideCeil(panels, taskPanels), taskRows = schedule.taskRows;
    Grid grid;
    AffineExpr rowTasks = size::simplified(rows.ceilDiv(taskRows));
    grid.tasks = size::simplified(rowTasks * panelTasks);
    Value rowLow = c.mul(c.rem(k.task, c.expr(rowTasks)), taskRows);
    Value rowHigh = c.min(c.add(rowLow, taskRows), c.expr(rows));
    Value panelLow = c.mul(c.div(k.task, c.expr(rowTasks)), taskPanels);
    Value panelHigh = c.min(c.add(panelLow, taskPanels), c.i64(panels));
    auto overRows = [&](Code::Body body) { c.loop(rowLow, rowHigh, 1, body); };
    // The last panel may have fewer groups.
    int64_t full = columns / panelWidth, rest = columns % panelWidth;
    auto overPanels = [&](llvm::function_ref<void(Value, int64_t)> body) {
      c.loop(panelLow, c.min(panelHigh, c.i64(full)), 1, [&](Value panel) { body(panel, panelWidth); });
      if (rest)
        c.when(c.cmp(arith::CmpIPredicate::eq, panelHigh, c.i64(panels)), [&] { body(c.i64(full), rest); });
    };
    // Going down a stretch of columns, all panels reuse the window's rows while they are in the first-level cache.
    if (schedule.rowsOuter)
      overPixels([&](Value x, int64_t width) {
        overRows(
            [&](Value row) { overPanels([&](Value panel, int64_t count) { tile(row, x, width, panel, count); }); });
      });
    else
      overPanels([&](Value panel, int64_t count) {
        overRows([&](Value row) { overPixels([&](Value x, int64_t width) { tile(row, x, width, panel, count); }); });
      });
    return grid;
  }

private:
  // The pixels of a row in tiles.
  void overPixels(llvm::function_ref<void(Value, int64_t)> body) {
    AffineExpr width = sizesOf(type)[last];
    Value size = c.expr(width), full = c.sub(size, c.rem(size, c.i64(tileW)));
    c.loop(c.i64(0), full, tileW, [&](Value x) { body(x, tileW); });
    if (auto known = constantSize(width)) {
      if (int64_t rest = *known % tileW)
        body(full, rest);
      return;
    }
    for (int64_t step = llvm::bit_floor(uint64_t(tileW - 1)); step >= 1; step /= 2)
      full = c.when(
          c.cmp(arith::CmpIPredicate::sle, c.add(full, step), size),
          [&] {
            body(full, step);
            return c.add(full, step);
          },
          [&] { return full; });
  }

  // Where the window of a row's first pixel starts in the input: it may begin in the halo.
  Value rowStart(ArrayRef<Index> index) {
    Value start = c.add(c.expr(input.layout.offset), c.mul(index[0].base, c.expr(input.layout.strides[0])));
    for (int64_t d = 0; d < spatial; ++d) {
      Value position = d + 1 < spatial ? c.mul(index[2 + d].base, window.strides[d]) : c.i64(0);
      start = c.add(start, c.mul(c.sub(position, c.i64(window.padsBegin[d])), c.expr(input.layout.strides[2 + d])));
    }
    return start;
  }

  // `width` pixels of a row from x on by `count` columns of a panel.
  void tile(Value row, Value x, int64_t width, Value panel, int64_t count) {
    Indices index = e.zeros(type.getRank());
    delinearize(c, row, rowLoops, index);
    Value firstColumn = c.mul(panel, panelWidth), panelStart = c.mul(panel, c.expr(weight.layout.blockStride));
    Value start = c.add(rowStart(index), c.mul(c.div(firstColumn, c.i64(groupColumns)), channels));
    Value pixel = c.mul(c.expr(input.layout.strides[last]), window.strides[spatial - 1]);
    SmallVector<Value> starts;
    for (int64_t p = 0; p < width; ++p)
      starts.push_back(c.add(start, c.mul(c.add(x, p), pixel)));
    SmallVector<int64_t> pieces = registers.piecesOf(count);
    SmallVector<Value> sums = registers.firstSums(op.getBias(), firstColumn, width, pieces);
    sums = overWindow(0, starts, panelStart, pieces, sums);
    for (int64_t p = 0; p < width; ++p)
      for (size_t i = 0, column = 0; i < pieces.size(); column += pieces[i++]) {
        index[1] = {c.add(firstColumn, column), pieces[i] > 1 ? 1 : 0};
        index[last] = {c.add(x, p), 0};
        k.storeAnchor(index, sums[p * pieces.size() + i], pieces[i]);
      }
  }

  // The window's dimensions from d on; the pixels along a row may be straight code, so that equal loads become one.
  SmallVector<Value> overWindow(int64_t d, ArrayRef<Value> starts, Value panel, ArrayRef<int64_t> pieces,
                                SmallVector<Value> sums) {
    if (d == spatial)
      return multiply(starts, panel, pieces, sums);
    int64_t below = channels; // steps of a single tap
    for (int64_t taps : ArrayRef(window.kernel).drop_front(d + 1))
      below *= taps;
    auto tap = [&](Value i, ValueRange carried) {
      Value offset = c.mul(i, c.expr(size::simplified(input.layout.strides[2 + d] * window.dilations[d])));
      SmallVector<Value> moved;
      for (Value start : starts)
        moved.push_back(c.add(start, offset));
      return overWindow(d + 1, moved, c.add(panel, c.mul(i, below * panelWidth)), pieces, llvm::to_vector(carried));
    };
    if (d + 1 < spatial || !schedule.unrollW)
      return registers.inBlocks(c.i64(window.kernel[d]), below, sums, [&](Value from, Value to, ValueRange carried) {
        return c.loop(from, to, 1, carried, tap);
      });
    if (together > 1 && spreadsOnce(hasSwappedPairs(op), e.target))
      return multiplyTaps(starts, panel, pieces, sums);
    for (int64_t i = 0; i < window.kernel[d]; ++i)
      sums = tap(c.i64(i), sums);
    return sums;
  }

  // All taps of the window along a row, which share pixels.
  SmallVector<Value> multiplyTaps(ArrayRef<Value> starts, Value panel, ArrayRef<int64_t> pieces, ValueRange sums) {
    int64_t stride = window.strides[spatial - 1], dilation = window.dilations[spatial - 1];
    SmallVector<RegisterTile::Tap> taps;
    SmallVector<Value> pixels, panels;
    llvm::SmallDenseMap<int64_t, size_t> places;
    for (int64_t i = 0; i < window.kernel[spatial - 1]; ++i) {
      panels.push_back(c.add(panel, i * channels * panelWidth));
      for (size_t row = 0; row < starts.size(); ++row) {
        int64_t pixel = int64_t(row) * stride + i * dilation;
        auto [place, isNew] = places.try_emplace(pixel, pixels.size());
        if (isNew)
          pixels.push_back(c.add(starts[0], c.mul(c.expr(input.layout.strides[last]), pixel)));
        taps.push_back({place->second, size_t(i), row});
      }
    }
    return registers.multiplyGroups(input.pointer, element, pixels, taps, groupColumns, channels, panels, pieces, sums);
  }

  SmallVector<Value> multiply(ArrayRef<Value> starts, Value panel, ArrayRef<int64_t> pieces, ValueRange sums) {
    bool swapsPairs = hasSwappedPairs(op);
    if (together > 1 || swapsPairs)
      return registers.multiplyGroups(input.pointer, element, starts, groupColumns, channels, swapsPairs, panel, pieces,
                                      sums);
    return registers.multiply(input.pointer, element, starts, panel, c.i64(channels), pieces, 1, /*ahead=*/{}, sums);
  }

  KernelBody &k;
  const SpatialPackSchedule &schedule;
  Emitter &e;
  Code &c;
  ConvOp op;
  const Buffer &input, &weight;
  RankedTensorType type;
  Type element;
  Window window;
  int64_t spatial, last;
  int64_t channels, columns, groupColumns; // input channels of a group, output channels of all and of one
  int64_t tileW, panelWidth, together;
  RegisterTile registers;
  SmallVector<Loop> rowLoops;
};

} // namespace

Grid emitSpatialPack(KernelBody &k, const SpatialPackSchedule &schedule) { return SpatialPack(k, schedule).emit(); }

} // namespace fathom
