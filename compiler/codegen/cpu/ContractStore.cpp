// What becomes of a contraction's tile: its bias, the fused consumers, and the stores, of a last panel that is not full
// too.
#include "compiler/codegen/cpu/Contract.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

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
  int64_t together = std::clamp<int64_t>(llvm::divideCeil(schedule.storeVectors * lanes, tileN), 1, rows),
          whole = rows - rows % together;
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
  storeTile(rowIndices, pieces, registers().resized(accumulators, pieces), firstColumn);
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

} // namespace fathom
