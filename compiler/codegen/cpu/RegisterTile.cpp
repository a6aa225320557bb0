// Loads, multiply-adds and accumulators of a register tile.
#include "compiler/codegen/cpu/RegisterTile.h"

#include "compiler/cost/Product.h"

using namespace mlir;

namespace fathom {

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

Value RegisterTile::fma(Value x, Value y, Value z) const {
  if (isa<FloatType>(acc)) // fused where the target can, never a library call
    return LLVM::FMulAddOp::create(e.c.b, e.c.loc, x, y, z);
  return arith::AddIOp::create(e.c.b, e.c.loc, arith::MulIOp::create(e.c.b, e.c.loc, x, y), z);
}

int64_t RegisterTile::setsFor(size_t accumulators, std::optional<int64_t> depth) const {
  return cost::accumulatorSets(accumulators, inFlight, depth.value_or(INT64_MAX));
}

SmallVector<Value> RegisterTile::joinSets(ArrayRef<Value> sums, int64_t sets) const {
  SmallVector<Value> joined(sums);
  for (; sets > 1; sets /= 2) {
    size_t half = joined.size() / 2;
    for (size_t i = 0; i < half; ++i)
      joined[i] = isa<FloatType>(acc) ? Value(arith::AddFOp::create(e.c.b, e.c.loc, joined[i], joined[half + i]))
                                      : Value(arith::AddIOp::create(e.c.b, e.c.loc, joined[i], joined[half + i]));
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
}

// Into the second-level cache: the first has no room beside the current panel. The last panel's next lies behind the
// buffer, which does no harm; only its address must not be taken for one inside.
void RegisterTile::prefetch(const Ahead &ahead, Value depth, int64_t steps) const {
  Code &c = e.c;
  Value first = c.add(ahead.start, c.mul(depth, ahead.perStep));
  for (int64_t at = 0; at < ahead.perStep * steps; at += lineBytes / elementBytes(rightType))
    c.prefetch(right, c.add(first, at), rightType, Code::CacheLevel::Second);
}

SmallVector<Value> RegisterTile::overDepth(Value length, int64_t sets, ValueRange sums, Steps steps) const {
  Code &c = e.c;
  int64_t each = std::max(unroll, sets);
  Value tail = c.sub(length, c.rem(length, c.i64(each)));
  SmallVector<Value> carried =
      c.loop(c.i64(0), tail, each, sums, [&](Value iv, ValueRange values) { return steps(iv, each, values); });
  return c.loop(tail, length, 1, carried, [&](Value iv, ValueRange values) { return steps(iv, 1, values); });
}

SmallVector<Value> RegisterTile::pointersTo(ArrayRef<Value> panels) const {
  SmallVector<Value> pointers;
  for (Value panel : panels) {
    Value pointer = e.c.address(right, panel, rightType);
    // At a known distance of each other, the back end would address all panels by large offsets from one register.
    pointers.push_back(panels.size() == 1 ? pointer
                                          : Value(LLVM::LaunderInvariantGroupOp::create(e.c.b, e.c.loc, pointer)));
  }
  return pointers;
}

SmallVector<Value> RegisterTile::multiply(Value left, Type leftType, ArrayRef<Value> starts, ArrayRef<Value> panels,
                                          Value length, ArrayRef<int64_t> pieces, int64_t sets, const Ahead &ahead,
                                          ValueRange sums) const {
  Code &c = e.c;
  size_t ofPanel = starts.size() * pieces.size(), size = panels.size() * ofPanel;
  SmallVector<Value> pointers = pointersTo(panels);
  return overDepth(length, sets, sums, [&](Value depth, int64_t count, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried), vectors;
    if (count > 1 && ahead.perStep)
      prefetch(ahead, depth, count);
    // A vector along each row, whose lanes are the factors of as many steps.
    bool byLane = e.target.laneFma && count > 1;
    if (byLane)
      for (Value start : starts)
        vectors.push_back(widen(c.load(left, c.add(start, depth), leftType, count)));
    Value panelRow = c.mul(depth, panelWidth);
    for (int64_t u = 0; u < count; ++u) {
      SmallVector<Value> factors;
      for (size_t r = 0; r < starts.size(); ++r)
        factors.push_back(byLane ? c.extract(vectors[r], u)
                                 : widen(c.load(left, c.add(c.add(starts[r], depth), u), leftType)));
      for (auto [i, pointer] : llvm::enumerate(pointers))
        accumulate(factors, pieces, pointer, c.add(panelRow, u * panelWidth),
                   MutableArrayRef(next).slice(u % sets * size + i * ofPanel, ofPanel));
    }
    return next;
  });
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
      Value source = elements[piece][row];
      if (!isa<VectorType>(source.getType())) // one group of one channel
        return c.splat(source, pieces[piece]);
      if (pieces[piece] == 1)
        return c.extract(source, spread[0]);
      return c.b.createOrFold<vector::ShuffleOp>(c.loc, source, source, spread);
    };
    accumulate(starts.size(), factor, pieces, right, c.add(panel, u * panelWidth), next);
  }
  return next;
}

SmallVector<Value> RegisterTile::multiplyPacked(Value left, Type leftType, Value start, int64_t height, int64_t rows,
                                                Value panel, Value length, ArrayRef<int64_t> pieces, int64_t sets,
                                                const Ahead &ahead, ValueRange sums) const {
  Code &c = e.c;
  size_t size = rows * pieces.size();
  return overDepth(length, sets, sums, [&](Value depth, int64_t count, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    if (count > 1 && ahead.perStep)
      prefetch(ahead, depth, count);
    for (int64_t u = 0; u < count; ++u) {
      Value at = c.add(start, c.mul(c.add(depth, u), height));
      SmallVector<Value> factors;
      for (int64_t r = 0; r < rows;) {
        int64_t together = e.target.laneFma ? std::min(lanes(), rows - r) : 1;
        Value vector = widen(c.load(left, c.add(at, r), leftType, together));
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
