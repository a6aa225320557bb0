// Depthwise convolution over channels-last data: lanes run along the channels, a tile of neighbouring pixels shares
// loads and weights.
#include "compiler/codegen/cpu/Kernels.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid emitDepthwise(KernelBody &k) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<ConvOp>(k.anchor);
  Value input = op.getInput(), weight = op.getWeight();
  auto type = op.getType();
  Window window = *getWindow(op);
  int64_t spatial = window.kernel.size(), last = 1 + spatial;
  Sizes sizes = sizesOf(type);
  int64_t width = k.schedule["tile_w"], wide = k.schedule["lanes"], each = k.schedule["grain"];
  const Layout &in = e.buffer(input).layout;
  k.clearHalos();

  // A row is all pixels along the last spatial dimension; a task is a number of rows.
  SmallVector<Loop> rows = loopsOver(type, {}, {1, last});
  Grid grid;
  auto [low, high] = k.taskRange(grid, iterations(rows, k.context()), each);
  c.loop(low, high, 1, [&](Value row) {
    Indices index = e.zeros(type.getRank());
    delinearize(c, row, rows, index);
    // Where the row's first window starts in the input: it may begin in the halo.
    Value start = c.add(c.expr(in.offset), c.mul(index[0].base, c.expr(in.strides[0])));
    for (int64_t d = 0; d < spatial; ++d) {
      Value position = d + 1 < spatial ? c.mul(index[2 + d].base, window.strides[d]) : c.i64(0);
      start = c.add(start, c.mul(c.sub(position, c.i64(window.padsBegin[d])), c.expr(in.strides[2 + d])));
    }
    auto pixels = [&](Value x, int64_t count) {
      Value base = c.add(start, c.mul(c.mul(x, window.strides[spatial - 1]), c.expr(in.strides[last])));
      vectorLoop(c, c.i64(0), c.expr(sizes[1]), wide, e.target.lanes(32), [&](Value channel, int64_t lanes) {
        Index along{channel, lanes > 1 ? 1 : 0};
        bool hasBias = !isa<NoneType>(op.getBias().getType());
        Value first =
            hasBias ? e.element(op.getBias(), along, lanes) : c.number(vectorType(type.getElementType(), lanes), 0);
        SmallVector<Value> sums(count, first);
        Indices tap = e.zeros(2 + spatial);
        tap[0] = along;
        // All taps are unrolled: the windows of neighbouring pixels overlap, and equal loads become one.
        std::function<void(int64_t, Value)> nest = [&](int64_t d, Value offset) {
          if (d < spatial) {
            for (int64_t i = 0; i < window.kernel[d]; ++i) {
              tap[2 + d] = {c.i64(i), 0};
              nest(d + 1, c.add(offset, c.mul(c.expr(in.strides[2 + d]), i * window.dilations[d])));
            }
            return;
          }
          Value w = e.element(weight, tap, lanes);
          for (int64_t p = 0; p < count; ++p) {
            Value at = c.add(offset, c.mul(c.expr(in.strides[last]), p * window.strides[spatial - 1]));
            Value x = c.load(e.buffer(input).pointer, at, type.getElementType(), lanes);
            sums[p] = LLVM::FMulAddOp::create(c.b, c.loc, x, w, sums[p]);
          }
        };
        nest(0, c.add(base, channel));
        for (int64_t p = 0; p < count; ++p) {
          Indices at = index;
          at[1] = along;
          at[last] = {c.add(x, p), 0};
          k.storeAnchor(at, sums[p], lanes);
        }
      });
    };
    Value size = c.expr(sizes[last]), full = c.sub(size, c.rem(size, c.i64(width)));
    c.loop(c.i64(0), full, width, [&](Value x) { pixels(x, width); });
    if (auto known = constantSize(sizes[last])) {
      if (int64_t rest = *known % width)
        pixels(full, rest);
    } else {
      c.loop(full, size, 1, [&](Value x) { pixels(x, 1); });
    }
  });
  return grid;
}

} // namespace fathom
