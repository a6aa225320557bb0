// Loads, multiply-adds and accumulators of a register tile.
#include "compiler/codegen/cpu/RegisterTile.h"

#include "compiler/codegen/cpu/DotProduct.h"
#include "compiler/schedule/Contract.h"

using namespace mlir;

namespace fathom {

// Registers for what is multiplied, beside the sums and their totals. It is a bound for tiles of all shapes, which
// follows from how their loops are written; how many registers there are, the machine says.
constexpr int64_t operandRegisters = 8;

Ahead shareOfPanel(Code &c, Value next, Value tile, int64_t tiles, Value depth, int64_t panelWidth) {
  // Code for no rows at all is never reached.
  int64_t perStep = llvm::divideCeil(panelWidth, std::max<int64_t>(1, tiles));
  return {c.add(next, c.mul(c.mul(tile, depth), perStep)), perStep};
}

SmallVector<Value> transposeFour(Code &c, ArrayRef<Value> v) {
  auto shuffle = [&](Value x, Value y, ArrayRef<int64_t> mask) {
    return Value(vector::ShuffleOp::create(c.b, c.loc, x, y, mask));
  };
  Value ab = shuffle(v[0], v[1], {0, 4, 1, 5}), cd = shuffle(v[2], v[3], {0, 4, 1, 5});
  Value ab2 = shuffle(v[0], v[1], {2, 6, 3, 7}), cd2 = shuffle(v[2], v[3], {2, 6, 3, 7});
  return {shuffle(ab, cd, {0, 1, 4, 5}), shuffle(ab, cd, {2, 3, 6, 7}), shuffle(ab2, cd2, {0, 1, 4, 5}),
          shuffle(ab2, cd2, {2, 3, 6, 7})};
}

SmallVector<int64_t> RegisterTile::piecesOf(int64_t columns) const {
  SmallVector<int64_t> pieces(columns / lanes(), lanes());
  if (int64_t rest = columns % lanes())
    pieces.push_back(rest);
  return pieces;
}

SmallVector<int64_t> RegisterTile::wholePieces(ArrayRef<int64_t> pieces) const {
  SmallVector<int64_t> whole(pieces);
  if (int64_t(pieces.size()) * lanes() <= panelWidth)
    whole.back() = lanes();
  return whole;
}

SmallVector<Value> RegisterTile::resized(ValueRange sums, ArrayRef<int64_t> pieces) const {
  Code &c = e.c;
  auto lanesOf = [](Value value) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? vector.getNumElements() : 1;
  };
  SmallVector<Value> result(sums);
  for (size_t i = pieces.size() - 1; i < result.size(); i += pieces.size()) {
    Value &sum = result[i];
    int64_t from = lanesOf(sum), to = pieces.back();
    if (from == to)
      continue;
    if (to == 1) {
      sum = c.extract(sum, 0);
    } else if (from == 1) {
      sum = c.insert(sum, c.number(vectorType(acc, to), 0), 0);
    } else {
      // Lanes behind the last come from a vector of zeros.
      SmallVector<int64_t> mask;
      for (int64_t lane = 0; lane < to; ++lane)
        mask.push_back(std::min(lane, from));
      sum = vector::ShuffleOp::create(c.b, c.loc, sum, c.number(vectorType(acc, from), 0), mask);
    }
  }
  return result;
}

SmallVector<Value> RegisterTile::zeros(int64_t rows, ArrayRef<int64_t> pieces) const {
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t piece : pieces)
      sums.push_back(e.c.number(vectorType(acc, piece), 0));
  return sums;
}

SmallVector<Value> RegisterTile::firstSums(Value bias, Value firstColumn, int64_t rows,
                                           ArrayRef<int64_t> pieces) const {
  if (isa<NoneType>(bias.getType()))
    return zeros(rows, pieces);
  SmallVector<Value> row, sums;
  for (int64_t column = 0; int64_t piece : pieces) {
    row.push_back(widen(e.element(bias, Index{e.c.add(firstColumn, column), piece > 1 ? 1 : 0}, piece)));
    column += piece;
  }
  for (int64_t r = 0; r < rows; ++r)
    llvm::append_range(sums, row);
  return sums;
}

Value RegisterTile::widen(Value x) const {
  Type from = getElementTypeOrSelf(x.getType());
  if (from == acc)
    return x;
  auto vector = dyn_cast<VectorType>(x.getType());
  return arith::ExtFOp::create(e.c.b, e.c.loc, vector ? Type(vector.clone(acc)) : acc, x);
}

Value RegisterTile::leftFactor(Value x) const { return quads ? asLeftQuads(e.c, *quads, x) : widen(x); }

Value RegisterTile::add(Value x, Value y) const {
  return isa<FloatType>(acc) ? Value(arith::AddFOp::create(e.c.b, e.c.loc, x, y))
                             : Value(arith::AddIOp::create(e.c.b, e.c.loc, x, y));
}

SmallVector<Value> RegisterTile::added(ValueRange x, ValueRange y) const {
  SmallVector<Value> sums;
  for (auto [a, b] : llvm::zip_equal(x, y))
    sums.push_back(add(a, b));
  return sums;
}

Value RegisterTile::fma(Value x, Value y, Value z) const {
  if (quads)
    return addDotProduct(e.c, e.target, *quads, x, y, z);
  if (isa<FloatType>(acc)) // fused where the target can, never a library call
    return LLVM::FMulAddOp::create(e.c.b, e.c.loc, x, y, z);
  return arith::AddIOp::create(e.c.b, e.c.loc, arith::MulIOp::create(e.c.b, e.c.loc, x, y), z);
}

int64_t RegisterTile::setsFor(size_t accumulators, std::optional<int64_t> depth) const {
  return accumulatorSets(accumulators, inFlight, depth.value_or(INT64_MAX));
}

SmallVector<Value> RegisterTile::joinSets(ArrayRef<Value> sums, int64_t sets) const {
  SmallVector<Value> joined(sums);
  for (; sets > 1; sets /= 2) {
    size_t half = joined.size() / 2;
    for (size_t i = 0; i < half; ++i)
      joined[i] = add(joined[i], joined[half + i]);
    joined.resize(half);
  }
  return joined;
}

void RegisterTile::accumulate(ArrayRef<Value> factors, ArrayRef<int64_t> pieces, Value pointer, Value panelRow,
                              MutableArrayRef<Value> sums) const {
  auto factor = [&](size_t row, size_t piece) { return e.c.splat(factors[row], pieces[piece]); };
  accumulate(factors.size(), factor, pieces, pointer, panelRow, sums);
}

void RegisterTile::accumulate(int64_t rows, Factor factor, ArrayRef<int64_t> pieces, Value pointer, Value panelRow,
                              MutableArrayRef<Value> sums) const {
  Code &c = e.c;
  SmallVector<Value> panel;
  int64_t column = 0;
  for (int64_t piece : pieces) {
    panel.push_back(widen(c.load(pointer, c.add(panelRow, column), rightType, piece)));
    column += piece;
  }
  for (int64_t r = 0; r < rows; ++r)
    for (size_t p = 0; p < pieces.size(); ++p) {
      Value &sum = sums[r * pieces.size() + p];
      sum = fma(factor(r, p), panel[p], sum);
    }
  if (stepsInOrder)
    c.keepLoadsBehind();
}

// Into the second-level cache: the first has no room beside the current panel. The last panel's next lies behind the
// buffer, which does no harm; only its address must not be taken for one inside.
void RegisterTile::prefetch(const Ahead &ahead, Value depth, int64_t steps) const {
  Code &c = e.c;
  Value first = c.add(ahead.start, c.mul(depth, ahead.perStep));
  for (int64_t at = 0; at < ahead.perStep * steps; at += lineBytes / elementBytes(rightType))
    c.prefetch(right, c.add(first, at), rightType, Code::CacheLevel::Second);
}

SmallVector<Value> RegisterTile::overDepth(Value length, ArrayRef<int64_t> counts, const Ahead &ahead, ValueRange sums,
                                           const std::optional<OrderedLoop> &ordered, Steps steps) const {
  Code &c = e.c;
  SmallVector<Value> carried = llvm::to_vector(sums);
  Value from = c.i64(0);
  for (int64_t each : counts) {
    Value end = c.sub(length, c.rem(length, c.i64(each)));
    if (ordered && each == counts[0]) {
      // It takes one iteration at least.
      Value iterations = c.div(end, c.i64(each)), once = c.min(iterations, c.i64(1));
      carried = c.loop(from, once, 1, carried,
                       [&](Value, ValueRange values) { return ordered->emit(c, iterations, values); });
    } else {
      carried = c.loop(from, end, each, carried, [&](Value step, ValueRange values) {
        if (each > 1 && ahead.perStep)
          prefetch(ahead, step, each);
        return steps(step, each, values);
      });
    }
    from = end;
  }
  return carried;
}

std::optional<OrderedLoop> RegisterTile::ordered(LeftVectors left, int64_t rows, ArrayRef<Value> pointers,
                                                 ArrayRef<int64_t> pieces, int64_t sets, int64_t steps,
                                                 const Ahead &ahead) const {
  bool isWhole = panelWidth % 4 == 0 && llvm::all_of(pieces, [](int64_t piece) { return piece == 4; });
  bool isFloat = acc.isF32() && rightType.isF32();
  if (!loadAhead || !e.target.multipliesByLaneOfFour() || !isFloat || !isWhole || left.loads.empty())
    return std::nullopt;
  OrderedLoop loop;
  loop.streams = std::move(left.streams), loop.loads = std::move(left.loads);
  int64_t panels = pointers.size(), width = pieces.size(), size = panels * rows * width;
  int64_t firstStream = loop.streams.size();
  for (Value pointer : pointers)
    loop.streams.push_back({pointer, steps * panelWidth * elementBytes(acc)});
  for (int64_t step = 0; step < steps; ++step) {
    int64_t firstVector = loop.loads.size();
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t piece = 0; piece < width; ++piece)
        loop.loads.push_back({firstStream + panel, (step * panelWidth + piece * 4) * elementBytes(acc)});
    int64_t columns = panels * width;
    for (int64_t i = 0; i < rows * columns; ++i) {
      int64_t row = left.byColumn ? i % rows : i / columns, column = left.byColumn ? i / rows : i % columns;
      auto [factors, lane] = left.factor(row, step);
      int64_t sum = (column / width * rows + row) * width + column % width;
      loop.body.push_back({step % sets * size + sum, firstVector + column, factors, lane});
    }
  }
  if (ahead.perStep) {
    int64_t bytes = steps * ahead.perStep * elementBytes(acc);
    for (int64_t at = 0; at < bytes; at += lineBytes)
      loop.ahead.push_back({int64_t(loop.streams.size()), at});
    loop.streams.push_back({e.c.addressOutside(right, ahead.start, acc), bytes});
  }
  return loop.order(size * sets, loadAhead, e.target) ? std::optional(std::move(loop)) : std::nullopt;
}

SmallVector<Value> RegisterTile::pointersTo(ArrayRef<Value> panels) const {
  SmallVector<Value> pointers;
  for (Value panel : panels) {
    Value pointer = e.c.address(right, panel, rightType);
    // At a known distance of each other, the back end would address all panels by large offsets from one register.
    pointers.push_back(panels.size() == 1 ? pointer : e.c.whole(pointer));
  }
  return pointers;
}

SmallVector<Value> RegisterTile::inBlocks(Value count, int64_t steps, ValueRange sums, SumBody body, int64_t unit,
                                          int64_t sets) const {
  // Integers are exact.
  if (!isa<FloatType>(acc) || steps > longestChain)
    return body(e.c.i64(0), count, sums);
  SmallVector<Value> none;
  for (Value sum : sums)
    none.push_back(e.c.number(sum.getType(), 0));
  int64_t most = sets * longestChain / std::max<int64_t>(1, steps);
  if (mostSteps <= most)
    return body(e.c.i64(0), count, sums);
  bool fit = 2 * int64_t(sums.size()) + operandRegisters <= e.target.vectorRegisters;
  return sumInBlocks(
      e.c, count, most, unit, sums, none, [&](Value x, Value y) { return add(x, y); }, body,
      fit ? nullptr : e.fault.getDefiningOp());
}

// What is left of the elements to fetch behind so many steps.
static Ahead behind(Code &c, const Ahead &ahead, Value steps) {
  return ahead.perStep ? Ahead{c.add(ahead.start, c.mul(steps, ahead.perStep)), ahead.perStep} : Ahead();
}

SmallVector<Value> RegisterTile::multiply(Value left, Type leftType, ArrayRef<Value> starts, ArrayRef<Value> panels,
                                          Value length, ArrayRef<int64_t> pieces, int64_t sets, const Ahead &ahead,
                                          ValueRange sums) const {
  Code &c = e.c;
  auto block = [&](Value from, Value to, ValueRange carried) {
    SmallVector<Value> movedStarts, movedPanels;
    for (Value start : starts)
      movedStarts.push_back(c.add(start, from));
    for (Value panel : panels)
      movedPanels.push_back(c.add(panel, c.mul(from, panelWidth)));
    return multiplyChain(left, leftType, movedStarts, movedPanels, c.sub(to, from), pieces, sets,
                         behind(c, ahead, from), carried);
  };
  return inBlocks(length, 1, sums, block, std::max(unroll, sets), sets);
}

SmallVector<Value> RegisterTile::multiplyChain(Value left, Type leftType, ArrayRef<Value> starts,
                                               ArrayRef<Value> panels, Value length, ArrayRef<int64_t> pieces,
                                               int64_t sets, const Ahead &ahead, ValueRange sums) const {
  Code &c = e.c;
  size_t ofPanel = starts.size() * pieces.size(), size = panels.size() * ofPanel;
  SmallVector<Value> pointers = pointersTo(panels), rows;
  for (Value start : rowsApart ? starts : ArrayRef<Value>())
    rows.push_back(c.whole(c.address(left, start, leftType)));
  auto leftAt = [&](size_t row, Value step, int64_t count) {
    return leftFactor(rowsApart ? c.load(rows[row], step, leftType, count)
                                : c.load(left, c.add(starts[row], step), leftType, count));
  };
  int64_t steps = std::max(unroll, sets), vectorsOfRow = steps / 4;
  LeftVectors vectors;
  if (leftType.isF32() && steps % 8 == 0)
    for (auto [row, start] : llvm::enumerate(starts)) {
      vectors.streams.push_back({c.address(left, start, leftType), steps * elementBytes(leftType)});
      for (int64_t i = 0; i < vectorsOfRow; ++i)
        vectors.loads.push_back({int64_t(row), i * 16});
    }
  vectors.factor = [=](int64_t row, int64_t step) { return std::pair(row * vectorsOfRow + step / 4, step % 4); };
  SmallVector<int64_t> counts{steps, 1};
  if (e.target.multipliesByLane() && steps > lanes() && steps % lanes() == 0)
    counts.insert(counts.begin() + 1, lanes());
  std::optional<OrderedLoop> loop = ordered(vectors, starts.size(), pointers, pieces, sets, steps, ahead);
  return overDepth(length, counts, ahead, sums, loop, [&](Value depth, int64_t count, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried), vectors;
    // A vector along each row, whose lanes are the factors of as many steps.
    bool byLane = e.target.multipliesByLane() && count > 1;
    if (byLane)
      for (size_t r = 0; r < starts.size(); ++r)
        vectors.push_back(leftAt(r, depth, count));
    Value panelRow = c.mul(depth, panelWidth);
    for (int64_t u = 0; u < count; ++u) {
      SmallVector<Value> factors;
      for (size_t r = 0; r < starts.size(); ++r)
        factors.push_back(byLane ? c.extract(vectors[r], u) : leftAt(r, c.add(depth, u), 1));
      for (auto [i, pointer] : llvm::enumerate(pointers))
        accumulate(factors, pieces, pointer, c.add(panelRow, u * panelWidth),
                   MutableArrayRef(next).slice(u % sets * size + i * ofPanel, ofPanel));
    }
    return next;
  });
}

Value RegisterTile::takeLanes(Value elements, ArrayRef<int64_t> lanes) const {
  Code &c = e.c;
  if (!isa<VectorType>(elements.getType())) // one group of one channel
    return c.splat(elements, lanes.size());
  if (lanes.size() == 1)
    return c.extract(elements, lanes[0]);
  return c.b.createOrFold<vector::ShuffleOp>(c.loc, elements, elements, lanes);
}

SmallVector<Value> RegisterTile::multiplyGroups(Value left, Type leftType, ArrayRef<Value> starts, int64_t groupColumns,
                                                int64_t groupDepth, bool swapsPairs, Value panel,
                                                ArrayRef<int64_t> pieces, ValueRange sums) const {
  Code &c = e.c;
  // The groups that a piece meets, from the first on, and the elements of theirs that each row has.
  SmallVector<int64_t> firstColumns;
  SmallVector<SmallVector<Value>> elements;
  for (int64_t column = 0; int64_t piece : pieces) {
    int64_t first = column / groupColumns, last = (column + piece - 1) / groupColumns;
    firstColumns.push_back(column - first * groupColumns);
    SmallVector<Value> &rows = elements.emplace_back();
    for (Value start : starts)
      rows.push_back(widen(c.load(left, c.add(start, first * groupDepth), leftType, (last - first + 1) * groupDepth)));
    column += piece;
  }
  SmallVector<Value> next = llvm::to_vector(sums);
  for (int64_t u = 0; u < groupDepth; ++u) {
    auto factor = [&](size_t row, size_t piece) -> Value {
      SmallVector<int64_t> spread;
      for (int64_t lane = 0; lane < pieces[piece]; ++lane) {
        int64_t column = firstColumns[piece] + lane, step = swapsPairs ? (column + u) % 2 : u;
        spread.push_back(column / groupColumns * groupDepth + step);
      }
      return takeLanes(elements[piece][row], spread);
    };
    accumulate(starts.size(), factor, pieces, right, c.add(panel, u * panelWidth), next);
  }
  return next;
}

SmallVector<Value> RegisterTile::multiplyGroups(Value left, Type leftType, ArrayRef<Value> starts, ArrayRef<Tap> taps,
                                                int64_t groupColumns, int64_t groupDepth, ArrayRef<Value> panels,
                                                ArrayRef<int64_t> pieces, ValueRange sums) const {
  Code &c = e.c;
  SmallVector<Value> next = llvm::to_vector(sums);
  for (int64_t u = 0; u < groupDepth; ++u) {
    if (stepsInOrder)
      c.keepLoadsBehind();
    for (int64_t column = 0; auto [p, piece] : llvm::enumerate(pieces)) {
      int64_t first = column / groupColumns, last = (column + piece - 1) / groupColumns;
      SmallVector<int64_t> spread;
      for (int64_t lane = column; lane < column + piece; ++lane)
        spread.push_back((lane / groupColumns - first) * groupDepth + u);
      SmallVector<Value> weights;
      for (Value panel : panels)
        weights.push_back(widen(c.load(right, c.add(panel, u * panelWidth + column), rightType, piece)));
      for (auto [i, start] : llvm::enumerate(starts)) {
        Value elements =
            widen(c.load(left, c.add(start, first * groupDepth), leftType, (last - first + 1) * groupDepth));
        Value factor = takeLanes(elements, spread);
        for (const Tap &tap : taps)
          if (Value &sum = next[tap.row * pieces.size() + p]; tap.start == i)
            sum = fma(factor, weights[tap.panel], sum);
      }
      column += piece;
    }
  }
  return next;
}

SmallVector<Value> RegisterTile::multiplyPacked(Value left, Type leftType, Value start, int64_t height, int64_t rows,
                                                Value panel, Value length, ArrayRef<int64_t> pieces, int64_t sets,
                                                const Ahead &ahead, ValueRange sums) const {
  Code &c = e.c;
  auto block = [&](Value from, Value to, ValueRange carried) {
    return multiplyPackedChain(left, leftType, c.add(start, c.mul(from, height)), height, rows,
                               c.add(panel, c.mul(from, panelWidth)), c.sub(to, from), pieces, sets,
                               behind(c, ahead, from), carried);
  };
  return inBlocks(length, 1, sums, block, std::max(unroll, sets), sets);
}

SmallVector<Value> RegisterTile::multiplyPackedChain(Value left, Type leftType, Value start, int64_t height,
                                                     int64_t rows, Value panel, Value length, ArrayRef<int64_t> pieces,
                                                     int64_t sets, const Ahead &ahead, ValueRange sums) const {
  Code &c = e.c;
  size_t size = rows * pieces.size();
  int64_t steps = std::max(unroll, sets);
  LeftVectors vectors;
  vectors.byColumn = true;
  if (leftType.isF32() && height % 4 == 0 && rows % 4 == 0) {
    vectors.streams.push_back({c.address(left, start, leftType), steps * height * elementBytes(leftType)});
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t row = 0; row < rows; row += 4)
        vectors.loads.push_back({0, (step * height + row) * elementBytes(leftType)});
  }
  vectors.factor = [=](int64_t row, int64_t step) { return std::pair((step * rows + row) / 4, row % 4); };
  Value pointer = c.address(right, panel, rightType);
  std::optional<OrderedLoop> loop = ordered(vectors, rows, pointer, pieces, sets, steps, ahead);
  return overDepth(length, {steps, 1}, ahead, sums, loop, [&](Value depth, int64_t count, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    for (int64_t u = 0; u < count; ++u) {
      Value at = c.add(start, c.mul(c.add(depth, u), height));
      SmallVector<Value> factors;
      for (int64_t r = 0; r < rows;) {
        int64_t together = e.target.multipliesByLane() ? std::min(lanes(), rows - r) : 1;
        Value vector = leftFactor(c.load(left, c.add(at, r), leftType, together));
        for (int64_t lane = 0; lane < together; ++lane, ++r)
          factors.push_back(together == 1 ? vector : c.extract(vector, lane));
      }
      accumulate(factors, pieces, right, c.add(panel, c.mul(c.add(depth, u), panelWidth)),
                 MutableArrayRef(next).slice(u % sets * size, size));
    }
    return next;
  });
}

} // namespace fathom
