// Multiply-adds of items, and instructions of tensor cores.
#include "compiler/codegen/simt/BlockTile.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fathom {

BlockTile::BlockTile(GroupKernel &k, const BlockContractSchedule &schedule, BlockProduct &product)
    : k(k), c(k.c), s(schedule), product(product), hasCores(s.fragments && k.architecture() >= 80) {
  if (!s.fragments) {
    columnVector = s.itemN % 4 == 0 ? 4 : 1;
    Value across = c.i64(s.blockN / s.itemN);
    firstRow = c.mul(c.div(k.item, across), s.itemM), firstColumn = c.mul(c.rem(k.item, across), columnVector);
    return;
  }
  columnVector = 2;
  Value warp = c.div(k.item, c.i64(32)), lane = c.rem(k.item, c.i64(32)), across = c.i64(s.blockN / (4 * s.itemN));
  lane4 = c.rem(lane, c.i64(4));
  firstRow = c.add(c.mul(c.div(warp, across), 8 * s.itemM), c.div(lane, c.i64(4)));
  firstColumn = c.add(c.mul(c.rem(warp, across), 4 * s.itemN), c.mul(lane4, 2));
}

int64_t BlockTile::rowOffset(int64_t i) { return s.fragments ? 8 * i : i; }

int64_t BlockTile::columnOffset(int64_t j) {
  int64_t apart = s.fragments ? 8 : s.blockN / s.itemN * columnVector;
  return j / columnVector * apart + j % columnVector;
}

Value BlockTile::row(int64_t i) { return c.add(firstRow, rowOffset(i)); }
Value BlockTile::column(int64_t j) { return c.add(firstColumn, columnOffset(j)); }

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
  Value zero = c.i64(0);
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
  for (int64_t step = 0; step < s.blockK; ++step)
    product(zero, step);
  return next;
}

Value BlockTile::factor(BlockPanel &panel, Value stage, Value row, int64_t stepOffset, int64_t rowOffset) {
  Type element = panel.element();
  if (element.isF32()) {
    Value value = panel.get(stage, lane4, row, stepOffset, rowOffset, 1)[0];
    return NVVM::ConvertFloatToTF32Op::create(c.b, c.loc, c.b.getI32Type(), value, NVVM::FPRoundingMode::RNA);
  }
  Value step = c.mul(lane4, 2);
  SmallVector<Value> pair;
  if (panel.isByRows())
    pair = panel.get(stage, step, row, stepOffset, rowOffset, 2);
  else
    for (int64_t i : {0, 1})
      pair.push_back(panel.get(stage, step, row, stepOffset + i, rowOffset, 1)[0]);
  Value both = vector::FromElementsOp::create(c.b, c.loc, VectorType::get({2}, element), pair);
  return element.isF16() ? both : Value(LLVM::BitcastOp::create(c.b, c.loc, c.b.getI32Type(), both));
}

SmallVector<Value> BlockTile::multiplyFragments(BlockPanel &left, BlockPanel &right, Value stage, ValueRange sums) {
  SmallVector<Value> next = llvm::to_vector(sums);
  Type element = left.element(), f32 = c.b.getF32Type();
  NVVM::MMATypes kind = element.isF32()   ? NVVM::MMATypes::tf32
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::bf16;
  int64_t steps = element.isF32() ? 8 : 16;
  Type four = LLVM::LLVMStructType::getLiteral(c.b.getContext(), SmallVector<Type>(4, f32));
  // The column of a right factor is the item's place among eight, as its row is.
  Value column = c.add(c.sub(firstColumn, c.mul(lane4, 2)), c.div(c.rem(k.item, c.i64(32)), c.i64(4)));
  for (int64_t step = 0; step < s.blockK; step += steps) {
    SmallVector<SmallVector<Value>> rows, columns;
    for (int64_t i = 0; i < s.itemM; i += 2) {
      rows.emplace_back();
      for (int64_t half : {0, 1})
        for (int64_t below : {0, 1})
          rows.back().push_back(factor(left, stage, firstRow, step + half * steps / 2, rowOffset(i + below)));
    }
    for (int64_t j = 0; j < s.itemN; j += 2) {
      columns.emplace_back();
      for (int64_t half : {0, 1})
        columns.back().push_back(factor(right, stage, column, step + half * steps / 2, columnOffset(j)));
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

} // namespace fathom
