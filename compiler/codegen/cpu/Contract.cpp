// Matrix products and convolutions: a register tile of rows (pixels) by columns (channels), accumulated over the whole reduction, with the
// fused consumers applied to the tile before it is stored. Weights come packed in panels of columns; the left operand is read in place.
#include "compiler/codegen/cpu/Kernels.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

AffineExpr simplify(AffineExpr expr) { return simplifyAffineExpr(expr, 0, 16); }
Type scalarOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

// One step of the reduction's outer loops: how often, and how far the left operand moves each time.
struct Tap {
  int64_t count;
  AffineExpr stride;
};

class Contraction {
public:
  explicit Contraction(KernelBody &k);
  Grid emit();

private:
  void describeMatMul(MatMulOp op);
  void describeConv(ConvOp op);
  // The element of the left operand where row `index` (of the result) starts its reduction.
  Value rowStart(ArrayRef<Index> index, Value panel);
  void panelRange(Value low, Value high, Value panel, std::optional<int64_t> columns);
  void tile(Value row, int64_t rows, Value panel, std::optional<int64_t> columns);
  SmallVector<Value> multiply(ArrayRef<Value> starts, ArrayRef<int64_t> pieces, Value panelStart);
  void storeTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators, Value firstColumn);
  void storePartialTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators, Value firstColumn, Value count);
  void storeElement(ArrayRef<Index> index, Value value, int64_t lanes);
  Value widen(Value x);
  Value fma(Value x, Value y, Value z);

  KernelBody &k;
  Emitter &e;
  Code &c;
  Operation *op;
  Value lhs, rhs, bias;
  RankedTensorType type; // of the anchor's result
  const Buffer &left, &right;
  int64_t channel = 0;          // the result's dimension that columns run along
  SmallVector<int64_t> batch;   // result dimensions with their own right operand
  SmallVector<Tap> taps;
  AffineExpr run;               // contiguous part of the reduction
  AffineExpr columns;           // all of them
  int64_t groupColumns = 0;     // columns of a group, 0 without groups
  int64_t groupDepth = 0;       // left channels of a group
  std::optional<Window> window; // convolutions
  SmallVector<Loop> rowLoops;
  Type acc;
  Value batchLeft, batchRight;  // offsets of the current batch
  Indices batchIndex;
  int64_t tileM, tileN, unrollK, lanes;
};

Contraction::Contraction(KernelBody &k)
    : k(k), e(k.e), c(k.e.c), op(k.anchor), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
      type(cast<RankedTensorType>(op->getResult(0).getType())), left(k.e.buffer(lhs)), right(k.e.buffer(rhs)) {
  Type element = type.getElementType();
  bool half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  acc = half ? Type(c.b.getF32Type()) : registerType(element);
  lanes = e.target.lanes(acc.getIntOrFloatBitWidth());
  tileM = k.schedule["tile_m"];
  tileN = right.layout.block;
  unrollK = k.schedule["unroll_k"];
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
  int64_t depth = *constantSize(sizesOf(rhs)[1]);
  if (group > 1)
    groupColumns = *constantSize(columns) / group, groupDepth = depth;
  // The last kernel dimension and the channels form one contiguous run if nothing lies between neighbouring pixels.
  bool contiguous = group == 1 && window->dilations.back() == 1 && isConstant(left.layout.strides[2 + spatial - 1], depth);
  run = getAffineConstantExpr(contiguous ? depth * window->kernel.back() : depth, k.context());
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

Value Contraction::widen(Value x) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from == acc)
    return x;
  auto vector = dyn_cast<VectorType>(x.getType());
  return arith::ExtFOp::create(c.b, c.loc, vector ? Type(vector.clone(acc)) : acc, x);
}

Value Contraction::fma(Value x, Value y, Value z) {
  if (isa<FloatType>(acc)) // fused where the target can, never a library call
    return LLVM::FMulAddOp::create(c.b, c.loc, x, y, z);
  return arith::AddIOp::create(c.b, c.loc, arith::MulIOp::create(c.b, c.loc, x, y), z);
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

SmallVector<Value> Contraction::multiply(ArrayRef<Value> starts, ArrayRef<int64_t> pieces, Value panelStart) {
  Type leftElement = scalarOf(lhs), rightElement = scalarOf(rhs);
  SmallVector<Value> sums;
  for (size_t r = 0; r < starts.size(); ++r)
    for (int64_t piece : pieces)
      sums.push_back(c.number(vectorType(acc, piece), 0));

  // `steps` columns of the left operand against as many rows of the panel.
  auto step = [&](Value offset, Value depth, int64_t steps, bool byLane, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried), rows;
    if (byLane)
      for (Value start : starts)
        rows.push_back(widen(c.load(left.pointer, c.add(start, offset), leftElement, steps)));
    Value panelRow = c.add(panelStart, c.mul(depth, tileN));
    for (int64_t u = 0; u < steps; ++u) {
      SmallVector<Value> panel;
      int64_t column = 0;
      for (int64_t piece : pieces) {
        panel.push_back(widen(c.load(right.pointer, c.add(panelRow, u * tileN + column), rightElement, piece)));
        column += piece;
      }
      for (size_t r = 0; r < starts.size(); ++r) {
        Value factor = byLane ? c.extract(rows[r], u) : widen(c.load(left.pointer, c.add(c.add(starts[r], offset), u), leftElement));
        for (size_t p = 0; p < pieces.size(); ++p) {
          Value &sum = next[r * pieces.size() + p];
          sum = fma(c.splat(factor, pieces[p]), panel[p], sum);
        }
      }
    }
    return next;
  };
  bool byLane = e.target.laneFma && unrollK > 1;
  std::function<SmallVector<Value>(size_t, Value, Value, SmallVector<Value>)> nest =
      [&](size_t depth, Value offset, Value position, SmallVector<Value> carried) -> SmallVector<Value> {
    if (depth < taps.size())
      return c.loop(c.i64(0), c.i64(taps[depth].count), 1, carried, [&](Value iv, ValueRange values) {
        return nest(depth + 1, c.add(offset, c.mul(iv, c.expr(taps[depth].stride))),
                    c.add(c.mul(position, taps[depth].count), iv), llvm::to_vector(values));
      });
    Value length = c.expr(run), base = c.mul(position, length);
    Value tail = c.sub(length, c.rem(length, c.i64(unrollK)));
    carried = c.loop(c.i64(0), tail, unrollK, carried, [&](Value iv, ValueRange values) {
      return step(c.add(offset, iv), c.add(base, iv), unrollK, byLane, values);
    });
    return c.loop(tail, length, 1, carried, [&](Value iv, ValueRange values) {
      return step(c.add(offset, iv), c.add(base, iv), 1, false, values);
    });
  };
  return nest(0, c.i64(0), c.i64(0), sums);
}

void Contraction::storeElement(ArrayRef<Index> index, Value value, int64_t count) {
  if (bias)
    value = isa<FloatType>(acc) ? Value(arith::AddFOp::create(c.b, c.loc, value, widen(e.element(bias, index[channel], count))))
                                : Value(arith::AddIOp::create(c.b, c.loc, value, e.element(bias, index[channel], count)));
  Type element = type.getElementType();
  if (registerType(element) != acc)
    value = arith::TruncFOp::create(c.b, c.loc, vectorType(element, count), value);
  e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return value; });
  k.storeResults(index, count);
}

void Contraction::storeTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators, Value firstColumn) {
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

void Contraction::storePartialTile(ArrayRef<Indices> rowIndices, ArrayRef<int64_t> pieces, ValueRange accumulators, Value firstColumn, Value count) {
  // How many columns are left is only known at run time: the tile goes through scratch and is stored one column at a time.
  for (size_t r = 0; r < rowIndices.size(); ++r) {
    int64_t column = 0;
    for (size_t p = 0; p < pieces.size(); column += pieces[p++])
      c.store(accumulators[r * pieces.size() + p], k.scratch, c.i64(r * tileN + column), acc);
    c.loop(c.i64(0), count, 1, [&](Value j) {
      Indices index = rowIndices[r];
      index[channel] = {c.add(firstColumn, j), 0};
      storeElement(index, c.load(k.scratch, c.add(j, r * tileN), acc), 1);
    });
  }
}

void Contraction::tile(Value row, int64_t rows, Value panel, std::optional<int64_t> count) {
  SmallVector<int64_t> pieces(count.value_or(tileN) / lanes, lanes);
  if (int64_t rest = count.value_or(tileN) % lanes)
    pieces.push_back(rest);
  SmallVector<Indices> rowIndices;
  SmallVector<Value> starts;
  for (int64_t r = 0; r < rows; ++r) {
    Indices index = batchIndex;
    delinearize(c, c.add(row, r), rowLoops, index);
    starts.push_back(rowStart(index, panel));
    rowIndices.push_back(index);
  }
  Value panelStart = c.add(c.mul(panel, c.expr(right.layout.blockStride)), batchRight);
  SmallVector<Value> sums = multiply(starts, pieces, panelStart);
  Value firstColumn = c.mul(panel, tileN);
  if (count)
    storeTile(rowIndices, pieces, sums, firstColumn);
  else
    storePartialTile(rowIndices, pieces, sums, firstColumn, c.sub(c.expr(columns), firstColumn));
}

// All rows of the task against one panel.
void Contraction::panelRange(Value low, Value high, Value panel, std::optional<int64_t> count) {
  Value full = c.sub(high, c.rem(c.sub(high, low), c.i64(tileM)));
  c.loop(low, full, tileM, [&](Value row) { tile(row, tileM, panel, count); });
  AffineExpr rows = iterations(rowLoops, k.context());
  if (auto known = constantSize(rows)) {
    // Tasks start at multiples of the tile, so that only one remainder exists.
    if (int64_t rest = *known % tileM)
      c.when(c.cmp(arith::CmpIPredicate::slt, full, high), [&] { tile(full, rest, panel, count); });
    return;
  }
  Value row = full;
  for (int64_t step = llvm::bit_floor(uint64_t(tileM - 1)); step >= 1; step /= 2)
    row = c.when(
        c.cmp(arith::CmpIPredicate::sle, c.add(row, step), high),
        [&] {
          tile(row, step, panel, count);
          return c.add(row, step);
        },
        [&] { return row; });
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

  Value rowLow = c.mul(rowTask, taskM), rowHigh = c.min(c.add(rowLow, taskM), c.expr(rows));
  Value panelLow = c.mul(panelTask, taskN), panelHigh = c.min(c.add(panelLow, taskN), c.expr(panels));
  Value fullPanels = c.expr(simplify(columns.floorDiv(tileN)));
  auto known = constantSize(columns);
  std::optional<int64_t> tailColumns = known ? std::optional(*known % tileN) : std::nullopt;
  auto overPanels = [&](llvm::function_ref<void(Value, std::optional<int64_t>)> body) {
    c.loop(panelLow, c.min(panelHigh, fullPanels), 1, [&](Value panel) { body(panel, tileN); });
    if (tailColumns != 0)
      c.when(c.cmp(arith::CmpIPredicate::slt, fullPanels, panelHigh), [&] {
        c.when(c.cmp(arith::CmpIPredicate::sge, fullPanels, panelLow), [&] { body(fullPanels, tailColumns); });
      });
  };
  if (!tailColumns)
    grid.scratchBytes = tileM * tileN * elementBytes(acc);
  if (k.schedule["rows_outer"]) {
    // The tile's rows stay in the first-level cache while the panels stream past.
    Value full = c.sub(rowHigh, c.rem(c.sub(rowHigh, rowLow), c.i64(tileM)));
    c.loop(rowLow, full, tileM, [&](Value row) {
      overPanels([&](Value panel, std::optional<int64_t> count) { tile(row, tileM, panel, count); });
    });
    overPanels([&](Value panel, std::optional<int64_t> count) { panelRange(full, rowHigh, panel, count); });
  } else {
    overPanels([&](Value panel, std::optional<int64_t> count) { panelRange(rowLow, rowHigh, panel, count); });
  }
  return grid;
}

} // namespace

Grid emitContract(KernelBody &k) { return Contraction(k).emit(); }

} // namespace fathom
