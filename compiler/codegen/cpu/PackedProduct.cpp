// Products with a matrix of 4-bit or 8-bit integers, which stay packed in memory: with one row of input, reading them
// is all the time there is. Tasks divide the matrix's rows (the result's columns); several of them at a time share the
// loads of the input, and several rows of input share the unpacking.
#include "compiler/schedule/PackedProduct.h"
#include "compiler/codegen/common/KernelBody.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

class PackedProduct {
public:
  PackedProduct(KernelBody &k, const PackedProductSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<MatMulNBitsOp>(k.anchor)), input(op.getInput().getType()),
        element(input.getElementType()), lanes(std::min(schedule.vectors * e.target.lanes(32), unit)),
        block(op.getBlockSize()), bits(op.getBits()), depth(op.getK()), chunk(std::min(block, schedule.chunk)),
        f32(c.b.getF32Type()) {
    hasZeroPoints = !isa<NoneType>(op.getZeroPoints().getType());
    hasFloatZeroPoints = hasZeroPoints && isa<FloatType>(elementOf(op.getZeroPoints()));
    // A difference of two nibbles, or of a byte and 128, fits into a signed byte and is taken before widening.
    subtractsBytes = bits == 4 ? !hasFloatZeroPoints : !hasZeroPoints;
  }

  Grid run() {
    Grid grid;
    rowLoops = loopsOver(input, {}, {input.getRank() - 1});
    AffineExpr rowCount = iterations(rowLoops, k.context());
    int64_t sharedRows = schedule.tileM;
    Value rows = c.expr(rowCount), wholeRows = c.sub(rows, c.rem(rows, c.i64(sharedRows)));
    auto [low, high] = k.taskRange(grid, getAffineConstantExpr(op.getN(), k.context()), schedule.grain);
    auto fill = [&](Value firstRow, Value lastRow, int64_t height, int64_t width) {
      auto stripe = [&](Value column, int64_t columns) {
        c.loop(firstRow, lastRow, height, [&](Value row) { tile(row, height, column, columns); });
      };
      Value whole = c.sub(high, c.rem(c.sub(high, low), c.i64(width)));
      c.loop(low, whole, width, [&](Value column) { stripe(column, width); });
      c.loop(whole, high, 1, [&](Value column) { stripe(column, 1); });
    };
    if (!isConstant(rowCount, 1))
      fill(c.i64(0), wholeRows, sharedRows, schedule.tileN);
    fill(isConstant(rowCount, 1) ? c.i64(0) : wholeRows, rows, 1, schedule.rowN);
    return grid;
  }

private:
  using Sums = SmallVector<Value>; // one for each row and column of a tile

  static constexpr int64_t unit = PackedProductSchedule::unit;

  Value fma(Value x, Value y, Value z) { return LLVM::FMulAddOp::create(c.b, c.loc, x, y, z); }
  Value widened(Value x) {
    if (getElementTypeOrSelf(x.getType()) == f32)
      return x;
    auto vector = dyn_cast<VectorType>(x.getType());
    return arith::ExtFOp::create(c.b, c.loc, vector ? Type(vector.clone(f32)) : f32, x);
  }
  // Through element(), as small constants are part of the code and have no buffer.
  Value at(Value tensor, Value row, Value column, int64_t count = 1) {
    return e.element(tensor, Indices{{row, 0}, {column, count > 1 ? 1 : 0}}, count);
  }

  // The integer that stands for zero in a block, as a byte, or as a float where zero points are floats.
  Value zeroPoint(Value column, Value index) {
    Type i8 = c.b.getI8Type();
    if (!hasZeroPoints)
      return c.integer(i8, bits == 4 ? 8 : -128);
    if (hasFloatZeroPoints)
      return widened(at(op.getZeroPoints(), column, index));
    return bits == 8 ? at(op.getZeroPoints(), column, index) : nibble(op.getZeroPoints(), column, index);
  }
  Value nibble(Value tensor, Value row, Value index) {
    Value byte = at(tensor, row, c.div(index, c.i64(2)));
    Value shift = arith::TruncIOp::create(c.b, c.loc, byte.getType(), c.mul(c.rem(index, c.i64(2)), 4));
    Value shifted = arith::ShRUIOp::create(c.b, c.loc, byte, shift);
    return arith::AndIOp::create(c.b, c.loc, shifted, c.integer(byte.getType(), 15));
  }

  // Bytes as floats with the zero point subtracted; scalars and vectors alike.
  Value dequantized(Value bytes, Value zero) {
    auto vector = dyn_cast<VectorType>(bytes.getType());
    auto like = [&](Type type) { return vector ? Type(vector.clone(type)) : type; };
    auto splat = [&](Value x) { return vector ? c.splat(x, vector.getNumElements()) : x; };
    Type i32 = like(c.b.getI32Type());
    if (subtractsBytes) {
      Value wide = arith::ExtSIOp::create(c.b, c.loc, i32, bytes);
      return arith::SIToFPOp::create(c.b, c.loc, like(f32), wide);
    }
    Value wide = arith::ExtUIOp::create(c.b, c.loc, i32, bytes);
    if (hasFloatZeroPoints)
      return arith::SubFOp::create(c.b, c.loc, arith::SIToFPOp::create(c.b, c.loc, like(f32), wide).getResult(),
                                   splat(zero));
    Value offset = splat(arith::ExtUIOp::create(c.b, c.loc, c.b.getI32Type(), zero));
    Value difference = arith::SubIOp::create(c.b, c.loc, wide, offset);
    return arith::SIToFPOp::create(c.b, c.loc, like(f32), difference);
  }
  Value minusBytes(Value bytes, Value zero) {
    if (!subtractsBytes)
      return bytes;
    auto vector = dyn_cast<VectorType>(bytes.getType());
    return arith::SubIOp::create(c.b, c.loc, bytes, vector ? c.splat(zero, vector.getNumElements()) : zero);
  }

  // The bytes of a chunk's weights from position `start` of a row on, in order.
  Value weights(Value column, Value start, Value zero) {
    Value bytes = at(op.getWeight(), column, c.div(start, c.i64(8 / bits)), chunk * bits / 8);
    if (bits == 4) {
      Value low = arith::AndIOp::create(c.b, c.loc, bytes, c.integer(bytes.getType(), 15));
      Value high = arith::ShRUIOp::create(c.b, c.loc, bytes, c.integer(bytes.getType(), 4));
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < chunk / 2; ++i)
        order.append({i, chunk / 2 + i});
      bytes = vector::ShuffleOp::create(c.b, c.loc, low, high, order);
    }
    return minusBytes(bytes, zero);
  }
  Value slice(Value vector, int64_t from, int64_t count) {
    if (cast<VectorType>(vector.getType()).getNumElements() == count)
      return vector;
    return vector::ExtractStridedSliceOp::create(c.b, c.loc, vector, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{count},
                                                 ArrayRef<int64_t>{1});
  }

  // A weight at a position of a row, where no chunk fits any more.
  Value weight(Value column, Value position, Value zero) {
    Value byte = bits == 8 ? at(op.getWeight(), column, position) : nibble(op.getWeight(), column, position);
    return dequantized(minusBytes(byte, zero), zero);
  }

  Value inputs(ArrayRef<Index> row, Value position, int64_t count) {
    Indices index(row);
    index.back() = {position, count > 1 ? 1 : 0};
    return widened(e.element(op.getInput(), index, count));
  }

  // Adds the products of `steps` chunks from `start` on.
  Sums addChunks(ArrayRef<Indices> rows, Value column, int64_t columns, Value start, int64_t steps,
                 ArrayRef<Value> zeros, ValueRange init) {
    return c.loop(c.i64(0), c.i64(steps), 1, init, [&](Value step, ValueRange carried) {
      Sums sums(carried.begin(), carried.end());
      Value from = c.add(start, c.mul(step, chunk));
      Sums bytes;
      for (int64_t n = 0; n < columns; ++n)
        bytes.push_back(weights(c.add(column, n), from, zeros[n]));
      // One column after another, so that few registers hold widened weights.
      for (int64_t first = 0; first < chunk; first += unit)
        for (int64_t n = 0; n < columns; ++n) {
          Value factors = dequantized(slice(bytes[n], first, unit), zeros[n]);
          for (int64_t i = 0; i < unit; i += lanes)
            for (auto [m, row] : llvm::enumerate(rows)) {
              Value &sum = sums[m * columns + n];
              sum = fma(slice(factors, i, lanes), inputs(row, c.add(from, first + i), lanes), sum);
            }
        }
      return sums;
    });
  }

  Value total(Value vector) {
    while (auto type = dyn_cast<VectorType>(vector.getType())) {
      int64_t half = type.getNumElements() / 2;
      if (half == 0)
        return c.extract(vector, 0);
      Value low = half == 1 ? c.extract(vector, 0) : slice(vector, 0, half);
      Value high = half == 1 ? c.extract(vector, 1) : slice(vector, half, half);
      vector = arith::AddFOp::create(c.b, c.loc, low, high);
    }
    return vector;
  }

  // `height` rows of the input times `columns` rows of the matrix. Each block is summed by itself, so that its scale is
  // applied once.
  void tile(Value firstRow, int64_t height, Value column, int64_t columns) {
    SmallVector<Indices> rows;
    for (int64_t m = 0; m < height; ++m) {
      rows.push_back(e.zeros(input.getRank()));
      delinearize(c, c.add(firstRow, m), rowLoops, rows.back());
    }
    size_t count = height * columns;
    int64_t blocks = depth / block, rest = depth % block;
    Sums vectors(count, c.number(vectorType(f32, lanes), 0));
    auto scaleOf = [&](int64_t n, Value index) { return widened(at(op.getScales(), c.add(column, n), index)); };
    auto zerosOf = [&](Value index) {
      Sums zeros;
      for (int64_t n = 0; n < columns; ++n)
        zeros.push_back(zeroPoint(c.add(column, n), index));
      return zeros;
    };
    auto addBlock = [&](Value index, int64_t steps, ValueRange carried) {
      Sums none(count, c.number(vectorType(f32, lanes), 0)), sums(carried.begin(), carried.end());
      Sums ofBlock = addChunks(rows, column, columns, c.mul(index, block), steps, zerosOf(index), none);
      for (int64_t n = 0; n < columns; ++n) {
        Value scale = c.splat(scaleOf(n, index), lanes);
        for (int64_t m = 0; m < height; ++m)
          sums[m * columns + n] = fma(ofBlock[m * columns + n], scale, sums[m * columns + n]);
      }
      return sums;
    };
    vectors = c.loop(c.i64(0), c.i64(blocks), 1, vectors,
                     [&](Value index, ValueRange carried) { return addBlock(index, block / chunk, carried); });
    if (rest >= chunk)
      vectors = addBlock(c.i64(blocks), rest / chunk, vectors);
    Sums sums;
    for (Value vector : vectors)
      sums.push_back(total(vector));
    if (rest % chunk) {
      Value index = c.i64(blocks);
      Sums zeros = zerosOf(index);
      Sums tail = c.loop(c.i64(depth - rest % chunk), c.i64(depth), 1, Sums(count, c.number(f32, 0)),
                         [&](Value position, ValueRange carried) {
                           Sums next(carried.begin(), carried.end());
                           for (int64_t n = 0; n < columns; ++n) {
                             Value w = weight(c.add(column, n), position, zeros[n]);
                             for (int64_t m = 0; m < height; ++m)
                               next[m * columns + n] = fma(w, inputs(rows[m], position, 1), next[m * columns + n]);
                           }
                           return next;
                         });
      for (size_t i = 0; i < count; ++i)
        sums[i] = fma(tail[i], scaleOf(i % columns, index), sums[i]);
    }
    for (int64_t m = 0; m < height; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        Value sum = sums[m * columns + n];
        Indices index = rows[m];
        index.back() = {c.add(column, n), 0};
        e.store(k.outputs[0], index,
                element == f32 ? sum : arith::TruncFOp::create(c.b, c.loc, element, sum).getResult(), 1);
      }
  }

  KernelBody &k;
  const PackedProductSchedule &schedule;
  Emitter &e;
  Code &c;
  MatMulNBitsOp op;
  RankedTensorType input;
  Type element;
  int64_t lanes, block, bits, depth, chunk;
  Type f32;
  bool hasZeroPoints, hasFloatZeroPoints, subtractsBytes;
  SmallVector<Loop> rowLoops;
};

} // namespace

Grid emitPackedProduct(KernelBody &k, const PackedProductSchedule &schedule) {
  return PackedProduct(k, schedule).run();
}

} // namespace fathom
