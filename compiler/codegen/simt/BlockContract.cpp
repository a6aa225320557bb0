// Matrix products and convolutions in blocks of work groups. A group stages blocks of both factors in local memory,
// ahead of those that it multiplies; every item keeps a tile of sums in registers, on which fused consumers are
// computed.
#include "compiler/codegen/simt/BlockTile.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class BlockContraction {
public:
  BlockContraction(GroupKernel &k, const BlockContractSchedule &schedule)
      : k(k), c(k.c), s(schedule), product(k, schedule), tile(k, schedule, product) {}
  Grid emit();

private:
  SmallVector<Value> sums(Value split);
  void store(ValueRange sums);

  GroupKernel &k;
  Code &c;
  const BlockContractSchedule &s;
  BlockProduct product;
  BlockTile tile;
  Value firstRow, firstColumn;
};

// While a stage is multiplied, those behind it are on their way.
SmallVector<Value> BlockContraction::sums(Value split) {
  SmallVector<Value> zeros = tile.zeros();
  if (isConstant(product.depth, 0))
    return zeros;
  BlockPanel left(k, s, product.left(), firstRow), right(k, s, product.right(), firstColumn);
  Value steps = c.expr(size::simplified(product.depth.ceilDiv(s.blockK))), last = c.sub(steps, c.i64(1)),
        begin = c.i64(0);
  if (s.splits > 1) {
    Value many = c.expr(size::simplified(product.depth.ceilDiv(s.blockK).ceilDiv(s.splits)));
    begin = c.min(c.mul(split, many), steps), steps = c.min(c.add(begin, many), steps);
  }
  // Blocks behind the last one are the last once more, which nobody reads.
  auto first = [&](Value block) { return c.mul(c.min(block, last), s.blockK); };
  bool copies = left.isCopied() || right.isCopied();
  if (s.stages == 1)
    return c.loop(begin, steps, 1, zeros, [&](Value step, ValueRange carried) {
      Value stage = c.i64(0);
      SmallVector<Value> ofLeft = left.fetch(first(step), stage), ofRight = right.fetch(first(step), stage);
      emitBarrier(c);
      left.put(ofLeft, stage), right.put(ofRight, stage);
      emitBarrier(c);
      return tile.multiply(left, right, stage, carried);
    });
  int64_t ahead = s.stages - 1;
  for (int64_t i = 0; i < ahead; ++i) {
    Value stage = c.i64(i), block = c.max(first(c.add(begin, i)), c.i64(0));
    SmallVector<Value> ofLeft = left.fetch(block, stage), ofRight = right.fetch(block, stage);
    left.put(ofLeft, stage), right.put(ofRight, stage);
    if (copies)
      k.endCopies();
  }
  auto stageOf = [&](Value block) {
    Type i32 = c.b.getI32Type();
    Value narrow = arith::TruncIOp::create(c.b, c.loc, i32, block);
    narrow = arith::RemUIOp::create(c.b, c.loc, narrow, c.i32(s.stages));
    return arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), narrow);
  };
  return c.loop(begin, steps, 1, zeros, [&](Value step, ValueRange carried) {
    if (copies)
      k.awaitCopies(ahead - 1);
    // This stage is there, and nobody reads the one before it any more.
    emitBarrier(c);
    Value next = c.add(step, ahead), free = stageOf(c.sub(next, begin));
    SmallVector<Value> ofLeft = left.fetch(first(next), free), ofRight = right.fetch(first(next), free);
    if (copies)
      k.endCopies();
    SmallVector<Value> products = tile.multiply(left, right, stageOf(c.sub(step, begin)), carried);
    left.put(ofLeft, free), right.put(ofRight, free);
    return products;
  });
}

void BlockContraction::store(ValueRange sums) {
  auto isInside = [&](Value at, AffineExpr size, int64_t block, int64_t together) {
    if (isMultiple(size, block))
      return c.integer(c.b.getI1Type(), 1);
    return c.cmp(arith::CmpIPredicate::slt, c.add(at, together - 1), c.expr(size));
  };
  int64_t together = isMultiple(product.columns, tile.columnVector) ? tile.columnVector : 1;
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value row = c.add(firstRow, tile.row(i));
    c.when(isInside(row, product.rows, s.blockM, 1), [&] {
      Indices index = product.rowIndex(row);
      for (int64_t j = 0; j < tile.columns; j += together) {
        Value column = c.add(firstColumn, tile.column(j));
        c.when(isInside(column, product.columns, s.blockN, together), [&] {
          Value at = product.columnIndex(column);
          index[product.channel] = {at};
          SmallVector<Value> values;
          for (int64_t v = 0; v < together; ++v)
            values.push_back(product.finished(sums[i * tile.columns + j + v], c.add(at, v)));
          k.storeAnchor(index, product.channel, values);
        });
      }
    });
  }
}

Grid BlockContraction::emit() {
  // Neighbouring groups have neighbouring columns of the same rows. There is none where there are no blocks.
  AffineExpr blocksM = size::simplified(product.rows.ceilDiv(s.blockM));
  AffineExpr blocksN = size::simplified(product.columns.ceilDiv(s.blockN));
  Value across = c.max(c.expr(blocksN), c.i64(1)), down = c.max(c.expr(blocksM), c.i64(1));
  Value split = c.i64(0), block = k.group;
  if (s.splits > 1)
    split = c.rem(k.group, c.i64(s.splits)), block = c.div(k.group, c.i64(s.splits)), k.runTogether(s.splits);
  Value rest = c.div(block, across);
  firstColumn = c.mul(c.rem(block, across), s.blockN), firstRow = c.mul(c.rem(rest, down), s.blockM);
  product.enterBatch(isConstant(product.batches, 1) ? c.i64(0) : c.div(rest, down));
  store(tile.share(sums(split), split));
  Grid grid;
  grid.tasks = size::simplified(product.batches * blocksM * blocksN * s.splits);
  grid.groupItems = s.items();
  return grid;
}

} // namespace

FailureOr<Grid> emitBlockContract(func::FuncOp kernel, const Schedule &schedule, StringRef name, unsigned symbolCount,
                                  const Target &target, ModuleOp loops) {
  GroupKernel k(kernel, name, symbolCount, target, loops);
  auto typedSchedule = typed<BlockContractSchedule>(schedule);
  Grid grid = BlockContraction(k, typedSchedule).emit();
  if (failed(k.end()))
    return failure();
  return grid;
}

} // namespace fathom
