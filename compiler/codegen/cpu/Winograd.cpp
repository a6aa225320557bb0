// Convolution with windows of 3 x 3 by Winograd's method: tiles of the input are transformed, multiplied with the
// transformed weights as one matrix product for each element of a tile, and the products are transformed back. A run of
// tasks goes through all three for a block of tiles, so that nothing between them leaves the caches.
#include "compiler/kernel/Winograd.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/Combination.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/schedule/Winograd.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// left * x * left^T of a matrix of vectors, given and returned row by row.
SmallVector<Value> fromBothSides(Code &c, const TransformMatrix &matrix, ArrayRef<Value> x) {
  Combination combine(c, matrix);
  size_t from = matrix.rows[0].size(), to = matrix.rows.size();
  SmallVector<Value> columns(to * from), result(to * to);
  for (size_t j = 0; j < from; ++j) {
    SmallVector<Value> column;
    for (size_t i = 0; i < from; ++i)
      column.push_back(x[i * from + j]);
    for (auto [i, value] : llvm::enumerate(combine(column)))
      columns[i * from + j] = value;
  }
  for (size_t i = 0; i < to; ++i)
    llvm::copy(combine(ArrayRef(columns).slice(i * from, from)), result.begin() + i * to);
  return result;
}

class WinogradConvolution {
public:
  WinogradConvolution(KernelBody &k, const WinogradSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<WinogradConvOp>(k.anchor)), input(e.buffer(op.getInput())),
        weight(e.buffer(op.getWeight())), type(op.getType()), element(type.getElementType()), size(op.getTile()),
        positions((size + 2) * (size + 2)), tileM(schedule.tileM), tileN(weight.layout.block),
        taskTiles(schedule.taskTiles), channels(*constantSize(input.layout.sizes[1])),
        groupChannels(channels / op.getGroup()), columns(*constantSize(sizesOf(type)[1])) {}

  Grid emit() {
    AffineExpr tilesDown = perTile(2), tilesAcross = perTile(3);
    image = {{0, sizesOf(type)[0]}, {2, tilesDown}, {3, tilesAcross}};
    AffineExpr tiles = size::simplified(sizesOf(type)[0] * tilesDown * tilesAcross);
    int64_t panels = llvm::divideCeil(columns, tileN), taskN = schedule.taskN;
    int64_t panelTasks = llvm::divideCeil(panels, taskN);
    Grid grid;
    auto [group, tasks, isHeld] = k.taskGroup(grid, size::simplified(tiles.ceilDiv(taskTiles)), panelTasks);
    // Scratch: the transformed tiles, the products of a panel, the pixels of one tile.
    positionSize = taskTiles * channels + schedule.positionApart;
    productsAt = positions * positionSize;
    pixelsAt = productsAt + taskTiles * positions * tileN;
    grid.scratchBytes = (pixelsAt + size * size * tileN) * elementBytes(element);

    Value firstTile = c.mul(group, taskTiles);
    Value count = c.min(c.i64(taskTiles), c.sub(c.expr(tiles), firstTile));
    Value firstPanel = c.mul(tasks.first, taskN), lastPanel = c.min(c.mul(tasks.second, taskN), c.i64(panels));
    c.loop(c.select(isHeld, count, c.i64(0)), count, 1,
           [&](Value tile) { transformInput(tile, c.add(firstTile, tile)); });
    c.loop(firstPanel, lastPanel, 1, [&](Value panel) {
      c.loop(positions, [&](Value position) { multiply(position, panel, count); });
      c.loop(c.i64(0), count, 1, [&](Value tile) { transformOutput(tile, c.add(firstTile, tile), panel); });
    });
    return grid;
  }

private:
  AffineExpr perTile(int64_t d) { return size::simplified(sizesOf(type)[d].ceilDiv(size)); }

  // Where a tile lies: the image in the batch, and its first row and column of pixels.
  Indices tileIndex(Value tile) {
    Indices index = e.zeros(4);
    delinearize(c, tile, image, index);
    index[2].base = c.mul(index[2].base, size);
    index[3].base = c.mul(index[3].base, size);
    return index;
  }

  void transformInput(Value slot, Value tile) {
    Indices index = tileIndex(tile);
    Value start = c.expr(input.layout.offset);
    for (int64_t d : {0, 2, 3}) {
      int64_t pad = d < 2 ? 0 : op.getPads()[d - 2]; // the window begins in the halo
      start = c.add(start, c.mul(c.sub(index[d].base, c.i64(pad)), c.expr(input.layout.strides[d])));
    }
    int64_t side = size + 2;
    vectorLoop(c, c.i64(0), c.i64(channels), e.target.lanes(32), e.target.lanes(32), [&](Value channel, int64_t lanes) {
      SmallVector<Value> pixels;
      for (int64_t y = 0; y < side; ++y)
        for (int64_t x = 0; x < side; ++x) {
          Value at = c.add(c.mul(c.expr(input.layout.strides[2]), y), c.mul(c.expr(input.layout.strides[3]), x));
          pixels.push_back(c.load(input.pointer, c.add(c.add(start, channel), at), element, lanes));
        }
      SmallVector<Value> transformed = fromBothSides(c, winograd::inputTransform(size), pixels);
      for (int64_t p = 0; p < positions; ++p)
        c.store(transformed[p], k.scratch, c.add(c.add(c.mul(slot, channels), p * positionSize), channel), element);
    });
  }

  Value weightsAt(Value position, Value panel) {
    return c.add(c.mul(panel, c.expr(weight.layout.blockStride)), c.mul(position, c.expr(weight.layout.strides[0])));
  }

  // What a register tile fetches of the weights that come next: those of the next position, or of the next panel.
  Ahead nextPanel(Value position, Value panel, Value row) {
    if (!schedule.fetchAhead)
      return {};
    Value next = c.add(position, 1), isLast = c.cmp(arith::CmpIPredicate::eq, next, c.i64(positions));
    Value start = c.select(isLast, weightsAt(c.i64(0), c.add(panel, 1)), weightsAt(next, panel));
    int64_t tiles = llvm::divideCeil(taskTiles, tileM);
    return shareOfPanel(c, start, c.div(row, c.i64(tileM)), tiles, c.i64(groupChannels), tileN);
  }

  // The products of all tiles at one position of a tile with one panel of the weights there.
  void multiply(Value position, Value panel, Value count) {
    RegisterTile registers{
        e, element, tileN, schedule.unrollK, schedule.inFlight, schedule.loadAhead, weight.pointer, element};
    SmallVector<int64_t> pieces = registers.piecesOf(tileN);
    Value panelStart = weightsAt(position, panel);
    int64_t groupPanels = columns / int64_t(op.getGroup()) / tileN; // several groups have no panels in common
    Value groupStart = op.getGroup() > 1 ? c.mul(c.div(panel, c.i64(groupPanels)), groupChannels) : c.i64(0);
    auto rows = [&](Value row, int64_t height) {
      int64_t sets = registers.setsFor(height * pieces.size(), groupChannels);
      Value first = c.add(c.mul(position, taskTiles), row);
      SmallVector<Value> starts;
      for (int64_t r = 0; r < height; ++r)
        starts.push_back(c.add(c.add(c.mul(position, positionSize), c.mul(c.add(row, r), channels)), groupStart));
      SmallVector<Value> sums = registers.joinSets(
          registers.multiply(k.scratch, element, starts, panelStart, c.i64(groupChannels), pieces, sets,
                             nextPanel(position, panel, row), registers.zeros(height * sets, pieces)),
          sets);
      for (int64_t r = 0; r < height; ++r)
        for (int64_t p = 0, column = 0; p < int64_t(pieces.size()); column += pieces[p++])
          c.store(sums[r * pieces.size() + p], k.scratch, c.add(c.mul(c.add(first, r), tileN), productsAt + column),
                  element);
    };
    Value full = c.sub(count, c.rem(count, c.i64(tileM)));
    c.loop(c.i64(0), full, tileM, [&](Value row) { rows(row, tileM); });
    // What is left is computed by halving tiles.
    if (std::optional<int64_t> known = Code::constant(count); known && *known % tileM == 0)
      return;
    for (int64_t step = llvm::bit_floor(uint64_t(tileM - 1)); step >= 1; step /= 2)
      full = c.when(
          c.cmp(arith::CmpIPredicate::sle, c.add(full, step), count),
          [&] {
            rows(full, step);
            return c.add(full, step);
          },
          [&] { return full; });
  }

  // What is added to the pixels of a tile, also to those that are not there.
  void prefetchOperands(Value tile, Value panel) {
    Indices first = tileIndex(tile);
    first[1].base = c.mul(panel, tileN);
    for (int64_t y = 0; y < size; ++y)
      for (int64_t x = 0; x < size; ++x) {
        Indices index = first;
        index[2].base = c.add(first[2].base, y), index[3].base = c.add(first[3].base, x);
        k.prefetchOperands(index, 1, tileN);
      }
  }

  void transformOutput(Value slot, Value tile, Value panel) {
    prefetchOperands(tile, panel);
    RegisterTile registers{e, element, tileN, 1, 1, 0, weight.pointer, element};
    for (int64_t column = 0; int64_t lanes : registers.piecesOf(tileN)) {
      SmallVector<Value> products;
      for (int64_t p = 0; p < positions; ++p)
        products.push_back(
            c.load(k.scratch, c.add(c.mul(c.add(slot, p * taskTiles), tileN), productsAt + column), element, lanes));
      for (auto [i, pixel] : llvm::enumerate(fromBothSides(c, winograd::outputTransform(size), products)))
        c.store(pixel, k.scratch, c.i64(pixelsAt + i * tileN + column), element);
      column += lanes;
    }
    // Tiles at the border have fewer pixels, the last panel fewer columns.
    Indices first = tileIndex(tile);
    auto extent = [&](int64_t d) { return c.min(c.i64(size), c.sub(c.expr(sizesOf(type)[d]), first[d].base)); };
    Value firstColumn = c.mul(panel, tileN), width = c.min(c.i64(tileN), c.sub(c.i64(columns), firstColumn));
    if (columns % tileN == 0)
      width = c.i64(tileN);
    Value across = extent(3);
    c.loop(c.i64(0), extent(2), 1, [&](Value y) {
      c.loop(c.i64(0), across, 1, [&](Value x) {
        Indices index = first;
        index[2].base = c.add(first[2].base, y), index[3].base = c.add(first[3].base, x);
        Value pixel = c.add(c.mul(c.add(c.mul(y, size), x), tileN), pixelsAt);
        vectorLoop(c, c.i64(0), width, e.target.lanes(32), e.target.lanes(32), [&](Value column, int64_t lanes) {
          index[1] = {c.add(firstColumn, column), lanes > 1 ? 1 : 0};
          Value sums = c.load(k.scratch, c.add(pixel, column), element, lanes);
          if (!isa<NoneType>(op.getBias().getType()))
            sums = arith::AddFOp::create(c.b, c.loc, sums, e.element(op.getBias(), index[1], lanes));
          k.storeAnchor(index, sums, lanes);
        });
      });
    });
  }

  KernelBody &k;
  const WinogradSchedule &schedule;
  Emitter &e;
  Code &c;
  WinogradConvOp op;
  const Buffer &input, &weight;
  RankedTensorType type;
  Type element;
  int64_t size, positions, tileM, tileN, taskTiles, channels, groupChannels, columns, positionSize = 0;
  int64_t productsAt = 0, pixelsAt = 0;
  SmallVector<Loop> image;
};

} // namespace

Grid emitWinograd(KernelBody &k, const WinogradSchedule &schedule) { return WinogradConvolution(k, schedule).emit(); }

} // namespace fathom
