// Products by Strassen's method. A quarter of the left matrix has every other row (pixel) and half of the columns
// (channels), so that tasks are blocks of neighbouring rows; one of the weights has half of the rows and half of the
// columns. A task adds up its quarters, multiplies them with the seven factors of the weights panel by panel, and adds
// up the products of each panel: nothing between leaves the caches.
#include "compiler/kernel/Strassen.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/cpu/Combination.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/schedule/Strassen.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class StrassenProduct {
public:
  StrassenProduct(KernelBody &k, const StrassenSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<StrassenOp>(k.anchor)), weight(e.buffer(op.getWeight())),
        type(op.getType()), element(type.getElementType()), channel(op.getAxis()), lanes(e.target.lanes(32)),
        depth(weight.type.getDimSize(1)), columns(weight.type.getDimSize(2)), tileM(schedule.tileM),
        tileN(weight.layout.block), stored(weight.type.getDimSize(0)), combineLeft(c, strassen::leftTransform()),
        combineStored(c, strassen::restTransform()), combineProducts(c, strassen::resultTransform()) {
    SmallVector<const Layout *> merge;
    Buffer left = operandBuffer(k, op.getLhs());
    if (k.onlyElementwise()) {
      merge = k.alignedLayouts();
      merge.push_back(&left.layout);
    }
    rowLoops = loopsOver(type, merge, {channel});
    rows = *constantSize(iterations(rowLoops, k.context()));
    pairs = llvm::divideCeil(rows, 2);
    taskPairs = std::min<int64_t>(schedule.taskM, llvm::alignTo(pairs, tileM));
  }

  Grid emit() {
    Grid grid;
    auto count = [&](int64_t number) { return getAffineConstantExpr(number, k.context()); };
    auto [ofPanels, ofPairs] = k.taskRange(grid, Units{count(llvm::divideCeil(columns, tileN)), schedule.taskN},
                                           Units{count(pairs), taskPairs});
    std::tie(firstPair, lastPair) = ofPairs;
    // Scratch: the factors of the left side, the products of a panel, and the factors of a panel that are not stored.
    factorSize = taskPairs * depth + schedule.factorApart;
    productsAt = strassen::products * factorSize;
    restAt = productsAt + strassen::products * taskPairs * tileN;
    grid.scratchBytes = (restAt + (strassen::products - stored) * depth * tileN) * elementBytes(element);

    transformRows();
    c.loop(ofPanels.first, ofPanels.second, 1, [&](Value panel) {
      c.loop(strassen::products, [&](Value product) {
        if (stored < strassen::products)
          c.when(c.cmp(arith::CmpIPredicate::eq, product, c.i64(stored)), [&] { addUpStored(panel); });
        multiply(product, panel);
      });
      c.loop(firstPair, lastPair, 1, [&](Value pair) { finish(pair, panel); });
    });
    return grid;
  }

private:
  // Where a row lies. Behind the last one lies the last one again: it is computed with, never stored.
  Indices indexOf(Value row) {
    Indices index = e.zeros(type.getRank());
    delinearize(c, c.min(row, c.i64(rows - 1)), rowLoops, index);
    return index;
  }

  using Pair = std::pair<Indices, Indices>;
  Pair rowsOf(Value pair) { return {indexOf(c.mul(pair, 2)), indexOf(c.add(c.mul(pair, 2), 1))}; }

  // The seven factors of a pair of rows at `count` steps of the reduction.
  SmallVector<Value> factors(const Pair &rows, Value step, int64_t count) {
    SmallVector<Value> quarters;
    for (Indices index : {rows.first, rows.second})
      for (int64_t half : {0, 1}) {
        index[channel] = {c.add(step, half * depth), count > 1 ? 1 : 0};
        quarters.push_back(e.element(op.getLhs(), index, count));
      }
    return combineLeft(quarters);
  }

  // The place of a factor: tiles of rows, each with the rows' elements side by side for every step where a vector of
  // them holds as many factors of lane-wise multiply-adds, else row by row.
  Value placeOf(int64_t product, Value slot, Value step) {
    Value first = c.i64(product * factorSize);
    if (!e.target.multipliesByLane())
      return c.add(first, c.add(c.mul(slot, depth), step));
    Value within = c.rem(slot, c.i64(tileM));
    return c.add(first, c.add(c.add(c.mul(c.sub(slot, within), depth), c.mul(step, tileM)), within));
  }

  void transformRows() {
    // Four pairs at a time are transposed in registers.
    bool transposes = e.target.multipliesByLane() && lanes == 4 && tileM % 4 == 0;
    int64_t together = transposes ? 4 : 1;
    c.loop(firstPair, lastPair, together, [&](Value pair) {
      Value slot = c.sub(pair, firstPair);
      SmallVector<Pair> pairs;
      for (int64_t i = 0; i < together; ++i)
        pairs.push_back(rowsOf(c.add(pair, i)));
      auto oneByOne = [&](Value step, int64_t count) {
        for (int64_t i = 0; i < together; ++i)
          for (auto [product, factor] : llvm::enumerate(factors(pairs[i], step, count)))
            c.store(factor, k.scratch, placeOf(product, c.add(slot, i), step), element);
      };
      if (!e.target.multipliesByLane())
        return vectorLoop(c, c.i64(0), c.i64(depth), lanes, lanes, oneByOne);
      int64_t whole = transposes ? depth - depth % 4 : 0;
      c.loop(c.i64(0), c.i64(whole), 4, [&](Value step) {
        SmallVector<SmallVector<Value>> ofPairs;
        for (const Pair &rows : pairs)
          ofPairs.push_back(factors(rows, step, 4));
        for (int64_t product = 0; product < strassen::products; ++product) {
          SmallVector<Value> vectors;
          for (const SmallVector<Value> &ofPair : ofPairs)
            vectors.push_back(ofPair[product]);
          for (auto [u, vector] : llvm::enumerate(transposeFour(c, vectors)))
            c.store(vector, k.scratch, placeOf(product, slot, c.add(step, u)), element);
        }
      });
      c.loop(c.i64(whole), c.i64(depth), 1, [&](Value step) { oneByOne(step, 1); });
    });
  }

  Value productAt(Value product, Value slot) {
    return c.add(c.mul(c.add(c.mul(product, taskPairs), slot), tileN), productsAt);
  }

  // A stored factor's panel.
  Value storedAt(Value product, Value panel) {
    return c.add(c.mul(panel, c.expr(weight.layout.blockStride)), c.mul(product, c.expr(weight.layout.strides[0])));
  }

  // The factors of a panel that are not stored, behind the others: those that they are sums of are in a cache then.
  void addUpStored(Value panel) {
    int64_t size = depth * tileN, first = stored - strassen::basis;
    vectorLoop(c, c.i64(0), c.i64(size), lanes, lanes, [&](Value at, int64_t count) {
      SmallVector<Value> basis;
      for (int64_t factor = 0; factor < strassen::basis; ++factor)
        basis.push_back(c.load(weight.pointer, c.add(storedAt(c.i64(factor), panel), at), element, count));
      SmallVector<Value> rest = combineStored(basis);
      for (auto [i, sum] : llvm::enumerate(ArrayRef(rest).drop_front(first)))
        c.store(sum, k.scratch, c.add(at, restAt + i * size), element);
    });
  }

  // The products of the task's rows with one factor's panel.
  void multiply(Value product, Value panel) {
    Value isStored = c.cmp(arith::CmpIPredicate::slt, product, c.i64(stored));
    Value start = c.select(isStored, storedAt(product, panel),
                           c.add(c.mul(c.sub(product, c.i64(stored)), depth * tileN), restAt));
    Value right = c.select(isStored, weight.pointer, k.scratch);
    RegisterTile registers{e, element, tileN, schedule.unrollK, schedule.inFlight, schedule.loadAhead, right, element};
    Value count = c.sub(lastPair, firstPair), full = c.sub(count, c.rem(count, c.i64(tileM)));
    c.loop(c.i64(0), full, tileM, [&](Value slot) { multiplyTile(registers, product, slot, tileM, start); });
    // Tasks start at multiples of the tile, so that only one remainder exists.
    if (int64_t rest = pairs % tileM)
      c.when(c.cmp(arith::CmpIPredicate::slt, full, count),
             [&] { multiplyTile(registers, product, full, rest, start); });
  }

  void multiplyTile(const RegisterTile &registers, Value product, Value slot, int64_t height, Value panel) {
    SmallVector<int64_t> pieces = registers.piecesOf(tileN);
    int64_t sets = registers.setsFor(height * pieces.size(), depth);
    SmallVector<Value> sums = registers.zeros(height * sets, pieces);
    Value factor = c.mul(product, factorSize), length = c.i64(depth);
    Ahead ahead = nextPanel(slot, c.add(panel, depth * tileN));
    if (e.target.multipliesByLane()) {
      Value rowsAt = c.add(factor, c.mul(slot, depth));
      sums =
          registers.multiplyPacked(k.scratch, element, rowsAt, tileM, height, panel, length, pieces, sets, ahead, sums);
    } else {
      SmallVector<Value> starts;
      for (int64_t r = 0; r < height; ++r)
        starts.push_back(c.add(factor, c.mul(c.add(slot, r), depth)));
      sums = registers.multiply(k.scratch, element, starts, panel, length, pieces, sets, ahead, sums);
    }
    // The products of a tile follow each other.
    Value place = c.whole(c.address(k.scratch, productAt(product, slot), element));
    for (int64_t at = 0; auto [i, sum] : llvm::enumerate(registers.joinSets(sums, sets))) {
      c.store(sum, place, c.i64(at), element);
      at += pieces[i % pieces.size()];
    }
  }

  // A tile's share of fetching the next panel of weights, which follow each other as they are read.
  Ahead nextPanel(Value slot, Value next) {
    if (!schedule.fetchAhead)
      return {};
    int64_t tiles = llvm::divideCeil(std::min(taskPairs, pairs), tileM);
    return shareOfPanel(c, next, c.div(slot, c.i64(tileM)), tiles, c.i64(depth), tileN);
  }

  // The results of a pair of rows in a panel of the left half, and in the one as far into the right half. Columns are a
  // loop: the consumers of all of them at once would not fit into the registers.
  void finish(Value pair, Value panel) {
    prefetchOperands(c.min(c.add(pair, schedule.fetchPairs), c.sub(lastPair, c.i64(1))), panel);
    Value slot = c.sub(pair, firstPair), firstColumn = c.mul(panel, tileN);
    Value width = columns % tileN == 0 ? c.i64(tileN) : c.min(c.i64(tileN), c.sub(c.i64(columns), firstColumn));
    Pair indices = rowsOf(pair);
    vectorLoop(c, c.i64(0), width, lanes, lanes, [&](Value column, int64_t count) {
      SmallVector<Value> products;
      for (int64_t p = 0; p < strassen::products; ++p)
        products.push_back(c.load(k.scratch, c.add(productAt(c.i64(p), slot), column), element, count));
      SmallVector<Value> quarters = combineProducts(products);
      auto storeRow = [&](const Indices &row, ArrayRef<Value> halves) {
        for (auto [half, values] : llvm::enumerate(halves))
          store(row, c.add(c.add(firstColumn, column), half * columns), values, count);
      };
      storeRow(indices.first, ArrayRef(quarters).take_front(2));
      if (rows % 2 == 0)
        return storeRow(indices.second, ArrayRef(quarters).drop_front(2));
      c.when(c.cmp(arith::CmpIPredicate::slt, c.add(c.mul(pair, 2), 1), c.i64(rows)),
             [&] { storeRow(indices.second, ArrayRef(quarters).drop_front(2)); });
    });
  }

  void store(Indices index, Value column, Value values, int64_t count) {
    index[channel] = {column, count > 1 ? 1 : 0};
    if (!isa<NoneType>(op.getBias().getType()))
      values = arith::AddFOp::create(c.b, c.loc, values, e.element(op.getBias(), index[channel], count));
    k.storeAnchor(index, values, count);
  }

  // What is added to the results of a pair of rows.
  void prefetchOperands(Value pair, Value panel) {
    Pair indices = rowsOf(pair);
    for (Indices index : {indices.first, indices.second})
      for (int64_t half : {0, 1}) {
        index[channel] = {c.add(c.mul(panel, tileN), half * columns)};
        k.prefetchOperands(index, channel, tileN);
      }
  }

  KernelBody &k;
  const StrassenSchedule &schedule;
  Emitter &e;
  Code &c;
  StrassenOp op;
  const Buffer &weight;
  RankedTensorType type;
  Type element;
  int64_t channel, lanes;
  int64_t depth, columns; // of a quarter of the weights
  int64_t tileM, tileN;
  int64_t stored; // factors of the weights
  Combination combineLeft, combineStored, combineProducts;
  SmallVector<Loop> rowLoops;
  int64_t rows = 0, pairs = 0, taskPairs = 0;
  int64_t factorSize = 0, productsAt = 0, restAt = 0;
  Value firstPair, lastPair;
};

} // namespace

Grid emitStrassen(KernelBody &k, const StrassenSchedule &schedule) { return StrassenProduct(k, schedule).emit(); }

} // namespace fathom
