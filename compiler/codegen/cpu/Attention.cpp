// Attention: for a tile of query rows, the scores of all keys by register tiles over the packed keys, with the ops up
// to the softmax applied to them on their way into scratch; the softmax there; and its product with the packed values.
// Keys that do not fit come in blocks, with the maxima and sums of those before carried on.
#include "compiler/kernel/Attention.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/ScoreTile.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/schedule/Attention.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class FusedAttention {
public:
  FusedAttention(KernelBody &k, const AttentionSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), f32(c.b.getF32Type()), attention(*attentionOf(k.anchor)),
        keyBuffer(e.buffer(attention.scores.getRhs())), valueBuffer(e.buffer(attention.product.getRhs())),
        type(attention.product.getType()), rowDim(type.getRank() - 2), lanes(e.target.lanes(32)), tileM(schedule.tileM),
        tileN(schedule.tileN), blockN(schedule.blockN), depth(keyDepth(attention)), columns(valueDepth(attention)),
        unit(rowUnit(e.target)) {
    AffineExpr size = keysOf(attention), rows = queriesOf(attention);
    SymbolList symbols = symbolsFor(k.anchor);
    hasBlocks = size::upperBound(size, symbols).value_or(INT64_MAX) > blockN;
    // Scratch: the scores, a register tile on its way, and for each row its queries, what is known of its scores, and
    // the sums that wait for the next block: for all rows of a task where there are several blocks.
    tileAt = llvm::alignTo(std::max(tileFor(tileM).elements(), tileFor(1).elements()), 16);
    rowsAt = tileAt + tileM * tileN;
    statisticsAt = depth, waitingAt = depth + std::max(tileFor(tileM).statisticsOfRow(), tileFor(1).statisticsOfRow());
    perRow = waitingAt + (hasBlocks ? llvm::alignTo(columns, tileN) : 0);
    int64_t most = std::min(schedule.taskM, size::upperBound(rows, symbols).value_or(INT64_MAX));
    rowsKept = hasBlocks ? llvm::alignTo(most, tileM) : tileM;
  }

  Grid emit() {
    SmallVector<Loop> batchLoops;
    for (int64_t d = 0; d < rowDim; ++d)
      batchLoops.push_back({d, sizesOf(type)[d]});
    int64_t taskM = schedule.taskM;
    AffineExpr rows = queriesOf(attention), rowTasks = size::simplified(rows.ceilDiv(taskM));
    Grid grid;
    grid.tasks = size::simplified(iterations(batchLoops, k.context()) * rowTasks);
    // Whole vectors are cleared, also at the end.
    grid.scratchBytes = (rowsAt + rowsKept * perRow + lanes) * elementBytes(f32);

    keys = c.expr(keysOf(attention));
    batchIndex = e.zeros(type.getRank());
    delinearize(c, c.div(k.task, c.expr(rowTasks)), batchLoops, batchIndex);
    keyStart = batchStart(keyBuffer), valueStart = batchStart(valueBuffer);
    rowLow = c.mul(c.rem(k.task, c.expr(rowTasks)), taskM);
    rowHigh = c.min(c.add(rowLow, taskM), c.expr(rows));
    if (!hasBlocks) {
      inOneBlock();
      return grid;
    }
    // Sums need not wait where all keys turn out to fit one block.
    Value fits = c.cmp(arith::CmpIPredicate::sle, keys, c.i64(blockN));
    hasBlocks = false;
    c.when(fits, [&] { inOneBlock(); });
    hasBlocks = true;
    c.when(c.cmp(arith::CmpIPredicate::sgt, keys, c.i64(blockN)), [&] { inBlocks(); });
    return grid;
  }

private:
  void inOneBlock() {
    overTiles([&] {
      start();
      block(c.i64(0), keys);
    });
  }

  void inBlocks() {
    overTiles([&] { start(); });
    c.loop(c.i64(0), keys, blockN, [&](Value first) {
      Value count = c.min(c.i64(blockN), c.sub(keys, first));
      overTiles([&] { block(first, count); });
    });
    overTiles([&] {
      ScoreTile scores = tileFor(rowIndices.size());
      scores.invertSums(isEmpty());
      overValues([&](Value panel, ArrayRef<int64_t> pieces) { finish(scores, panel, pieces, waiting(panel, pieces)); });
    });
  }

  // Whether a tile keeps its rows side by side: whole vectors of them do, where the machine likes it.
  bool areTogether(int64_t height) const { return unit > 1 && height % unit == 0; }
  // Rows that are computed for so many: a single one is, others fill vectors.
  int64_t heightFor(int64_t rows) const { return rows == 1 ? 1 : llvm::alignTo(rows, unit); }

  // Where in scratch the current tile's rows have their things; those of a tile begin one after the other.
  Value rowsPlace(int64_t within) {
    Value before = hasBlocks && firstRow ? c.mul(c.sub(firstRow, rowLow), perRow) : c.i64(0);
    return c.add(before, rowsAt + within * int64_t(rowIndices.size()));
  }
  ScoreTile tileFor(int64_t height) {
    bool isFast = attention.softmax->hasAttr("graph.fast");
    return {e, k.scratch, 0, rowsPlace(statisticsAt), height, blockN, areTogether(height), isFast, schedule};
  }
  RegisterTile registers(const Buffer &right) {
    return {e, f32, tileN, schedule.unrollK, schedule.inFlight, schedule.loadAhead, right.pointer, f32};
  }

  // The panel behind this one, to be fetched meanwhile, where the schedule says so. Where the number of rows is not
  // known, a tile that is not full may be all there is; others come behind a full one.
  Ahead panelBehind(const Buffer &buffer, Value start) {
    bool isKnown = constantSize(queriesOf(attention)).has_value();
    bool fetches = schedule.fetchAhead && (isKnown || !stored || *stored < tileM);
    return fetches ? Ahead{c.add(start, c.expr(buffer.layout.blockStride)), tileN} : Ahead();
  }

  // Where an operand's matrix of the current batch starts; it may be the same for several.
  Value batchStart(const Buffer &buffer) {
    Value start = c.expr(buffer.layout.offset);
    int64_t skip = type.getRank() - buffer.type.getRank();
    for (int64_t d = skip; d < rowDim; ++d)
      if (!isConstant(buffer.layout.sizes[d - skip], 1))
        start = c.add(start, c.mul(batchIndex[d].base, c.expr(buffer.layout.strides[d - skip])));
    return start;
  }
  Value panelStart(const Buffer &buffer, Value batch, Value panel) {
    return c.add(batch, c.mul(panel, c.expr(buffer.layout.blockStride)));
  }

  // The tiles of a task: `body` computes the current one.
  void overTiles(llvm::function_ref<void()> body) {
    Value full = c.sub(rowHigh, c.rem(c.sub(rowHigh, rowLow), c.i64(tileM)));
    c.loop(rowLow, full, tileM, [&](Value row) {
      enter(row, tileM, tileM);
      body();
    });
    tailRows(full, body);
  }

  // The task's rows from `row` on, fewer than a tile. A tile is whole vectors of rows: what of it lies past the end
  // repeats the last row, and is not stored.
  void tailRows(Value row, llvm::function_ref<void()> body) {
    if (auto known = constantSize(queriesOf(attention))) {
      // Tasks start at multiples of the tile, so that only one remainder exists.
      if (int64_t rest = *known % tileM)
        c.when(c.cmp(arith::CmpIPredicate::slt, row, rowHigh), [&] {
          enter(row, heightFor(rest), rest);
          body();
        });
      return;
    }
    auto tile = [&](int64_t height, int64_t least, std::optional<int64_t> count) {
      row = c.when(
          c.cmp(arith::CmpIPredicate::sle, c.add(row, least), rowHigh),
          [&] {
            enter(row, height, count);
            body();
            return c.add(row, height);
          },
          [&] { return row; });
    };
    // Steps of powers of two. Whole vectors are filled with at least as many rows as do not fit one less, or two.
    int64_t most = unit > 1 ? tileM / unit : tileM - 1;
    for (int64_t step = unit * llvm::bit_floor(uint64_t(most)); step >= unit; step /= 2)
      tile(step, unit == 1 ? step : std::max<int64_t>(2, step - unit + 1),
           unit == 1 ? std::optional(step) : std::nullopt);
    if (unit > 1)
      tile(1, 1, 1);
  }

  // `height` rows from `first` on, of which `count` are stored: those before the task's end where that is not known.
  void enter(Value first, int64_t height, std::optional<int64_t> count) {
    rowIndices.clear();
    stored = count;
    firstRow = first;
    bool isWhole = count == height;
    for (int64_t r = 0; r < height; ++r) {
      rowIndices.push_back(batchIndex);
      Value row = c.add(first, r);
      rowIndices.back()[rowDim].base = isWhole ? row : c.min(row, c.sub(rowHigh, c.i64(1)));
    }
  }

  void start() {
    int64_t height = rowIndices.size();
    packQueries();
    tileFor(height).clear();
    if (hasBlocks)
      c.loop(c.i64(0), c.i64(height * llvm::alignTo(columns, tileN)), lanes, [&](Value i) {
        c.store(c.number(vectorType(f32, lanes), 0), k.scratch, c.add(rowsPlace(waitingAt), i), f32);
      });
  }

  // Whether there are no keys, null where there always are: zeros are the result then.
  Value isEmpty() {
    if (size::lowerBound(keysOf(attention), symbolsFor(k.anchor)).value_or(0) > 0)
      return {};
    return c.cmp(arith::CmpIPredicate::eq, keys, c.i64(0));
  }

  // The tile's queries in scratch, as its products read them: rows side by side for every step, or one after the other.
  void packQueries() {
    Value queries = attention.scores.getLhs();
    auto vector = [&](int64_t r, Value at, int64_t n) {
      Indices index = rowIndices[r];
      index.back() = {at, n > 1 ? 1 : 0};
      return e.element(queries, e.broadcast(cast<RankedTensorType>(queries.getType()), index), n);
    };
    int64_t height = rowIndices.size(), whole = depth - depth % lanes;
    Value begin = rowsPlace(0);
    if (!areTogether(height)) {
      for (int64_t r = 0; r < height; ++r)
        vectorLoop(c, c.i64(0), c.i64(depth), lanes, lanes, [&](Value at, int64_t n) {
          c.store(vector(r, at, n), k.scratch, c.add(c.add(begin, at), r * depth), f32);
        });
      return;
    }
    c.loop(c.i64(0), c.i64(whole), lanes, [&](Value at) {
      for (int64_t r = 0; r < height; r += lanes) {
        SmallVector<Value> ofRows;
        for (int64_t i = 0; i < lanes; ++i)
          ofRows.push_back(vector(r + i, at, lanes));
        for (auto [i, step] : llvm::enumerate(transposeFour(c, ofRows)))
          c.store(step, k.scratch, c.add(c.add(begin, c.mul(c.add(at, i), height)), r), f32);
      }
    });
    c.loop(c.i64(whole), c.i64(depth), 1, [&](Value at) {
      for (int64_t r = 0; r < height; ++r)
        c.store(vector(r, at, 1), k.scratch, c.add(c.add(begin, c.mul(at, height)), r), f32);
    });
  }

  // `count` keys from `start` on.
  void block(Value start, Value count) {
    ScoreTile scores = tileFor(rowIndices.size());
    if (hasBlocks)
      scores.keepMaxima();
    Value first = c.div(start, c.i64(tileN)), full = c.div(count, c.i64(tileN));
    Value panels = c.div(c.add(count, tileN - 1), c.i64(tileN));
    c.loop(c.i64(0), full, 1, [&](Value panel) {
      SmallVector<Value> sums = multiplyQueries(c.add(first, panel));
      Value key = c.mul(panel, tileN);
      if (tileN % lanes)
        putSingly(scores, start, key, c.i64(tileN), sums);
      else
        put(scores, start, key, sums);
    });
    // Runs once where keys are left over.
    c.loop(full, panels, 1, [&](Value panel) {
      Value key = c.mul(panel, tileN);
      putSingly(scores, start, key, c.sub(count, key), multiplyQueries(c.add(first, panel)));
    });
    scores.exponentiate(count, hasBlocks);
    if (!hasBlocks)
      scores.invertSums(isEmpty());
    overValues([&](Value panel, ArrayRef<int64_t> pieces) {
      Value at = c.add(panelStart(valueBuffer, valueStart, panel), c.mul(start, tileN));
      SmallVector<Value> sums =
          hasBlocks ? waiting(panel, pieces) : registers(valueBuffer).zeros(rowIndices.size(), pieces);
      if (hasBlocks)
        scale(sums, pieces, [&](int64_t r) { return scores.factorOf(r); });
      sums = scores.multiply(registers(valueBuffer), at, count, pieces, panelBehind(valueBuffer, at), sums);
      if (!hasBlocks)
        return finish(scores, panel, pieces, sums);
      eachPiece(pieces, [&](int64_t r, size_t i, int64_t column) {
        c.store(sums[i], k.scratch, waitingPlace(panel, r, column), f32);
      });
    });
  }

  // A panel of keys: what lies behind the last of them is computed with, never kept.
  SmallVector<Value> multiplyQueries(Value panel) {
    RegisterTile tile = registers(keyBuffer);
    int64_t height = rowIndices.size();
    SmallVector<int64_t> pieces = tile.piecesOf(tileN);
    int64_t sets = tile.setsFor(height * pieces.size(), depth);
    SmallVector<Value> sums = tile.zeros(height * sets, pieces);
    Value at = panelStart(keyBuffer, keyStart, panel);
    if (areTogether(height))
      return tile.joinSets(tile.multiplyPacked(k.scratch, f32, rowsPlace(0), height, height, at, c.i64(depth), pieces,
                                               sets, panelBehind(keyBuffer, at), sums),
                           sets);
    SmallVector<Value> starts;
    for (int64_t r = 0; r < height; ++r)
      starts.push_back(c.add(rowsPlace(0), r * depth));
    return tile.joinSets(
        tile.multiply(k.scratch, f32, starts, at, c.i64(depth), pieces, sets, panelBehind(keyBuffer, at), sums), sets);
  }

  // What the softmax takes, where these are scores of the queries: the ops between are applied.
  Value masked(Indices index, Value key, Value sums, int64_t n) {
    index.back() = {key, n > 1 ? 1 : 0};
    e.bind(attention.scores.getResult(), [=](ArrayRef<Index>, int64_t) { return sums; });
    return e.element(attention.softmax.getInput(), index, n);
  }

  // Key `key` of the block that begins at `start`, and those behind it.
  void put(ScoreTile &scores, Value start, Value key, ArrayRef<Value> sums) {
    SmallVector<int64_t> pieces = registers(keyBuffer).piecesOf(tileN);
    scores.put(key, pieces, [&](int64_t r, int64_t p) {
      return masked(rowIndices[r], c.add(c.add(start, key), p * lanes), sums[r * pieces.size() + p], lanes);
    });
  }

  // The same through scratch, for a number of keys that may be known at run time only.
  void putSingly(ScoreTile &scores, Value start, Value key, Value count, ArrayRef<Value> sums) {
    eachPiece(registers(keyBuffer).piecesOf(tileN), [&](int64_t r, size_t i, int64_t column) {
      c.store(sums[i], k.scratch, c.i64(tileAt + r * tileN + column), f32);
    });
    c.loop(c.i64(0), c.i64(rowIndices.size()), 1, [&](Value r) {
      Indices index = batchIndex;
      index[rowDim].base = c.min(c.add(firstRow, r), c.sub(rowHigh, c.i64(1)));
      vectorLoop(c, c.i64(0), count, lanes, lanes, [&](Value column, int64_t n) {
        Value sum = c.load(k.scratch, c.add(c.add(c.mul(r, tileN), column), tileAt), f32, n);
        Value at = c.add(key, column);
        scores.putRow(r, at, masked(index, c.add(start, at), sum, n), n);
      });
    });
  }

  void overValues(llvm::function_ref<void(Value, ArrayRef<int64_t>)> body) {
    RegisterTile tile = registers(valueBuffer);
    int64_t full = columns / tileN;
    c.loop(c.i64(0), c.i64(full), 1, [&](Value panel) { body(panel, tile.piecesOf(tileN)); });
    if (int64_t rest = columns % tileN)
      body(c.i64(full), tile.piecesOf(rest));
  }

  // The tile's rows by pieces of columns: a sum's row, its number and its first column.
  void eachPiece(ArrayRef<int64_t> pieces, llvm::function_ref<void(int64_t, size_t, int64_t)> body) {
    for (size_t r = 0, i = 0; r < rowIndices.size(); ++r)
      for (int64_t column = 0; int64_t piece : pieces) {
        body(r, i++, column);
        column += piece;
      }
  }

  void scale(MutableArrayRef<Value> sums, ArrayRef<int64_t> pieces, llvm::function_ref<Value(int64_t)> factor) {
    eachPiece(pieces, [&](int64_t r, size_t i, int64_t) {
      sums[i] = Float{c}.mul(sums[i], c.splat(factor(r), pieces[i % pieces.size()]));
    });
  }

  // Sums that wait for the next block.
  Value waitingPlace(Value panel, int64_t r, int64_t column) {
    return c.add(c.add(rowsPlace(waitingAt), c.mul(panel, rowIndices.size() * tileN)), r * tileN + column);
  }
  SmallVector<Value> waiting(Value panel, ArrayRef<int64_t> pieces) {
    SmallVector<Value> sums(rowIndices.size() * pieces.size());
    eachPiece(pieces, [&](int64_t r, size_t i, int64_t column) {
      sums[i] = c.load(k.scratch, waitingPlace(panel, r, column), f32, pieces[i % pieces.size()]);
    });
    return sums;
  }

  void finish(ScoreTile &scores, Value panel, ArrayRef<int64_t> pieces, SmallVector<Value> sums) {
    scale(sums, pieces, [&](int64_t r) { return scores.inverseOf(r); });
    auto storeRow = [&](int64_t r) {
      Indices index = rowIndices[r];
      Value column = c.mul(panel, tileN);
      for (auto [i, piece] : llvm::enumerate(pieces)) {
        Value sum = sums[r * pieces.size() + i];
        index.back() = {column, piece > 1 ? 1 : 0};
        e.bind(attention.product.getResult(), [=](ArrayRef<Index>, int64_t) { return sum; });
        k.storeResults(index, piece);
        column = c.add(column, piece);
      }
    };
    for (int64_t r = 0; r < int64_t(rowIndices.size()); ++r) {
      if (!stored)
        c.when(c.cmp(arith::CmpIPredicate::slt, c.add(firstRow, r), rowHigh), [&] { storeRow(r); });
      else if (r < *stored)
        storeRow(r);
    }
  }

  KernelBody &k;
  const AttentionSchedule &schedule;
  Emitter &e;
  Code &c;
  Type f32;
  Attention attention;
  const Buffer &keyBuffer, &valueBuffer;
  RankedTensorType type; // of the product
  int64_t rowDim, lanes;
  int64_t tileM, tileN, blockN;
  int64_t depth, columns;                  // elements of a key, of a value
  int64_t unit;                            // rows that a tile has multiples of
  bool hasBlocks = false;                  // whether keys may come in more than one
  int64_t tileAt = 0, rowsAt = 0;          // where in scratch they begin
  int64_t statisticsAt = 0, waitingAt = 0; // elements of a row that lie before
  int64_t perRow = 0, rowsKept = 0;
  Value keys, keyStart, valueStart, rowLow, rowHigh;
  Indices batchIndex;
  // The current tile.
  SmallVector<Indices> rowIndices;
  std::optional<int64_t> stored;
  Value firstRow;
};

} // namespace

Grid emitAttention(KernelBody &k, const AttentionSchedule &schedule) { return FusedAttention(k, schedule).emit(); }

} // namespace fathom
