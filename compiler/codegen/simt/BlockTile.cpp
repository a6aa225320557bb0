// Multiply-adds of items, and instructions of tensor cores.
#include "compiler/codegen/simt/BlockTile.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fathom {

BlockTile::BlockTile(GroupKernel &k, const BlockContractSchedule &schedule, BlockProduct &product)
    : k(k), c(k.c), s(schedule), product(product), hasCores(s.fragments && k.architecture() >= 80) {
  inSlice = k.item, slice = firstStep = c.i64(0);
  if (s.slices > 1) {
    Value items = c.i64(s.tileItems());
    slice = c.div(k.item, items), inSlice = c.rem(k.item, items), firstStep = c.mul(slice, s.blockK / s.slices);
  }
  if (!s.fragments) {
    columnVector = s.itemN % 4 == 0 ? 4 : 1;
    Value across = c.i64(s.blockN / s.itemN);
    firstRow = c.mul(c.div(inSlice, across), s.itemM), firstColumn = c.mul(c.rem(inSlice, across), columnVector);
    return;
  }
  columnVector = 2;
  Value warp = c.div(inSlice, c.i64(32)), across = c.i64(s.blockN / (4 * s.itemN));
  lane = c.rem(k.item, c.i64(32));
  lane4 = c.rem(lane, c.i64(4));
  firstRow = c.add(c.mul(c.div(warp, across), 8 * s.itemM), c.div(lane, c.i64(4)));
  firstColumn = c.add(c.mul(c.rem(warp, across), 4 * s.itemN), c.mul(lane4, 2));
}

int64_t BlockTile::rowOffset(int64_t i) { return s.fragments ? 8 * i : i; }

int64_t BlockTile::columnOffset(int64_t j) {
  int64_t apart = s.fragments ? 8 : s.blockN / s.itemN * columnVector;
  return j / columnVector * apart + j % columnVector;
}

Value BlockTile::row(int64_t i) { return c.add(shareRow, rowOffset(i)); }
Value BlockTile::column(int64_t j) { return c.add(shareColumn, columnOffset(j)); }

SmallVector<Value> BlockTile::zeros() { return SmallVector<Value>(s.itemM * s.itemN, c.number(product.acc, 0)); }

SmallVector<Value> BlockTile::multiply(BlockPanel &left, BlockPanel &right, Value stage, ValueRange sums) {
  return hasCores ? multiplyFragments(left, right, stage, sums) : multiplyAdd(left, right, stage, sums);
}

// To the 10 bits of a fraction that tensor cores take of a 32-bit float, away from zero in the middle.
Value BlockTile::rounded(Value value) {
  if (!s.fragments || !value.getType().isF32())
    return value;
  Type i32 = c.b.getI32Type();
  Value bits = arith::BitcastOp::create(c.b, c.loc, i32, value);
  bits = arith::AndIOp::create(c.b, c.loc, arith::AddIOp::create(c.b, c.loc, bits, c.i32(1 << 12)), c.i32(-(1 << 13)));
  return arith::BitcastOp::create(c.b, c.loc, value.getType(), bits);
}

SmallVector<Value> BlockTile::multiplyAdd(BlockPanel &left, BlockPanel &right, Value stage, ValueRange sums) {
  SmallVector<Value> next = llvm::to_vector(sums);
  // Rows side by side in local memory are read together.
  int64_t rowVector = !s.fragments && !left.isByRows() && s.itemM % 4 == 0 ? 4 : 1;
  int64_t columnsRead = right.isByRows() ? 1 : columnVector;
  auto product = [&](Value first, int64_t step) {
    SmallVector<Value> rows, columns;
    for (int64_t i = 0; i < s.itemM; i += rowVector)
      llvm::append_range(rows, left.get(stage, first, firstRow, step, rowOffset(i), rowVector));
    for (int64_t j = 0; j < s.itemN; j += columnsRead)
      llvm::append_range(columns, right.get(stage, first, firstColumn, step, columnOffset(j), columnsRead));
    for (SmallVector<Value> *factors : {&rows, &columns})
      for (Value &factor : *factors)
        factor = rounded(this->product.widened(factor));
    for (int64_t i = 0; i < s.itemM; ++i)
      for (int64_t j = 0; j < s.itemN; ++j) {
        Value &sum = next[i * s.itemN + j], x = rows[i], y = columns[j];
        sum =
            isa<FloatType>(sum.getType()) ? Value(math::FmaOp::create(c.b, c.loc, x, y, sum)) : c.add(sum, c.mul(x, y));
      }
  };
  for (int64_t step = 0; step < s.blockK / s.slices; ++step)
    product(firstStep, step);
  return next;
}

Value BlockTile::factor(BlockPanel &panel, Value stage, Value row, int64_t stepOffset, int64_t rowOffset) {
  Type element = panel.element();
  if (element.isF32()) {
    Value value = panel.get(stage, c.add(firstStep, lane4), row, stepOffset, rowOffset, 1)[0];
    return NVVM::ConvertFloatToTF32Op::create(c.b, c.loc, c.b.getI32Type(), value, NVVM::FPRoundingMode::RNA);
  }
  Value step = c.add(firstStep, c.mul(lane4, 2));
  SmallVector<Value> pair;
  if (panel.isByRows())
    pair = panel.get(stage, step, row, stepOffset, rowOffset, 2);
  else
    for (int64_t i : {0, 1})
      pair.push_back(panel.get(stage, step, row, stepOffset + i, rowOffset, 1)[0]);
  Value both = vector::FromElementsOp::create(c.b, c.loc, VectorType::get({2}, element), pair);
  return element.isF16() ? both : Value(LLVM::BitcastOp::create(c.b, c.loc, c.b.getI32Type(), both));
}

// What a warp loads together comes to its items as tensor cores want it: an item's word is the one of its place in the
// row of its place, each as items are four to a row. Where neighbours in memory are rows, 16-bit numbers are transposed
// on the way; others come one by one.
SmallVector<Value> BlockTile::factors(BlockPanel &panel, Value stage, Value row, int64_t stepOffset, int64_t rowOffset,
                                      Places places) {
  SmallVector<Value> found;
  Type element = panel.element();
  if (element.isF32() && !panel.isByRows()) {
    for (auto [step, below] : places)
      found.push_back(factor(panel, stage, c.add(row, c.div(lane, c.i64(4))), stepOffset + step, rowOffset + below));
    return found;
  }
  // Items l / 8 name the rows of a place, or the steps.
  Value number = c.div(lane, c.i64(8)), inPlace = c.rem(lane, c.i64(8)), step = firstStep;
  (panel.isByRows() ? row : step) = c.add(panel.isByRows() ? row : step, inPlace);
  auto at = [&](auto member) {
    Value offset = c.i64(places[0].*member);
    for (auto [i, place] : llvm::enumerate(places))
      if (i && place.*member != places[0].*member)
        offset = c.select(c.cmp(arith::CmpIPredicate::eq, number, c.i64(i)), c.i64(place.*member), offset);
    return offset;
  };
  using Pair = std::pair<int64_t, int64_t>;
  step = c.add(step, at(&Pair::first)), row = c.add(row, at(&Pair::second));
  Value pointer = panel.pointer(stage, step, row, stepOffset, rowOffset);
  for (Value word : k.loadMatrices(pointer, places.size(), !panel.isByRows())) {
    if (element.isF32()) {
      Value value = arith::BitcastOp::create(c.b, c.loc, element, word);
      word = NVVM::ConvertFloatToTF32Op::create(c.b, c.loc, word.getType(), value, NVVM::FPRoundingMode::RNA);
    } else if (element.isF16()) {
      word = LLVM::BitcastOp::create(c.b, c.loc, VectorType::get({2}, element), word);
    }
    found.push_back(word);
  }
  return found;
}

SmallVector<Value> BlockTile::multiplyFragments(BlockPanel &left, BlockPanel &right, Value stage, ValueRange sums) {
  SmallVector<Value> next = llvm::to_vector(sums);
  Type element = left.element(), f32 = c.b.getF32Type();
  NVVM::MMATypes kind = element.isF32()   ? NVVM::MMATypes::tf32
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::bf16;
  int64_t steps = element.isF32() ? 8 : 16;
  Type four = LLVM::LLVMStructType::getLiteral(c.b.getContext(), SmallVector<Type>(4, f32));
  // Of the warp. The column of a right factor is the item's place among eight, as its row is.
  Value row = c.sub(firstRow, c.div(lane, c.i64(4))), column = c.sub(firstColumn, c.mul(lane4, 2));
  int64_t half = steps / 2, together = s.itemN % 4 ? 2 : 4;
  for (int64_t step = 0; step < s.blockK / s.slices; step += steps) {
    SmallVector<SmallVector<Value>> rows, columns;
    for (int64_t i = 0; i < s.itemM; i += 2)
      rows.push_back(factors(left, stage, row, step, rowOffset(i), {{0, 0}, {0, 8}, {half, 0}, {half, 8}}));
    for (int64_t j = 0; j < s.itemN; j += together) {
      std::pair<int64_t, int64_t> places[] = {{0, 0}, {half, 0}, {0, 8}, {half, 8}};
      SmallVector<Value> found =
          factors(right, stage, column, step, columnOffset(j), Places(places).take_front(together));
      for (int64_t at = 0; at < together; at += 2)
        columns.push_back({found[at], found[at + 1]});
    }
    for (int64_t i = 0; i < s.itemM; i += 2)
      for (int64_t j = 0; j < s.itemN; j += 2) {
        SmallVector<Value *> at{&next[i * s.itemN + j], &next[i * s.itemN + j + 1], &next[(i + 1) * s.itemN + j],
                                &next[(i + 1) * s.itemN + j + 1]};
        SmallVector<Value> before;
        for (Value *sum : at)
          before.push_back(*sum);
        Value result = NVVM::MmaOp::create(c.b, c.loc, four, rows[i / 2], columns[j / 2], before, {16, 8, steps},
                                           std::nullopt, std::nullopt, std::array{kind, kind},
                                           std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
        for (auto [position, sum] : llvm::enumerate(at))
          *sum = LLVM::ExtractValueOp::create(c.b, c.loc, result, position);
      }
  }
  return next;
}

// All parts' sums lie in local memory, of this group and of those beside it. Neighbouring items have neighbours.
SmallVector<Value> BlockTile::share(ValueRange sums, Value split) {
  shareRow = firstRow, shareColumn = firstColumn, rows = s.itemM, columns = s.itemN;
  if (s.parts() == 1)
    return llvm::to_vector(sums);
  Type acc = product.acc;
  int64_t all = sums.size(), count = all / s.parts(), items = s.tileItems();
  Value local = allocateLocal(k.e, acc, s.slices * all * items);
  auto at = [&](Value ofSlice, Value number) {
    return c.add(c.mul(c.add(c.mul(ofSlice, all), number), items), inSlice);
  };
  for (auto [i, sum] : llvm::enumerate(sums))
    c.store(sum, local, at(slice, c.i64(i)), acc);
  auto barrier = [&] { s.splits > 1 ? k.awaitNeighbours() : emitBarrier(c); };
  barrier();
  Value first = c.mul(c.add(c.mul(split, s.slices), slice), count);
  SmallVector<Value> found(count);
  for (int64_t part = 0; part < s.parts(); ++part) {
    Value from = s.splits > 1 ? k.localOfNeighbour(local, part / s.slices) : local;
    for (auto [i, sum] : llvm::enumerate(found)) {
      Value other = c.load(from, at(c.i64(part % s.slices), c.add(first, int64_t(i))), acc);
      sum = !part                 ? other
            : isa<FloatType>(acc) ? Value(arith::AddFOp::create(c.b, c.loc, sum, other))
                                  : c.add(sum, other);
    }
  }
  // What others read stays until they have.
  if (s.splits > 1)
    barrier();
  columns = std::min(count, s.itemN), rows = count / columns;
  Value i = c.div(first, c.i64(s.itemN)), j = c.div(c.rem(first, c.i64(s.itemN)), c.i64(columnVector));
  shareRow = c.add(firstRow, c.mul(i, rowOffset(1))),
  shareColumn = c.add(firstColumn, c.mul(j, columnOffset(columnVector)));
  return found;
}

} // namespace fathom
