// Depthwise convolution over channels-last data: lanes run along the channels, a tile of neighbouring pixels shares
// loads and weights. Taps outside of the image are left out: loops over a window's rows have bounds, and where a row's
// width is known, so is what of a tile at its ends lies in the image. Where it is not, a halo stands for that.
#include "compiler/schedule/Depthwise.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

struct DepthwiseConvolution {
  DepthwiseConvolution(KernelBody &k, const DepthwiseSchedule &schedule)
      : k(k), schedule(schedule), op(cast<ConvOp>(k.anchor)), window(*getWindow(op)), sizes(sizesOf(op.getType())) {}

  // A row is all pixels along the last spatial dimension. A task is a number of rows for a block of channels: what
  // windows share with those of the next row, and the weights, stay in the first-level cache.
  Grid emit();
  void row(Value position, ArrayRef<Loop> rows, const Range &channels, Value isLast);
  // Calls `body` for vectors of channels.
  void overChannels(const Range &channels, llvm::function_ref<void(Value, int64_t lanes)> body);
  // Whether this tap of the window at pixel `x` of a row lies in the image.
  bool isInside(int64_t x, int64_t tap) const;
  // Whether all windows of the tile of `tileW` pixels from `x` on do.
  bool tileIsInside(int64_t x) const { return isInside(x, 0) && isInside(x + tileW - 1, window.kernel.back() - 1); }
  // `count` pixels of the row at `index` from `x` on, whose windows begin at `corner`, for a vector of channels.
  void tile(Indices index, Value x, int64_t count, Value corner, Value channel, int64_t lanes);
  // Elements of the image, made floats where it is of bytes.
  Value pixelsAt(Value at, int64_t lanes);
  // What one row of the windows' taps adds to the sums; it begins at `corner`. `tap` says which row it is.
  void rowOfTaps(Value corner, Value x, Indices tap, int64_t lanes, SmallVectorImpl<Value> &sums);
  // The first row of pixels that windows of the row below have and those of a row have not.
  int64_t firstBelow() const { return std::max(extent(spatial - 2), window.strides[spatial - 2]); }
  int64_t extent(int64_t d) const { return (window.kernel[d] - 1) * window.dilations[d] + 1; }
  // A line that will be needed.
  struct Line {
    Value pointer, at;
    Type element;
    Code::CacheLevel level;
  };
  // The lines that the windows of the row below have besides those of such a tile, whose first pixel is at `pixel`.
  void linesBelow(Value pixel, int64_t count, int64_t lanes, SmallVectorImpl<Line> &lines);
  // The tile's row of pixels, and a row of weights, for the next block of channels. The rows of a task that has few of
  // them fetch its first windows this way, which nothing else fetches.
  void linesOfNextBlock(Value row, Value pixel, int64_t count, Value channel, int64_t lanes,
                        SmallVectorImpl<Line> &lines);

  KernelBody &k;
  const DepthwiseSchedule &schedule;
  ConvOp op;
  Window window;
  Sizes sizes;
  Emitter &e = k.e;
  Code &c = e.c;
  Type element = op.getType().getElementType();
  SmallVector<Operation *> widening = widenedImage(op);
  Value image = widening.empty() ? op.getInput() : widening.back()->getOperand(0);
  const Buffer &input = e.buffer(image);
  Type imageElement = input.type.getElementType();
  Sizes inputSizes = sizesOf(input.type);
  ArrayRef<AffineExpr> strides = ArrayRef(input.layout.strides).drop_front(2); // of the spatial dimensions
  int64_t spatial = window.kernel.size(), last = 1 + spatial;
  SmallVector<Span> outerTaps; // those of the row's windows that lie in the image, of all dimensions but the last
  Value below;                 // how far behind the row the first pixels below its windows lie
  int64_t tileW = schedule.tileW, wide = schedule.lanes, blockC = schedule.blockC;
};

Grid DepthwiseConvolution::emit() {
  SmallVector<Loop> rows = loopsOver(op.getType(), {}, {1, last});
  Grid grid;
  // Neighbouring tasks, which go to the same thread, have the same rows: so have its tasks of other kernels.
  auto [channels, range] = k.taskRange(grid, {sizes[1], blockC}, {iterations(rows, k.context()), schedule.grain});
  c.loop(range.first, range.second, 1, [&, &channels = channels, end = range.second](Value position) {
    row(position, rows, channels, c.cmp(arith::CmpIPredicate::eq, c.add(position, 1), end));
  });
  return grid;
}

void DepthwiseConvolution::row(Value position, ArrayRef<Loop> rows, const Range &channels, Value isLast) {
  Indices index = e.zeros(op.getType().getRank());
  delinearize(c, position, rows, index);
  // Where the row's first window starts in the input: it may begin outside of the image.
  Value start = c.add(c.expr(input.layout.offset), c.mul(index[0].base, c.expr(input.layout.strides[0])));
  for (int64_t d = 0; d < spatial; ++d) {
    Value first = d + 1 < spatial ? c.mul(index[2 + d].base, window.strides[d]) : c.i64(0);
    start = c.add(start, c.mul(c.sub(first, c.i64(window.padsBegin[d])), c.expr(strides[d])));
  }
  outerTaps.clear();
  for (int64_t d = 0; d + 1 < spatial; ++d)
    outerTaps.push_back(clip(c, window, d, index[2 + d].base, inputSizes[2 + d]));
  // What is below a task's last row is another thread's to fetch: this one asks for what it has.
  if (spatial > 1)
    below =
        c.select(isLast, c.i64(0), c.mul(c.expr(strides[spatial - 2]), firstBelow() - window.padsBegin[spatial - 2]));
  auto pixels = [&](Value x, int64_t count) {
    Value base = c.add(start, c.mul(c.mul(x, window.strides.back()), c.expr(strides.back())));
    overChannels(channels,
                 [&](Value channel, int64_t lanes) { tile(index, x, count, c.add(base, channel), channel, lanes); });
  };
  std::optional<int64_t> width = constantSize(sizes[last]);
  if (!width) {
    Value size = c.expr(sizes[last]), full = c.sub(size, c.rem(size, c.i64(tileW)));
    c.loop(c.i64(0), full, tileW, [&](Value x) { pixels(x, tileW); });
    return c.loop(full, size, 1, [&](Value x) { pixels(x, 1); });
  }
  int64_t rest = *width % tileW, full = *width - rest, inside = 0, outside = full;
  // Tiles whose windows leave the image are unrolled.
  if (leavesOutEnds(op)) {
    while (inside < full && !tileIsInside(inside))
      inside += tileW;
    while (outside > inside && !tileIsInside(outside - tileW))
      outside -= tileW;
  }
  for (int64_t x = 0; x < inside; x += tileW)
    pixels(c.i64(x), tileW);
  c.loop(c.i64(inside), c.i64(outside), tileW, [&](Value x) { pixels(x, tileW); });
  for (int64_t x = outside; x < full; x += tileW)
    pixels(c.i64(x), tileW);
  if (rest)
    pixels(c.i64(full), rest);
}

bool DepthwiseConvolution::isInside(int64_t x, int64_t tap) const {
  int64_t at = x * window.strides.back() - window.padsBegin.back() + tap * window.dilations.back();
  std::optional<int64_t> width = constantSize(inputSizes[last]);
  return at >= 0 && (!width || at < *width);
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
  Indices tap = e.zeros(2 + spatial);
  tap[0] = along;
  std::function<SmallVector<Value>(int64_t, Value, ValueRange)> addUp = [&](int64_t d, Value at, ValueRange carried) {
    if (d + 1 < spatial)
      return c.loop(outerTaps[d].low, outerTaps[d].high, 1, carried, [&](Value i, ValueRange values) {
        tap[2 + d] = {i, 0};
        return addUp(d + 1, c.add(at, c.mul(c.expr(strides[d]), c.mul(i, window.dilations[d]))), values);
      });
    SmallVector<Value> sums = llvm::to_vector(carried);
    rowOfTaps(at, x, tap, lanes, sums);
    return sums;
  };
  SmallVector<Value> sums = addUp(0, corner, SmallVector<Value>(count, first));

  SmallVector<Line> ahead;
  if (spatial > 1 && schedule.fetchAhead) {
    Value pixel = corner;
    for (auto [stride, pad] : llvm::zip_equal(strides, window.padsBegin))
      pixel = c.add(pixel, c.mul(c.expr(stride), pad));
    linesBelow(pixel, count, lanes, ahead);
    linesOfNextBlock(index[last - 1].base, pixel, count, channel, lanes, ahead);
  }
  // Lines are fetched a few with each pixel: a core that is asked for many at once waits.
  size_t fetched = 0;
  for (int64_t p = 0; p < count; ++p) {
    for (size_t end = ahead.size() * (p + 1) / count; fetched < end; ++fetched)
      c.prefetch(ahead[fetched].pointer, ahead[fetched].at, ahead[fetched].element, ahead[fetched].level);
    index[1] = along;
    index[last] = {c.add(x, p), 0};
    k.storeAnchor(index, sums[p], lanes);
  }
}

Value DepthwiseConvolution::pixelsAt(Value at, int64_t lanes) {
  auto load = [&](ArrayRef<Index>, int64_t count) { return c.load(input.pointer, at, imageElement, count); };
  if (widening.empty())
    return load({}, lanes);
  Indices index = e.zeros(2 + spatial);
  index[1].step = lanes > 1 ? 1 : 0;
  e.bind(image, load);
  Value pixels = e.element(op.getInput(), index, lanes);
  e.unbind(image);
  return pixels;
}

// All taps are unrolled: the windows of neighbouring pixels overlap, and equal loads become one.
void DepthwiseConvolution::rowOfTaps(Value corner, Value x, Indices tap, int64_t lanes, SmallVectorImpl<Value> &sums) {
  std::optional<int64_t> firstX = Code::constant(x);
  for (int64_t i = 0; i < window.kernel.back(); ++i) {
    tap.back() = {c.i64(i), 0};
    Value w = e.element(op.getWeight(), tap, lanes);
    for (auto [p, sum] : llvm::enumerate(sums)) {
      if (firstX && !isInside(*firstX + p, i))
        continue;
      int64_t pixel = p * window.strides.back() + i * window.dilations.back();
      Value at = c.add(corner, c.mul(c.expr(strides.back()), pixel));
      sum = LLVM::FMulAddOp::create(c.b, c.loc, pixelsAt(at, lanes), w, sum);
    }
  }
}

void DepthwiseConvolution::linesBelow(Value pixel, int64_t count, int64_t lanes, SmallVectorImpl<Line> &lines) {
  int64_t down = spatial - 2, across = spatial - 1;
  for (int64_t y = 0; y < extent(down) + window.strides[down] - firstBelow(); ++y)
    for (int64_t x = 0; x < count * window.strides[across]; ++x) {
      if (x % window.strides[across] >= extent(across))
        continue;
      Value at = c.add(c.mul(c.expr(strides[down]), y), c.mul(c.expr(strides[across]), x));
      for (int64_t lane = 0; lane < lanes; lane += lineBytes / elementBytes(imageElement))
        lines.push_back(
            {input.pointer, c.add(c.add(c.add(pixel, below), at), lane), imageElement, Code::CacheLevel::First});
    }
}

void DepthwiseConvolution::linesOfNextBlock(Value row, Value pixel, int64_t count, Value channel, int64_t lanes,
                                            SmallVectorImpl<Line> &lines) {
  int64_t down = spatial - 2, across = spatial - 1;
  std::optional<int64_t> channels = constantSize(sizes[1]);
  if (!channels || blockC >= *channels || schedule.grain > schedule.fetchBlock * extent(down) ||
      !e.isBuffer(op.getWeight()))
    return;
  const Buffer &weight = e.buffer(op.getWeight());
  Value tap = c.add(c.expr(weight.layout.offset), c.mul(channel, c.expr(weight.layout.strides[0])));
  tap = c.add(tap, c.mul(c.rem(row, c.i64(window.kernel[down])), c.expr(weight.layout.strides[2 + down])));
  auto add = [&](const Buffer &buffer, Value first, int64_t number, AffineExpr distance) {
    Type of = buffer.type.getElementType();
    for (int64_t i = 0; i < number; ++i)
      for (int64_t lane = 0; lane < lanes; lane += lineBytes / elementBytes(of))
        lines.push_back({buffer.pointer, c.add(c.add(first, c.mul(c.expr(distance), i)), blockC + lane), of,
                         Code::CacheLevel::Second});
  };
  add(input, pixel, count * window.strides[across], strides[across]);
  add(weight, tap, window.kernel[across], weight.layout.strides[2 + across]);
}

} // namespace

Grid emitDepthwise(KernelBody &k, const DepthwiseSchedule &schedule) {
  return DepthwiseConvolution(k, schedule).emit();
}

} // namespace fathom
