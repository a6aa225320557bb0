// Matrix products and convolutions: a register tile of rows (pixels) by columns (channels), with the fused consumers
// applied to the tile after the last block of the reduction. Weights come packed in panels of columns. The left operand
// is read in place, or packed block by block into scratch, where fused producers are computed on the way.
#include "compiler/codegen/cpu/Contract.h"
#include "compiler/graph/SizeMath.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static AffineExpr simplify(AffineExpr expr) { return graph::size::simplified(expr); }

// A buffer of bytes in units of quads along a dimension, in which its elements follow each other.
static Buffer inQuads(Buffer bytes, int64_t dim) {
  auto quads = [](AffineExpr count) { return simplify(count.floorDiv(bytesOfQuad)); };
  Layout &layout = bytes.layout;
  for (int64_t d = 0; d < int64_t(layout.strides.size()); ++d)
    if (d != dim)
      layout.strides[d] = quads(layout.strides[d]);
  layout.sizes[dim] = quads(layout.sizes[dim]);
  layout.offset = quads(layout.offset), layout.elements = quads(layout.elements);
  bytes.type = RankedTensorType::get(bytes.type.getShape(), IntegerType::get(bytes.type.getContext(), 32),
                                     bytes.type.getEncoding());
  return bytes;
}

// The left operand as the loops count it.
static Buffer leftBuffer(KernelBody &k, Operation *op) {
  Value lhs = op->getOperand(0);
  Buffer buffer = operandBuffer(k, lhs);
  return quadsOf(op) ? inQuads(buffer, isa<ConvOp>(op) ? 1 : buffer.type.getRank() - 1) : buffer;
}

Contraction::Contraction(KernelBody &k, const ContractSchedule &schedule)
    : k(k), schedule(schedule), e(k.e), c(k.e.c), op(k.anchor), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
      type(cast<RankedTensorType>(op->getResult(0).getType())), quads(quadsOf(op)), left(leftBuffer(k, op)),
      right(k.e.buffer(rhs)), leftType(left.type.getElementType()), rightType(right.type.getElementType()),
      packed(schedule.packed) {
  Type element = type.getElementType();
  bool half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  acc = half ? Type(c.b.getF32Type()) : registerType(element);
  lanes = e.target.lanes(acc.getIntOrFloatBitWidth());
  tileM = schedule.tileM;
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
  SmallVector<const Layout *> merge;
  if (k.onlyElementwise()) {
    merge = k.alignedLayouts();
    merge.push_back(&left.layout);
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
  SmallVector<const Layout *> merge;
  if (pointwise && k.onlyElementwise()) {
    merge = k.alignedLayouts();
    merge.push_back(&left.layout);
  }
  rowLoops = loopsOver(type, merge, {channel});
}

RegisterTile Contraction::registers() {
  RegisterTile tile{e, acc, tileN, schedule.unrollK, schedule.inFlight, schedule.loadAhead, right.pointer, rightType};
  tile.quads = quads;
  return tile;
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
  if (!schedule.fetchAhead)
    return {};
  int64_t rows = std::min(schedule.taskM, constantSize(iterations(rowLoops, k.context())).value_or(INT64_MAX));
  Value tile = c.div(c.sub(row, rowLow), c.i64(tileM));
  Value next = c.add(panelStart, c.expr(right.layout.blockStride));
  return shareOfPanel(c, next, tile, llvm::divideCeil(rows, tileM), depth, tileN);
}

Value Contraction::panelStart(Value panel) { return c.add(c.mul(panel, c.expr(right.layout.blockStride)), batchRight); }

SmallVector<Value> Contraction::firstSums(int64_t rows, ArrayRef<int64_t> pieces, Value panel) {
  return startsWithBias ? registers().firstSums(bias, c.mul(panel, tileN), rows, pieces)
                        : registers().zeros(rows, pieces);
}

SmallVector<Value> Contraction::multiply(Value row, ArrayRef<Value> starts, bool apart, ArrayRef<int64_t> stored,
                                         ArrayRef<Value> panels) {
  RegisterTile tile = registers();
  tile.rowsApart = apart && !e.target.multipliesByLane();
  SmallVector<int64_t> pieces = tile.wholePieces(stored);
  int64_t rows = starts.size() * panels.size();
  int64_t sets = tile.setsFor(rows * pieces.size(), constantSize(run));
  Value length = c.expr(run), steps = length;
  for (const Tap &tap : taps)
    steps = c.mul(steps, tap.count);
  // Several panels are as many streams, which the hardware follows from one tile to the next.
  Ahead ahead = panels.size() == 1 ? nextPanel(row, panelStart(panels[0]), steps) : Ahead();
  SmallVector<Value> first;
  for (Value panel : panels)
    llvm::append_range(first, tile.resized(firstSums(starts.size(), stored, panel), pieces));
  llvm::append_range(first, tile.zeros(rows * (sets - 1), pieces));
  std::function<SmallVector<Value>(size_t, Value, Value, SmallVector<Value>)> nest =
      [&](size_t depth, Value offset, Value position, SmallVector<Value> carried) -> SmallVector<Value> {
    if (depth < taps.size()) {
      // Steps of a single tap; runs of unknown length are in blocks themselves.
      int64_t below = constantSize(run).value_or(INT32_MAX);
      for (const Tap &tap : ArrayRef(taps).drop_front(depth + 1))
        below *= tap.count;
      auto overTaps = [&](Value from, Value to, ValueRange sums) {
        return c.loop(from, to, 1, sums, [&](Value iv, ValueRange values) {
          return nest(depth + 1, c.add(offset, c.mul(iv, c.expr(taps[depth].stride))),
                      c.add(c.mul(position, taps[depth].count), iv), llvm::to_vector(values));
        });
      };
      return tile.inBlocks(c.i64(taps[depth].count), below, carried, overTaps, 1, sets);
    }
    SmallVector<Value> moved, panelRows;
    for (Value start : starts)
      moved.push_back(c.add(start, offset));
    Value before = c.mul(position, length);
    Ahead part = ahead.perStep ? Ahead{c.add(ahead.start, c.mul(before, ahead.perStep)), ahead.perStep} : Ahead();
    for (Value panel : panels)
      panelRows.push_back(c.add(panelStart(panel), c.mul(before, tileN)));
    return tile.multiply(left.pointer, leftType, moved, panelRows, length, pieces, sets, part, carried);
  };
  return tile.resized(tile.joinSets(nest(0, c.i64(0), c.i64(0), first), sets), stored);
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
    SmallVector<Value> sums = multiply(row, starts, !together && rowLoops.size() > 1, pieces, panels);
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
  SmallVector<Value> first = firstSums(rows, pieces, panel);
  c.when(isLast, [&] { prefetchOperands(rowIndices, panel, count); });
  bool isOnly = Code::constant(isFirst) == 1;
  SmallVector<Value> sums = multiplyPacked(row, rows, pieces, panel, isOnly ? first : registers().zeros(rows, pieces));
  if (!isOnly) {
    // A block is added as a whole: the chain of its sums does not go on with those before.
    auto branch = scf::IfOp::create(c.b, c.loc, ValueRange(sums).getTypes(), isFirst, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(c.b, c.loc, startsWithBias ? registers().added(first, sums) : sums);
      c.b.setInsertionPointToStart(branch.elseBlock());
      SmallVector<Value> partial(sums.size());
      eachPiece([&](size_t i, const Indices &index, int64_t n) { partial[i] = e.load(k.outputs[0], index, n); });
      scf::YieldOp::create(c.b, c.loc, registers().added(partial, sums));
    }
    sums = SmallVector<Value>(branch.getResults());
  }
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
  if (int64_t streams = schedule.streams; streams > 1) {
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
  AffineExpr rows = iterations(rowLoops, k.context());
  AffineExpr panels = simplify(columns.ceilDiv(tileN));
  int64_t taskM = schedule.taskM, taskN = schedule.taskN;
  AffineExpr rowTasks = simplify(rows.ceilDiv(taskM)), panelTasks = simplify(panels.ceilDiv(taskN));
  SmallVector<Loop> batchLoops;
  for (int64_t d : batch)
    batchLoops.push_back({d, sizesOf(type)[d]});
  AffineExpr batches = iterations(batchLoops, k.context());
  // Tasks of the same rows pack them together. Rows in place pass the same panels, one block of rows after another.
  Value rowTask, batchTask;
  Range panelTask;
  if (packed) {
    TaskGroup group = k.taskGroup(grid, simplify(batches * rowTasks), *constantSize(panelTasks));
    rowTask = c.rem(group.index, c.expr(rowTasks)), batchTask = c.div(group.index, c.expr(rowTasks));
    panelTask = group.tasks;
  } else {
    grid.tasks = simplify(batches * rowTasks * panelTasks);
    Value rest = c.div(k.task, c.expr(rowTasks)), which = c.rem(rest, c.expr(panelTasks));
    rowTask = c.rem(k.task, c.expr(rowTasks)), batchTask = c.div(rest, c.expr(panelTasks));
    panelTask = {which, c.add(which, 1)};
  }
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
  Value panelLow = c.mul(panelTask.first, taskN), panelHigh = c.min(c.mul(panelTask.second, taskN), c.expr(panels));
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
  throughScratch = schedule.throughScratch;
  int64_t tileBytes = throughScratch || !tailColumns ? tileM * tileN * elementBytes(acc) : 0;
  grid.scratchBytes = tileBytes;
  auto overTiles = [&] {
    Value full = c.sub(rowHigh, c.rem(c.sub(rowHigh, rowLow), c.i64(tileM)));
    if (!schedule.rowsOuter)
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
  blockK = std::min(schedule.blockK, constantSize(run).value_or(INT64_MAX));
  packedRow = blockK + schedule.rowApart;
  int64_t packedBytes = llvm::alignTo(llvm::alignTo(taskM, tileM) * packedRow * elementBytes(leftType), lineBytes);
  grid.scratchBytes = packedBytes + tileBytes;
  tileAt = packedBytes / elementBytes(acc);
  emitPacked(overTiles);
  return grid;
}

Grid emitContract(KernelBody &k, const ContractSchedule &schedule) { return Contraction(k, schedule).emit(); }

} // namespace fathom
