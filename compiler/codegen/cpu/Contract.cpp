// Matrix products and convolutions: a register tile of rows (pixels) by columns (channels), with the fused consumers
// applied to the tile after the last block of the reduction. Weights come packed in panels of columns. The left operand
// is read in place, or packed block by block into scratch, where fused producers are computed on the way.
#include "compiler/codegen/cpu/Kernels.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/graph/SizeMath.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Vectors of a row that are packed together: producers are chains of dependent operations.
constexpr int64_t packedTogether = 2;

AffineExpr simplify(AffineExpr expr) { return graph::size::simplified(expr); }
Type scalarOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

// One step of the reduction's outer loops: how often, and how far the left operand moves each time.
struct Tap {
  int64_t count;
  AffineExpr stride;
};

// The left operand's buffer; a fused producer's result has none, only the layout that it would have.
Buffer leftBuffer(KernelBody &k, Value lhs) {
  if (k.e.isBuffer(lhs))
    return k.e.buffer(lhs);
  auto type = cast<RankedTensorType>(lhs.getType());
  return {Value(), type, layoutOf(type)};
}

class Contraction {
public:
  explicit Contraction(KernelBody &k);
  Grid emit();

private:
  void describeMatMul(MatMulOp op);
  void describeConv(ConvOp op);
  // The element of the left operand where row `index` (of the result) starts its reduction.
  Value rowStart(ArrayRef<Index> index, Value panel);
  // Panels that are multiplied together, and how many columns each has where that is known.
  using PanelBody = llvm::function_ref<void(ArrayRef<Value> panels, std::optional<int64_t> columns)>;
  void overPanels(Value low, Value high, PanelBody body);
  void tailRows(Value row, ArrayRef<Value> panels, std::optional<int64_t> columns);
  void tile(Value row, int64_t rows, ArrayRef<Value> panels, std::optional<int64_t> columns);
  void prefetchOperands(ArrayRef<Indices> rowIndices, Value panel, std::optional<int64_t> count);
  void finishTile(Value row, ArrayRef<Indices> rowIndices, Value panel, std::optional<int64_t> columns,
                  ValueRange sums);
  RegisterTile registers();
  Value panelStart(Value panel);
  Ahead nextPanel(Value row, Value panelStart, Value depth);
  SmallVector<Value> firstSums(int64_t rows, ArrayRef<int64_t> pieces, Value panel);
  SmallVector<Value> multiply(Value row, ArrayRef<Value> starts, ArrayRef<int64_t> pieces, ArrayRef<Value> panels);
  SmallVector<Value> multiplyPacked(Value row, int64_t rows, ArrayRef<int64_t> pieces, Value panel, ValueRange sums);
  void emitPacked(llvm::function_ref<void()> overTiles);
  void packRows();
  Value leftVector(ArrayRef<Index> index, Value start, Value depth, int64_t count);
  void storeTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators, Value firstColumn);
  void storeSharedTail(ArrayRef<Indices> rowIndices, ValueRange accumulators, Value firstColumn);
  void storeThroughScratch(Value row, int64_t rows, ArrayRef<int64_t> pieces, ValueRange accumulators,
                           Value firstColumn, Value width);
  void storeElement(ArrayRef<Index> index, Value value, int64_t lanes);

  KernelBody &k;
  Emitter &e;
  Code &c;
  Operation *op;
  Value lhs, rhs, bias;  // the last is null where there is none
  RankedTensorType type; // of the anchor's result
  const Buffer left;
  const Buffer &right;
  int64_t channel = 0;        // the result's dimension that columns run along
  SmallVector<int64_t> batch; // result dimensions with their own right operand
  SmallVector<Tap> taps;
  AffineExpr run;               // contiguous part of the reduction
  AffineExpr columns;           // all of them
  int64_t groupColumns = 0;     // columns of a group, 0 without groups
  int64_t groupDepth = 0;       // left channels of a group
  std::optional<Window> window; // convolutions
  SmallVector<Loop> rowLoops;
  Type acc;
  Value batchLeft, batchRight; // offsets of the current batch
  Indices batchIndex;
  Value rowLow, rowHigh; // the task's rows
  Value fullPanels;
  std::optional<int64_t> tailColumns; // of the last panel, 0 where it is full
  // The columns of the last panel where it shares the code of full ones, because it takes as many vectors: only the
  // stores differ. What lies behind its columns is computed with, never stored.
  std::optional<int64_t> sharedTail;
  int64_t tileM, tileN, lanes;
  bool throughScratch = false;
  bool startsWithBias = false; // sums begin with it; else it is added at the end
  int64_t tileAt = 0;          // where in scratch a tile lies on its way
  // While the left operand is packed: the current block of the reduction, and whether it is the first or the last.
  bool packed;
  int64_t blockK = 0;
  Value blockStart, blockLength, blockTaps, blockOffset, isFirst, isLast;
};

Contraction::Contraction(KernelBody &k)
    : k(k), e(k.e), c(k.e.c), op(k.anchor), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
      type(cast<RankedTensorType>(op->getResult(0).getType())), left(leftBuffer(k, lhs)), right(k.e.buffer(rhs)),
      packed(k.schedule["pack_a"]) {
  Type element = type.getElementType();
  bool half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  acc = half ? Type(c.b.getF32Type()) : registerType(element);
  lanes = e.target.lanes(acc.getIntOrFloatBitWidth());
  tileM = k.schedule["tile_m"];
  tileN = right.layout.block;
  if (auto matmul = dyn_cast<MatMulOp>(op))
    describeMatMul(matmul);
  else
    describeConv(cast<ConvOp>(op));
}

void Contraction::describeMatMul(MatMulOp op) {
  int64_t rank = type.getRank(), rightRank = right.type.getRank();
  channel = rank - 1;
  run = sizesOf(rhs)[rightRank - 2];
  columns = sizesOf(type)[channel];
  for (int64_t d = 0; d + 2 < rightRank; ++d)
    if (!isConstant(right.layout.sizes[d], 1))
      for (int64_t i = batch.size(); i < rank - 2; ++i)
        batch.push_back(i);
  SmallVector<int64_t> without{channel};
  llvm::append_range(without, batch);
  SmallVector<const Buffer *> merge;
  if (k.onlyElementwise()) {
    merge = k.alignedBuffers();
    merge.push_back(&left);
  }
  rowLoops = loopsOver(type, merge, without);
}

void Contraction::describeConv(ConvOp op) {
  if (!isa<NoneType>(op.getBias().getType()))
    bias = op.getBias();
  window = *getWindow(op);
  int64_t spatial = window->kernel.size(), group = op.getGroup();
  channel = 1;
  columns = sizesOf(type)[1];
  AffineExpr depth = sizesOf(rhs)[1];
  if (group > 1)
    groupColumns = *constantSize(columns) / group, groupDepth = *constantSize(depth);
  // The last kernel dimension and the channels form one contiguous run if nothing lies between neighbouring pixels.
  bool contiguous = group == 1 && window->dilations.back() == 1 && left.layout.strides[2 + spatial - 1] == depth;
  run = contiguous ? simplify(depth * window->kernel.back()) : depth;
  for (int64_t d = 0; d < spatial - (contiguous ? 1 : 0); ++d)
    taps.push_back({window->kernel[d], simplify(left.layout.strides[2 + d] * window->dilations[d])});
  bool pointwise = llvm::all_of(llvm::seq<int64_t>(0, spatial), [&](int64_t d) {
    return window->kernel[d] == 1 && window->strides[d] == 1 && window->padsBegin[d] == 0 && window->padsEnd[d] == 0;
  });
  SmallVector<const Buffer *> merge;
  if (pointwise && k.onlyElementwise()) {
    merge = k.alignedBuffers();
    merge.push_back(&left);
  }
  rowLoops = loopsOver(type, merge, {channel});
}

RegisterTile Contraction::registers() {
  return {e, acc, tileN, k.schedule["unroll_k"], k.schedule["in_flight"], right.pointer, scalarOf(rhs)};
}

Value Contraction::rowStart(ArrayRef<Index> index, Value panel) {
  Value at = c.add(c.expr(left.layout.offset), batchLeft);
  if (!window) {
    int64_t skip = type.getRank() - left.type.getRank();
    for (const Loop &loop : rowLoops)
      if (loop.dim >= skip && !isConstant(left.layout.sizes[loop.dim - skip], 1))
        at = c.add(at, c.mul(index[loop.dim].base, c.expr(left.layout.strides[loop.dim - skip])));
    return at;
  }
  for (const Loop &loop : rowLoops) {
    Value position = index[loop.dim].base;
    if (loop.dim >= 2)
      position = c.mul(position, window->strides[loop.dim - 2]);
    at = c.add(at, c.mul(position, c.expr(left.layout.strides[loop.dim])));
  }
  // The window begins in the halo.
  for (auto [d, pad] : llvm::enumerate(window->padsBegin))
    at = c.sub(at, c.mul(c.expr(left.layout.strides[2 + d]), pad));
  if (groupColumns)
    at = c.add(at, c.mul(c.div(c.mul(panel, tileN), c.i64(groupColumns)), groupDepth));
  return at;
}

// The share of a tile of rows in fetching the next panel, where the schedule says so, while all tiles of the task pass
// the current one: weights come from memory, and the hardware does not know where the next panel of this block lies.
Ahead Contraction::nextPanel(Value row, Value panelStart, Value depth) {
  if (!k.schedule["fetch_ahead"])
    return {};
  int64_t rows = std::min(k.schedule["task_m"], constantSize(iterations(rowLoops, k.context())).value_or(INT64_MAX));
  int64_t tiles = llvm::divideCeil(rows, tileM), perStep = llvm::divideCeil(tileN, tiles);
  Value tile = c.div(c.sub(row, rowLow), c.i64(tileM));
  Value next = c.add(panelStart, c.expr(right.layout.blockStride));
  return {c.add(next, c.mul(c.mul(tile, depth), perStep)), perStep};
}

Value Contraction::panelStart(Value panel) { return c.add(c.mul(panel, c.expr(right.layout.blockStride)), batchRight); }

SmallVector<Value> Contraction::firstSums(int64_t rows, ArrayRef<int64_t> pieces, Value panel) {
  return startsWithBias ? registers().firstSums(bias, c.mul(panel, tileN), rows, pieces)
                        : registers().zeros(rows, pieces);
}

SmallVector<Value> Contraction::multiply(Value row, ArrayRef<Value> starts, ArrayRef<int64_t> pieces,
                                         ArrayRef<Value> panels) {
  RegisterTile tile = registers();
  int64_t rows = starts.size() * panels.size();
  int64_t sets = tile.setsFor(rows * pieces.size(), constantSize(run));
  Value length = c.expr(run), steps = length;
  for (const Tap &tap : taps)
    steps = c.mul(steps, tap.count);
  // Several panels are as many streams, which the hardware follows from one tile to the next.
  Ahead ahead = panels.size() == 1 ? nextPanel(row, panelStart(panels[0]), steps) : Ahead();
  SmallVector<Value> first;
  for (Value panel : panels)
    llvm::append_range(first, firstSums(starts.size(), pieces, panel));
  llvm::append_range(first, tile.zeros(rows * (sets - 1), pieces));
  std::function<SmallVector<Value>(size_t, Value, Value, SmallVector<Value>)> nest =
      [&](size_t depth, Value offset, Value position, SmallVector<Value> carried) -> SmallVector<Value> {
    if (depth < taps.size())
      return c.loop(c.i64(0), c.i64(taps[depth].count), 1, carried, [&](Value iv, ValueRange values) {
        return nest(depth + 1, c.add(offset, c.mul(iv, c.expr(taps[depth].stride))),
                    c.add(c.mul(position, taps[depth].count), iv), llvm::to_vector(values));
      });
    SmallVector<Value> moved, panelRows;
    for (Value start : starts)
      moved.push_back(c.add(start, offset));
    Value before = c.mul(position, length);
    Ahead part = ahead.perStep ? Ahead{c.add(ahead.start, c.mul(before, ahead.perStep)), ahead.perStep} : Ahead();
    for (Value panel : panels)
      panelRows.push_back(c.add(panelStart(panel), c.mul(before, tileN)));
    return tile.multiply(left.pointer, scalarOf(lhs), moved, panelRows, length, pieces, sets, part, carried);
  };
  return tile.joinSets(nest(0, c.i64(0), c.i64(0), first), sets);
}

// The same on a packed block: tiles of rows, each with the rows' elements side by side for every step of the reduction
// where a vector of them holds as many factors, else row by row.
SmallVector<Value> Contraction::multiplyPacked(Value row, int64_t rows, ArrayRef<int64_t> pieces, Value panel,
                                               ValueRange sums) {
  RegisterTile tile = registers();
  Value block = c.add(panelStart(panel), c.mul(blockStart, tileN)), before = c.sub(row, rowLow);
  Ahead ahead = nextPanel(row, block, c.i64(blockK));
  int64_t sets = tile.setsFor(sums.size(), constantSize(run));
  SmallVector<Value> first = llvm::to_vector(sums);
  llvm::append_range(first, tile.zeros(rows * (sets - 1), pieces));
  if (!e.target.laneFma) {
    SmallVector<Value> starts;
    for (int64_t r = 0; r < rows; ++r)
      starts.push_back(c.mul(c.add(before, r), blockK));
    return tile.joinSets(
        tile.multiply(k.scratch, scalarOf(lhs), starts, block, blockLength, pieces, sets, ahead, first), sets);
  }
  // A tail may start inside a packed tile.
  Value within = c.rem(before, c.i64(tileM));
  Value tileStart = c.add(c.mul(c.sub(before, within), blockK), within);
  return tile.joinSets(tile.multiplyPacked(k.scratch, scalarOf(lhs), tileStart, tileM, rows, block, blockLength, pieces,
                                           sets, ahead, first),
                       sets);
}

// `count` neighbouring elements of a row of the left operand: from its buffer, or computed by the fused producers.
Value Contraction::leftVector(ArrayRef<Index> index, Value start, Value depth, int64_t count) {
  if (left.pointer)
    return c.load(left.pointer, c.add(c.add(start, blockOffset), depth), scalarOf(lhs), count);
  Indices at = e.broadcast(left.type, index);
  at[window ? 1 : at.size() - 1] = {depth, count > 1 ? 1 : 0};
  return e.element(lhs, at, count);
}

// Packs the task's rows of the current block. Rows past the end repeat the last one: they are computed with, never
// stored.
void Contraction::packRows() {
  Type element = scalarOf(lhs);
  Value last = c.sub(rowHigh, c.i64(1)), depthStart = c.rem(blockStart, c.expr(run));
  if (!e.target.laneFma)
    return c.loop(rowLow, rowHigh, 1, [&](Value row) {
      Indices index = batchIndex;
      delinearize(c, row, rowLoops, index);
      Value start = left.pointer ? rowStart(index, c.i64(0)) : Value(), at = c.mul(c.sub(row, rowLow), blockK);
      vectorLoop(c, c.i64(0), blockLength, packedTogether * lanes, lanes, [&](Value depth, int64_t count) {
        c.store(leftVector(index, start, c.add(depthStart, depth), count), k.scratch, c.add(at, depth), element);
      });
    });
  c.loop(rowLow, rowHigh, tileM, [&](Value row) {
    SmallVector<Indices> indices;
    SmallVector<Value> starts;
    for (int64_t r = 0; r < tileM; ++r) {
      Indices index = batchIndex;
      delinearize(c, c.min(c.add(row, r), last), rowLoops, index);
      starts.push_back(left.pointer ? rowStart(index, c.i64(0)) : Value());
      indices.push_back(index);
    }
    Value tileStart = c.mul(c.sub(row, rowLow), blockK);
    auto scalars = [&](Value depth) {
      for (int64_t r = 0; r < tileM; ++r)
        c.store(leftVector(indices[r], starts[r], c.add(depthStart, depth), 1), k.scratch,
                c.add(tileStart, c.add(c.mul(depth, tileM), r)), element);
    };
    // Four rows at a time are transposed in registers.
    bool transposes = lanes == 4 && tileM % 4 == 0;
    Value tail = transposes ? c.sub(blockLength, c.rem(blockLength, c.i64(4))) : c.i64(0);
    if (transposes)
      c.loop(c.i64(0), tail, 4, [&](Value depth) {
        for (int64_t r = 0; r < tileM; r += 4) {
          SmallVector<Value> v;
          for (int64_t i = 0; i < 4; ++i)
            v.push_back(leftVector(indices[r + i], starts[r + i], c.add(depthStart, depth), 4));
          SmallVector<Value> columns = transposeFour(c, v);
          for (int64_t u = 0; u < 4; ++u)
            c.store(columns[u], k.scratch, c.add(tileStart, c.add(c.mul(c.add(depth, u), tileM), r)), element);
        }
      });
    c.loop(tail, blockLength, 1, scalars);
  });
}

// Blocks of the reduction, outermost: each packs its part of the rows and adds to the partial sums in the result's
// buffer.
void Contraction::emitPacked(llvm::function_ref<void()> overTiles) {
  Value length = c.expr(run);
  int64_t tapCount = 1;
  for (const Tap &tap : taps)
    tapCount *= tap.count;
  c.loop(c.i64(0), c.i64(tapCount), 1, [&](Value tap) {
    blockOffset = c.i64(0);
    Value rest = tap;
    for (const Tap &t : llvm::reverse(taps)) {
      blockOffset = c.add(blockOffset, c.mul(c.rem(rest, c.i64(t.count)), c.expr(t.stride)));
      rest = c.div(rest, c.i64(t.count));
    }
    c.loop(c.i64(0), length, blockK, [&](Value depth) {
      blockStart = c.add(c.mul(tap, length), depth);
      blockLength = c.min(c.i64(blockK), c.sub(length, depth));
      isFirst = c.cmp(arith::CmpIPredicate::eq, blockStart, c.i64(0));
      isLast = c.cmp(arith::CmpIPredicate::eq, c.add(blockStart, blockLength), c.mul(length, tapCount));
      packRows();
      overTiles();
    });
  });
}

void Contraction::storeElement(ArrayRef<Index> index, Value value, int64_t count) {
  if (bias && !startsWithBias)
    value =
        isa<FloatType>(acc)
            ? Value(arith::AddFOp::create(c.b, c.loc, value, registers().widen(e.element(bias, index[channel], count))))
            : Value(arith::AddIOp::create(c.b, c.loc, value, e.element(bias, index[channel], count)));
  Type element = type.getElementType();
  if (registerType(element) != acc)
    value = arith::TruncFOp::create(c.b, c.loc, vectorType(element, count), value);
  k.storeAnchor(index, value, count);
}

void Contraction::storeTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators,
                            Value firstColumn) {
  for (size_t r = 0; r < rowIndices.size(); ++r) {
    int64_t column = 0;
    for (size_t p = 0; p < pieces.size(); ++p) {
      Indices index = rowIndices[r];
      index[channel] = {c.add(firstColumn, column), pieces[p] > 1 ? 1 : 0};
      storeElement(index, accumulators[r * pieces.size() + p], pieces[p]);
      column += pieces[p];
    }
  }
}

// The tile goes through scratch, and its consumers are computed from there: they have all registers to themselves, and
// how many columns count may be known at run time only.
void Contraction::storeThroughScratch(Value row, int64_t rows, ArrayRef<int64_t> pieces, ValueRange accumulators,
                                      Value firstColumn, Value width) {
  for (int64_t r = 0; r < rows; ++r)
    for (size_t p = 0, column = 0; p < pieces.size(); column += pieces[p++])
      c.store(accumulators[r * pieces.size() + p], k.scratch, c.i64(tileAt + r * tileN + column), acc);
  auto storeRow = [&](Value r) {
    Indices index = batchIndex;
    delinearize(c, c.add(row, r), rowLoops, index);
    vectorLoop(c, c.i64(0), width, llvm::bit_floor(uint64_t(tileN)), lanes, [&](Value column, int64_t count) {
      index[channel] = {c.add(firstColumn, column), count > 1 ? 1 : 0};
      storeElement(index, c.load(k.scratch, c.add(c.add(c.mul(r, tileN), column), tileAt), acc, count), count);
    });
  };
  // Several vectors at a time: each is one long chain of dependent operations.
  int64_t together = std::clamp<int64_t>(llvm::divideCeil(8 * lanes, tileN), 1, rows), whole = rows - rows % together;
  c.loop(c.i64(0), c.i64(whole), together, [&](Value r) {
    for (int64_t i = 0; i < together; ++i)
      storeRow(c.add(r, i));
  });
  for (int64_t r = whole; r < rows; ++r)
    storeRow(c.i64(r));
}

// The first of a panel's columns, where it is the last one and has no more.
void Contraction::storeSharedTail(ArrayRef<Indices> rowIndices, ValueRange accumulators, Value firstColumn) {
  SmallVector<int64_t> pieces = registers().piecesOf(*sharedTail);
  SmallVector<Value> narrow(accumulators);
  for (size_t i = pieces.size() - 1; i < narrow.size(); i += pieces.size()) {
    auto type = dyn_cast<VectorType>(narrow[i].getType());
    if (!type || type.getNumElements() == pieces.back())
      continue;
    if (pieces.back() == 1)
      narrow[i] = c.extract(narrow[i], 0);
    else
      narrow[i] = vector::ShuffleOp::create(c.b, c.loc, narrow[i], narrow[i],
                                            llvm::to_vector(llvm::seq<int64_t>(0, pieces.back())));
  }
  storeTile(rowIndices, pieces, narrow, firstColumn);
}

// What the consumers of a tile read arrives while the tile is computed.
void Contraction::prefetchOperands(ArrayRef<Indices> rowIndices, Value panel, std::optional<int64_t> count) {
  for (Indices index : rowIndices) {
    index[channel] = {c.mul(panel, tileN)};
    k.prefetchOperands(index, channel, count.value_or(tileN));
  }
}

// Applies the fused consumers to a tile of one panel.
void Contraction::finishTile(Value row, ArrayRef<Indices> rowIndices, Value panel, std::optional<int64_t> count,
                             ValueRange sums) {
  SmallVector<int64_t> pieces = registers().piecesOf(count.value_or(tileN));
  Value firstColumn = c.mul(panel, tileN);
  if (throughScratch || !count) {
    Value width = count && !sharedTail ? c.i64(*count) : c.min(c.i64(tileN), c.sub(c.expr(columns), firstColumn));
    return storeThroughScratch(row, rowIndices.size(), pieces, sums, firstColumn, width);
  }
  if (!sharedTail)
    return storeTile(rowIndices, pieces, sums, firstColumn);
  Value isFull = c.cmp(arith::CmpIPredicate::slt, panel, fullPanels);
  scf::IfOp::create(
      c.b, c.loc, isFull,
      [&](OpBuilder &, Location) {
        storeTile(rowIndices, pieces, sums, firstColumn);
        scf::YieldOp::create(c.b, c.loc);
      },
      [&](OpBuilder &, Location) {
        storeSharedTail(rowIndices, sums, firstColumn);
        scf::YieldOp::create(c.b, c.loc);
      });
}

void Contraction::tile(Value row, int64_t rows, ArrayRef<Value> panels, std::optional<int64_t> count) {
  SmallVector<int64_t> pieces = registers().piecesOf(count.value_or(tileN));
  // Tiles start at multiples of their height: where that divides the innermost loop, a tile never leaves it.
  bool together = !rowLoops.empty() && rows == tileM && constantSize(rowLoops.back().size).value_or(1) % tileM == 0;
  SmallVector<Indices> rowIndices;
  for (int64_t r = 0; r < rows; ++r) {
    Indices index = together && r ? rowIndices[0] : batchIndex;
    if (together && r)
      index[rowLoops.back().dim].base = c.add(index[rowLoops.back().dim].base, r);
    else
      delinearize(c, c.add(row, r), rowLoops, index);
    rowIndices.push_back(index);
  }
  if (!packed) {
    SmallVector<Value> starts;
    for (const Indices &index : rowIndices)
      starts.push_back(rowStart(index, panels[0]));
    for (Value panel : panels)
      prefetchOperands(rowIndices, panel, count);
    SmallVector<Value> sums = multiply(row, starts, pieces, panels);
    size_t each = sums.size() / panels.size();
    for (auto [i, panel] : llvm::enumerate(panels))
      finishTile(row, rowIndices, panel, count, ArrayRef(sums).slice(i * each, each));
    return;
  }
  Value panel = panels[0], firstColumn = c.mul(panel, tileN);
  // Partial sums wait in the result's buffer; the fused consumers see only the last.
  auto eachPiece = [&](llvm::function_ref<void(size_t, const Indices &, int64_t)> body) {
    for (size_t r = 0; r < rowIndices.size(); ++r)
      for (size_t p = 0, column = 0; p < pieces.size(); column += pieces[p++]) {
        Indices index = rowIndices[r];
        index[channel] = {c.add(firstColumn, column), pieces[p] > 1 ? 1 : 0};
        body(r * pieces.size() + p, index, pieces[p]);
      }
  };
  SmallVector<Value> sums = firstSums(rows, pieces, panel);
  if (Code::constant(isFirst) != 1) {
    auto branch = scf::IfOp::create(c.b, c.loc, ValueRange(sums).getTypes(), isFirst, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(c.b, c.loc, sums);
      c.b.setInsertionPointToStart(branch.elseBlock());
      SmallVector<Value> partial(sums.size());
      eachPiece([&](size_t i, const Indices &index, int64_t n) { partial[i] = e.load(k.outputs[0], index, n); });
      scf::YieldOp::create(c.b, c.loc, partial);
    }
    sums = SmallVector<Value>(branch.getResults());
  }
  c.when(isLast, [&] { prefetchOperands(rowIndices, panel, count); });
  sums = multiplyPacked(row, rows, pieces, panel, sums);
  if (Code::constant(isLast) == 1)
    return finishTile(row, rowIndices, panel, count, sums);
  scf::IfOp::create(
      c.b, c.loc, isLast,
      [&](OpBuilder &, Location) {
        finishTile(row, rowIndices, panel, count, sums);
        scf::YieldOp::create(c.b, c.loc);
      },
      [&](OpBuilder &, Location) {
        eachPiece([&](size_t i, const Indices &index, int64_t n) { e.store(k.outputs[0], index, sums[i], n); });
        scf::YieldOp::create(c.b, c.loc);
      });
}

// The task's rows from `row` on, fewer than a tile.
void Contraction::tailRows(Value row, ArrayRef<Value> panels, std::optional<int64_t> count) {
  AffineExpr rows = iterations(rowLoops, k.context());
  if (auto known = constantSize(rows)) {
    // Tasks start at multiples of the tile, so that only one remainder exists.
    if (int64_t rest = *known % tileM)
      c.when(c.cmp(arith::CmpIPredicate::slt, row, rowHigh), [&] { tile(row, rest, panels, count); });
    return;
  }
  // Tasks start at multiples of the tile, so that remainders have its divisors: pixels come in whole images.
  int64_t unit = std::gcd(rows.getLargestKnownDivisor(), tileM);
  if (unit == tileM)
    return;
  for (int64_t step = unit * llvm::bit_floor(uint64_t(tileM / unit - 1)); step >= unit; step /= 2)
    row = c.when(
        c.cmp(arith::CmpIPredicate::sle, c.add(row, step), rowHigh),
        [&] {
          tile(row, step, panels, count);
          return c.add(row, step);
        },
        [&] { return row; });
}

// The panels of a task. As many full ones as there are streams are read side by side, each from a part of the weights
// of its own: a unit of the tasks is a panel, and neighbouring units lie that far apart.
void Contraction::overPanels(Value low, Value high, PanelBody body) {
  if (int64_t streams = k.schedule["streams"]; streams > 1) {
    Value apart = c.div(fullPanels, c.i64(streams)), end = c.mul(apart, streams);
    c.loop(low, c.min(high, end), streams, [&](Value unit) {
      SmallVector<Value> panels{c.div(unit, c.i64(streams))};
      while (int64_t(panels.size()) < streams)
        panels.push_back(c.add(panels.back(), apart));
      body(panels, tileN);
    });
    low = c.max(low, end);
  }
  if (sharedTail)
    return c.loop(low, high, 1, [&](Value panel) { body(panel, tileN); });
  c.loop(low, c.min(high, fullPanels), 1, [&](Value panel) { body(panel, tileN); });
  if (tailColumns != 0)
    c.when(c.cmp(arith::CmpIPredicate::slt, fullPanels, high),
           [&] { c.when(c.cmp(arith::CmpIPredicate::sge, fullPanels, low), [&] { body(fullPanels, tailColumns); }); });
}

Grid Contraction::emit() {
  Grid grid;
  k.clearHalos();
  AffineExpr rows = iterations(rowLoops, k.context());
  AffineExpr panels = simplify(columns.ceilDiv(tileN));
  int64_t taskM = k.schedule["task_m"], taskN = k.schedule["task_n"];
  AffineExpr rowTasks = simplify(rows.ceilDiv(taskM)), panelTasks = simplify(panels.ceilDiv(taskN));
  SmallVector<Loop> batchLoops;
  for (int64_t d : batch)
    batchLoops.push_back({d, sizesOf(type)[d]});
  AffineExpr batches = iterations(batchLoops, k.context());
  grid.tasks = simplify(batches * rowTasks * panelTasks);

  Value rowTask = c.rem(k.task, c.expr(rowTasks)), rest = c.div(k.task, c.expr(rowTasks));
  Value panelTask = c.rem(rest, c.expr(panelTasks)), batchTask = c.div(rest, c.expr(panelTasks));
  batchIndex = e.zeros(type.getRank());
  batchLeft = batchRight = c.i64(0);
  delinearize(c, batchTask, batchLoops, batchIndex);
  for (int64_t d : batch) {
    auto offsetIn = [&](const Buffer &buffer) {
      int64_t at = d - (type.getRank() - buffer.type.getRank());
      bool fixed = at < 0 || isConstant(buffer.layout.sizes[at], 1);
      return fixed ? c.i64(0) : c.mul(batchIndex[d].base, c.expr(buffer.layout.strides[at]));
    };
    batchLeft = c.add(batchLeft, offsetIn(left));
    batchRight = c.add(batchRight, offsetIn(right));
  }

  rowLow = c.mul(rowTask, taskM);
  rowHigh = c.min(c.add(rowLow, taskM), c.expr(rows));
  Value panelLow = c.mul(panelTask, taskN), panelHigh = c.min(c.add(panelLow, taskN), c.expr(panels));
  fullPanels = c.expr(simplify(columns.floorDiv(tileN)));
  auto known = constantSize(columns);
  if (known)
    tailColumns = *known % tileN;
  bool isShared = !packed && tailColumns.value_or(0) && *known > tileN &&
                  llvm::divideCeil(*tailColumns, lanes) == llvm::divideCeil(tileN, lanes);
  if (isShared)
    sharedTail = tailColumns;
  // Behind the last column there is no bias.
  startsWithBias = bias && known && !isShared;
  throughScratch = k.schedule["through_scratch"];
  int64_t tileBytes = throughScratch || !tailColumns ? tileM * tileN * elementBytes(acc) : 0;
  grid.scratchBytes = tileBytes;
  auto overTiles = [&] {
    Value full = c.sub(rowHigh, c.rem(c.sub(rowHigh, rowLow), c.i64(tileM)));
    if (!k.schedule["rows_outer"])
      return overPanels(panelLow, panelHigh, [&](ArrayRef<Value> panels, std::optional<int64_t> count) {
        c.loop(rowLow, full, tileM, [&](Value row) { tile(row, tileM, panels, count); });
        tailRows(full, panels, count);
      });
    // The tile's rows stay in the first-level cache while the panels stream past.
    c.loop(rowLow, full, tileM, [&](Value row) {
      overPanels(panelLow, panelHigh,
                 [&](ArrayRef<Value> panels, std::optional<int64_t> count) { tile(row, tileM, panels, count); });
    });
    if (!isConstant(simplify(rows % tileM), 0))
      overPanels(panelLow, panelHigh,
                 [&](ArrayRef<Value> panels, std::optional<int64_t> count) { tailRows(full, panels, count); });
  };
  if (!packed) {
    overTiles();
    return grid;
  }
  blockK = std::min(k.schedule["block_k"], constantSize(run).value_or(INT64_MAX));
  int64_t packedBytes = llvm::alignTo(llvm::alignTo(taskM, tileM) * blockK * elementBytes(scalarOf(lhs)), 64);
  grid.scratchBytes = packedBytes + tileBytes;
  tileAt = packedBytes / elementBytes(acc);
  emitPacked(overTiles);
  return grid;
}

} // namespace

Grid emitContract(KernelBody &k) { return Contraction(k).emit(); }

} // namespace fathom
