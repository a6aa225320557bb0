// Depthwise convolution over channels-last data: lanes run along the channels, a tile of neighbouring pixels shares
// loads and weights.
#include "compiler/codegen/cpu/Kernels.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

struct DepthwiseConvolution {
  explicit DepthwiseConvolution(KernelBody &k)
      : k(k), op(cast<ConvOp>(k.anchor)), window(*getWindow(op)), sizes(sizesOf(op.getType())) {}

  // A row is all pixels along the last spatial dimension. A task is a number of rows for a block of channels: what
  // windows share with those of the next row, and the weights, stay in the first-level cache.
  Grid emit();
  void row(Value position, ArrayRef<Loop> rows, const Range &channels, Value isLast);
  // Calls `body` for vectors of channels.
  void overChannels(const Range &channels, llvm::function_ref<void(Value, int64_t lanes)> body);
  // `count` pixels of the row at `index` from `x` on, whose windows begin at `corner`, for a vector of channels.
  void tile(Indices index, Value x, int64_t count, Value corner, Value channel, int64_t lanes);
  // The first row of pixels that windows of the row below have and those of a row have not.
  int64_t firstBelow() const { return std::max(extent(spatial - 2), window.strides[spatial - 2]); }
  int64_t extent(int64_t d) const { return (window.kernel[d] - 1) * window.dilations[d] + 1; }
  // A line that will be needed.
  struct Line {
    Value pointer, at;
    Code::CacheLevel level;
  };
  // The lines that the windows of the row below have besides those of such a tile.
  void linesBelow(Value corner, int64_t count, int64_t lanes, SmallVectorImpl<Line> &lines);
  // The first row of the tile's windows, and a row of weights, for the next block of channels. The rows of a task that
  // has few of them fetch its first windows this way, which nothing else fetches.
  void linesOfNextBlock(Value row, Value corner, int64_t count, Value channel, int64_t lanes,
                        SmallVectorImpl<Line> &lines);

  KernelBody &k;
  ConvOp op;
  Window window;
  Sizes sizes;
  Emitter &e = k.e;
  Code &c = e.c;
  Type element = op.getType().getElementType();
  const Buffer &input = e.buffer(op.getInput());
  ArrayRef<AffineExpr> strides = ArrayRef(input.layout.strides).drop_front(2); // of the spatial dimensions
  int64_t spatial = window.kernel.size(), last = 1 + spatial;
  Value below; // how far the row's first pixels below its windows lie behind their beginning
  int64_t tileW = k.schedule["tile_w"], wide = k.schedule["lanes"], blockC = k.schedule["block_c"];
};

Grid DepthwiseConvolution::emit() {
  k.clearHalos();
  SmallVector<Loop> rows = loopsOver(op.getType(), {}, {1, last});
  Grid grid;
  // Neighbouring tasks, which go to the same thread, have the same rows: so have its tasks of other kernels.
  auto [channels, range] = k.taskRange(grid, {sizes[1], blockC}, {iterations(rows, k.context()), k.schedule["grain"]});
  c.loop(range.first, range.second, 1, [&, &channels = channels, end = range.second](Value position) {
    row(position, rows, channels, c.cmp(arith::CmpIPredicate::eq, c.add(position, 1), end));
  });
  return grid;
}

void DepthwiseConvolution::row(Value position, ArrayRef<Loop> rows, const Range &channels, Value isLast) {
  Indices index = e.zeros(op.getType().getRank());
  delinearize(c, position, rows, index);
  // Where the row's first window starts in the input: it may begin in the halo.
  Value start = c.add(c.expr(input.layout.offset), c.mul(index[0].base, c.expr(input.layout.strides[0])));
  for (int64_t d = 0; d < spatial; ++d) {
    Value first = d + 1 < spatial ? c.mul(index[2 + d].base, window.strides[d]) : c.i64(0);
    start = c.add(start, c.mul(c.sub(first, c.i64(window.padsBegin[d])), c.expr(strides[d])));
  }
  // What is below a task's last row is another thread's to fetch: this one asks for what it has.
  below = spatial > 1 ? c.select(isLast, c.i64(0), c.mul(c.expr(strides[spatial - 2]), firstBelow())) : Value();
  auto pixels = [&](Value x, int64_t count) {
    Value base = c.add(start, c.mul(c.mul(x, window.strides.back()), c.expr(strides.back())));
    overChannels(channels,
                 [&](Value channel, int64_t lanes) { tile(index, x, count, c.add(base, channel), channel, lanes); });
  };
  Value size = c.expr(sizes[last]), full = c.sub(size, c.rem(size, c.i64(tileW)));
  c.loop(c.i64(0), full, tileW, [&](Value x) { pixels(x, tileW); });
  if (auto known = constantSize(sizes[last])) {
    if (int64_t rest = *known % tileW)
      pixels(full, rest);
  } else {
    c.loop(full, size, 1, [&](Value x) { pixels(x, 1); });
  }
}

void DepthwiseConvolution::overChannels(const Range &channels, llvm::function_ref<void(Value, int64_t)> body) {
  std::optional<int64_t> count = constantSize(sizes[1]);
  if (count && *count % wide == 0 && blockC % wide == 0)
    c.loop(channels.first, channels.second, wide, [&](Value channel) { body(channel, wide); });
  else
    vectorLoop(c, channels.first, channels.second, wide, e.target.lanes(32), body);
}

void DepthwiseConvolution::tile(Indices index, Value x, int64_t count, Value corner, Value channel, int64_t lanes) {
  Index along{channel, lanes > 1 ? 1 : 0};
  bool hasBias = !isa<NoneType>(op.getBias().getType());
  Value first = hasBias ? e.element(op.getBias(), along, lanes) : c.number(vectorType(element, lanes), 0);
  SmallVector<Value> sums(count, first);
  Indices tap = e.zeros(2 + spatial);
  tap[0] = along;
  // Lines are fetched a few with each tap: a core that is asked for many at once waits.
  SmallVector<Line> ahead;
  if (spatial > 1 && k.schedule["fetch_ahead"]) {
    linesBelow(corner, count, lanes, ahead);
    linesOfNextBlock(index[last - 1].base, corner, count, channel, lanes, ahead);
  }
  size_t fetched = 0, taps = 0;
  size_t allTaps = std::accumulate(window.kernel.begin(), window.kernel.end(), size_t(1), std::multiplies<>());
  // All taps are unrolled: the windows of neighbouring pixels overlap, and equal loads become one.
  std::function<void(int64_t, Value)> nest = [&](int64_t d, Value offset) {
    if (d < spatial) {
      for (int64_t i = 0; i < window.kernel[d]; ++i) {
        tap[2 + d] = {c.i64(i), 0};
        nest(d + 1, c.add(offset, c.mul(c.expr(strides[d]), i * window.dilations[d])));
      }
      return;
    }
    for (size_t end = ahead.size() * ++taps / allTaps; fetched < end; ++fetched)
      c.prefetch(ahead[fetched].pointer, ahead[fetched].at, element, ahead[fetched].level);
    Value w = e.element(op.getWeight(), tap, lanes);
    for (int64_t p = 0; p < count; ++p) {
      Value at = c.add(offset, c.mul(c.expr(strides.back()), p * window.strides.back()));
      sums[p] = LLVM::FMulAddOp::create(c.b, c.loc, c.load(input.pointer, at, element, lanes), w, sums[p]);
    }
  };
  nest(0, corner);
  for (int64_t p = 0; p < count; ++p) {
    index[1] = along;
    index[last] = {c.add(x, p), 0};
    k.storeAnchor(index, sums[p], lanes);
  }
}

void DepthwiseConvolution::linesBelow(Value corner, int64_t count, int64_t lanes, SmallVectorImpl<Line> &lines) {
  int64_t down = spatial - 2, across = spatial - 1;
  for (int64_t y = 0; y < extent(down) + window.strides[down] - firstBelow(); ++y)
    for (int64_t x = 0; x < count * window.strides[across]; ++x) {
      if (x % window.strides[across] >= extent(across))
        continue;
      Value pixel = c.add(c.mul(c.expr(strides[down]), y), c.mul(c.expr(strides[across]), x));
      for (int64_t lane = 0; lane < lanes; lane += lineBytes / elementBytes(element))
        lines.push_back({input.pointer, c.add(c.add(c.add(corner, below), pixel), lane), Code::CacheLevel::First});
    }
}

void DepthwiseConvolution::linesOfNextBlock(Value row, Value corner, int64_t count, Value channel, int64_t lanes,
                                            SmallVectorImpl<Line> &lines) {
  int64_t down = spatial - 2, across = spatial - 1, inLine = lineBytes / elementBytes(element);
  std::optional<int64_t> channels = constantSize(sizes[1]);
  if (!channels || blockC >= *channels || k.schedule["grain"] > 3 * extent(down) || !e.isBuffer(op.getWeight()))
    return;
  const Buffer &weight = e.buffer(op.getWeight());
  Value tap = c.add(c.expr(weight.layout.offset), c.mul(channel, c.expr(weight.layout.strides[0])));
  tap = c.add(tap, c.mul(c.rem(row, c.i64(window.kernel[down])), c.expr(weight.layout.strides[2 + down])));
  auto add = [&](Value pointer, Value first, int64_t number, AffineExpr distance) {
    for (int64_t i = 0; i < number; ++i)
      for (int64_t lane = 0; lane < lanes; lane += inLine)
        lines.push_back(
            {pointer, c.add(c.add(first, c.mul(c.expr(distance), i)), blockC + lane), Code::CacheLevel::Second});
  };
  add(input.pointer, corner, (count - 1) * window.strides[across] + extent(across), strides[across]);
  add(weight.pointer, tap, window.kernel[across], weight.layout.strides[2 + across]);
}

} // namespace

Grid emitDepthwise(KernelBody &k) { return DepthwiseConvolution(k).emit(); }

} // namespace fathom
