// Maxima, exponentials and sums of a tile's rows.
#include "compiler/codegen/cpu/ScoreTile.h"

#include "compiler/codegen/common/KernelBody.h"

using namespace mlir;

namespace fathom {

ScoreTile::ScoreTile(Emitter &e, Value scratch, int64_t start, Value statistics, int64_t rows, int64_t keys,
                     bool rowsTogether, bool isFast, const AttentionSchedule &schedule)
    : c(e.c), f{e.c, isFast}, f32(e.c.b.getF32Type()), scratch(scratch), statistics(statistics),
      rowsTogether(rowsTogether), rows(rows), keys(keys), lanes(e.target.lanes(32)), expTogether(schedule.expTogether),
      start(start) {
  // Rows at a distance of a power of two would share a few lines of the cache.
  stride = rowsTogether ? rows : llvm::alignTo(keys, lanes) + schedule.scoreApart;
  topLanes = rowsTogether ? 1 : lanes;
  beforeAt = rows * topLanes;
  sumsAt = 2 * beforeAt;
  factorsAt = sumsAt + rows;
}

Value ScoreTile::place(Value row, Value key) const {
  Value along = rowsTogether ? key : row, within = rowsTogether ? row : key;
  return c.add(c.add(c.mul(along, stride), within), start);
}

Value ScoreTile::statistic(int64_t at, int64_t row) {
  if (!rowsTogether)
    return load(at + row, 1);
  return c.extract(load(at + row / lanes * lanes, lanes), row % lanes);
}

void ScoreTile::clear() {
  int64_t width = rows % lanes ? 1 : lanes;
  for (int64_t r = 0; r < rows * topLanes; r += lanes)
    store(c.number(vectorType(f32, lanes), -INFINITY), topsAt + r);
  for (int64_t r = 0; r < rows; r += width)
    store(c.number(vectorType(f32, width), 0), sumsAt + r);
}

void ScoreTile::keepMaxima() {
  for (int64_t r = 0; r < rows * topLanes; r += lanes)
    store(load(topsAt + r, lanes), beforeAt + r);
}

void ScoreTile::raise(Value at, Value scores, int64_t n) { store(f.max(load(at, n), scores), at); }

void ScoreTile::put(Value key, ArrayRef<int64_t> pieces, llvm::function_ref<Value(int64_t, int64_t)> vector) {
  if (!rowsTogether) {
    for (int64_t r = 0; r < rows; ++r) {
      Value top = load(topsAt + r * lanes, lanes);
      for (size_t p = 0; p < pieces.size(); ++p) {
        Value scores = vector(r, p);
        top = f.max(top, scores);
        store(scores, place(c.i64(r), c.add(key, p * lanes)));
      }
      store(top, topsAt + r * lanes);
    }
    return;
  }
  for (int64_t r = 0; r < rows; r += lanes) {
    Value top = load(topsAt + r, lanes);
    for (size_t p = 0; p < pieces.size(); ++p) {
      SmallVector<Value> ofRows;
      for (int64_t i = 0; i < lanes; ++i)
        ofRows.push_back(vector(r + i, p));
      for (auto [i, ofKey] : llvm::enumerate(transposeFour(c, ofRows))) {
        top = f.max(top, ofKey);
        store(ofKey, place(c.i64(r), c.add(key, p * lanes + i)));
      }
    }
    store(top, topsAt + r);
  }
}

void ScoreTile::putRow(Value row, Value key, Value scores, int64_t n) {
  if (!rowsTogether) {
    store(scores, place(row, key));
    return raise(placeOf(c.mul(row, lanes), topsAt), n == lanes ? scores : c.splat(scores, lanes), lanes);
  }
  for (int64_t i = 0; i < n; ++i) {
    Value score = n == 1 ? scores : c.extract(scores, i);
    store(score, place(row, c.add(key, i)));
    raise(placeOf(row, topsAt), score, 1);
  }
}

Value ScoreTile::subtracted(Value top, bool isOneOfSeveral) {
  if (!isOneOfSeveral)
    return top;
  Value none = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OEQ, top, c.number(top.getType(), -INFINITY));
  return c.select(none, c.number(top.getType(), 0), top);
}

// The sum over all blocks so far, and the factor of what lies before this one; of one row, or of a vector of them.
void ScoreTile::finishStatistics(int64_t n, Value row, Value before, Value top, Value sum, bool isOneOfSeveral) {
  Value sumAt = placeOf(row, sumsAt);
  if (isOneOfSeveral) {
    Value factor = f.expBelow(before, top);
    sum = f.add(f.mul(load(sumAt, n), factor), sum);
    store(factor, placeOf(row, factorsAt));
  }
  store(sum, sumAt);
}

void ScoreTile::exponentiate(Value count, bool isOneOfSeveral) {
  rowsTogether ? exponentiateTogether(count, isOneOfSeveral) : exponentiateRows(count, isOneOfSeveral);
}

// Neighbours are combined until one is left, of a power of two.
static Value inPairs(ArrayRef<Value> values, llvm::function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> left(values);
  while (left.size() > 1) {
    for (size_t i = 0; i < left.size() / 2; ++i)
      left[i] = combine(left[2 * i], left[2 * i + 1]);
    left.truncate(left.size() / 2);
  }
  return left.front();
}

// A vector of rows after the other; several keys at a time, as each exponential is a long chain of dependent
// operations.
void ScoreTile::exponentiateTogether(Value count, bool isOneOfSeveral) {
  int64_t together = expTogether;
  auto join = [&](Value x, Value y) -> Value {
    int64_t n = cast<VectorType>(x.getType()).getNumElements();
    return vector::ShuffleOp::create(c.b, c.loc, x, y, llvm::to_vector(llvm::seq<int64_t>(0, 2 * n)));
  };
  auto part = [&](Value x, int64_t i) -> Value {
    return vector::ExtractStridedSliceOp::create(c.b, c.loc, x, ArrayRef<int64_t>{i * lanes}, ArrayRef<int64_t>{lanes},
                                                 ArrayRef<int64_t>{1});
  };
  Value whole = c.sub(count, c.rem(count, c.i64(together)));
  for (int64_t r = 0; r < rows; r += lanes) {
    Value row = c.i64(r), top = subtracted(load(topsAt + r, lanes), isOneOfSeveral),
          tops = inPairs(SmallVector<Value>(together, top), join);
    auto visit = [&](Value key, int64_t keys) {
      SmallVector<Value> scores;
      for (int64_t i = 0; i < keys; ++i)
        scores.push_back(load(place(row, c.add(key, i)), lanes));
      Value powers = keys == 1 ? f.expBelow(scores[0], top) : f.expBelow(inPairs(scores, join), tops);
      for (int64_t i = 0; i < keys; ++i)
        store(keys == 1 ? powers : part(powers, i), place(row, c.add(key, i)));
      return powers;
    };
    Value zero = c.number(vectorType(f32, together * lanes), 0);
    Value sums = c.loop(c.i64(0), whole, together, ValueRange{zero}, [&](Value key, ValueRange carried) {
      return SmallVector<Value>{f.add(carried[0], visit(key, together))};
    })[0];
    SmallVector<Value> parts;
    for (int64_t i = 0; i < together; ++i)
      parts.push_back(part(sums, i));
    Value sum = inPairs(parts, [&](Value x, Value y) { return f.add(x, y); });
    sum = c.loop(whole, count, 1, ValueRange{sum}, [&](Value key, ValueRange carried) {
      return SmallVector<Value>{f.add(carried[0], visit(key, 1))};
    })[0];
    finishStatistics(lanes, row, load(beforeAt + r, lanes), top, sum, isOneOfSeveral);
  }
}

void ScoreTile::exponentiateRows(Value count, bool isOneOfSeveral) {
  int64_t wide = expTogether * lanes;
  auto max = [&](Value x, Value y) { return f.max(x, y); };
  auto add = [&](Value x, Value y) { return f.add(x, y); };
  c.loop(c.i64(0), c.i64(rows), 1, [&](Value row) {
    Value lane = c.mul(row, lanes);
    Value top = subtracted(combineLanes(c, load(placeOf(lane, topsAt), lanes), max), isOneOfSeveral);
    Value sum = c.number(f32, 0), from = c.i64(0);
    for (int64_t n : {wide, lanes, int64_t(1)}) {
      Value end = n == 1 ? count : c.sub(count, c.rem(c.sub(count, from), c.i64(n)));
      Value zero = c.number(vectorType(f32, n), 0);
      Value sums = c.loop(from, end, n, ValueRange{zero}, [&](Value key, ValueRange carried) {
        Value at = place(row, key), powers = f.expBelow(load(at, n), c.splat(top, n));
        store(powers, at);
        return SmallVector<Value>{f.add(carried[0], powers)};
      })[0];
      sum = f.add(sum, combineLanes(c, sums, add));
      from = end;
    }
    Value before = isOneOfSeveral ? combineLanes(c, load(placeOf(lane, beforeAt), lanes), max) : Value();
    finishStatistics(1, row, before, top, sum, isOneOfSeveral);
  });
}

void ScoreTile::invertSums(Value isEmpty) {
  int64_t width = rows % lanes ? 1 : lanes;
  for (int64_t r = 0; r < rows; r += width) {
    Value one = c.number(vectorType(f32, width), 1), inverse = f.div(one, load(sumsAt + r, width));
    store(isEmpty ? c.select(isEmpty, one, inverse) : inverse, sumsAt + r);
  }
}

SmallVector<Value> ScoreTile::multiply(const RegisterTile &registers, Value panel, Value count,
                                       ArrayRef<int64_t> pieces, const Ahead &ahead, ValueRange sums) const {
  int64_t sets = registers.setsFor(sums.size(), Code::constant(count));
  SmallVector<Value> first = llvm::to_vector(sums);
  llvm::append_range(first, registers.zeros(rows * (sets - 1), pieces));
  if (rowsTogether)
    return registers.joinSets(
        registers.multiplyPacked(scratch, f32, c.i64(start), rows, rows, panel, count, pieces, sets, ahead, first),
        sets);
  SmallVector<Value> starts;
  for (int64_t r = 0; r < rows; ++r)
    starts.push_back(place(c.i64(r), c.i64(0)));
  return registers.joinSets(registers.multiply(scratch, f32, starts, panel, count, pieces, sets, ahead, first), sets);
}

} // namespace fathom
