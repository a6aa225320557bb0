// The left operand of a contraction, packed block by block: rows in the order that the register tile reads them.
#include "compiler/codegen/cpu/Contract.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

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

// Packs the task's rows of the current block. Rows past the end repeat the last one: they are computed with, never
// stored.
void Contraction::packRows() {
  Type element = leftType;
  Value last = c.sub(rowHigh, c.i64(1)), depthStart = c.rem(blockStart, c.expr(run));
  if (!e.target.multipliesByLane())
    return c.loop(rowLow, rowHigh, 1, [&](Value row) {
      Indices index = batchIndex;
      delinearize(c, row, rowLoops, index);
      Value start = left.pointer ? rowStart(index, c.i64(0)) : Value(), at = c.mul(c.sub(row, rowLow), packedRow);
      vectorLoop(c, c.i64(0), blockLength, schedule.packVectors * lanes, lanes, [&](Value depth, int64_t count) {
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

// `count` neighbouring elements of a row of the left operand: from its buffer, or computed by the fused producers.
Value Contraction::leftVector(ArrayRef<Index> index, Value start, Value depth, int64_t count) {
  if (left.pointer)
    return c.load(left.pointer, c.add(c.add(start, blockOffset), depth), leftType, count);
  Indices at = e.broadcast(left.type, index);
  Index &along = at[window ? 1 : at.size() - 1];
  along = {depth, count > 1 ? 1 : 0};
  if (!quads)
    return e.element(lhs, at, count);
  along = {c.mul(depth, bytesOfQuad), 1, bytesOfQuad};
  Value together =
      vector::BitCastOp::create(c.b, c.loc, VectorType::get(count, leftType), e.element(lhs, at, bytesOfQuad * count));
  return count > 1 ? together : c.extract(together, 0);
}

// The same on a packed block: tiles of rows, each with the rows' elements side by side for every step of the reduction
// where a vector of them holds as many factors, else row by row.
SmallVector<Value> Contraction::multiplyPacked(Value row, int64_t rows, ArrayRef<int64_t> stored, Value panel,
                                               ValueRange sums) {
  RegisterTile tile = registers();
  tile.mostSteps = blockK;
  SmallVector<int64_t> pieces = tile.wholePieces(stored);
  Value block = c.add(panelStart(panel), c.mul(blockStart, tileN)), before = c.sub(row, rowLow);
  Ahead ahead = nextPanel(row, block, c.i64(blockK));
  int64_t sets = tile.setsFor(sums.size(), constantSize(run));
  SmallVector<Value> first = tile.resized(sums, pieces);
  llvm::append_range(first, tile.zeros(rows * (sets - 1), pieces));
  SmallVector<Value> products;
  if (e.target.multipliesByLane()) {
    // A tail may start inside a packed tile.
    Value within = c.rem(before, c.i64(tileM));
    Value tileStart = c.add(c.mul(c.sub(before, within), blockK), within);
    products = tile.multiplyPacked(k.scratch, leftType, tileStart, tileM, rows, block, blockLength, pieces, sets, ahead,
                                   first);
  } else {
    SmallVector<Value> starts;
    for (int64_t r = 0; r < rows; ++r)
      starts.push_back(c.mul(c.add(before, r), packedRow));
    products = tile.multiply(k.scratch, leftType, starts, block, blockLength, pieces, sets, ahead, first);
  }
  return tile.resized(tile.joinSets(products, sets), stored);
}

} // namespace fathom
