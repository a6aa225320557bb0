// Products and convolutions in their plain form: an item computes a few rows (pixels) of a few columns (channels) and
// reads both operands where they lie, whatever their layout.
#include "compiler/codegen/simt/Product.h"

#include "compiler/codegen/common/Sums.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class Product {
public:
  Product(KernelBody &k, const ProductSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(k.anchor), left(op->getOperand(0)), right(op->getOperand(1)),
        type(cast<RankedTensorType>(op->getResult(0).getType())), sizes(sizesOf(type)) {
    Type element = type.getElementType();
    isFloat = isa<FloatType>(element);
    acc = isFloat && element.getIntOrFloatBitWidth() == 16 ? Type(c.b.getF32Type()) : registerType(element);
    int64_t rank = type.getRank();
    if (auto conv = dyn_cast<ConvOp>(op)) {
      channel = 1, window = *getWindow(op);
      if (conv.getGroup() > 1)
        groupColumns = *constantSize(sizes[1]) / conv.getGroup();
      rowLoops = loopsOver(type, {}, {1});
      return;
    }
    channel = rank - 1;
    bool isBatched = isa<MatMulOp>(op) && llvm::any_of(ArrayRef(sizesOf(right)).drop_back(2),
                                                       [](AffineExpr s) { return !isConstant(s, 1); });
    if (isBatched)
      batchLoops = loopsOver(type, {}, {rank - 2, rank - 1}), rowLoops = {{rank - 2, sizes[rank - 2]}};
    else
      rowLoops = loopsOver(type, {}, {channel});
  }

  Grid emit() {
    Axis rows{iterations(rowLoops, k.context()), schedule.tileM}, columns{sizes[channel], schedule.tileN};
    // Neighbouring items have results that lie side by side, unless channels of a group are to stay together.
    Axis &inner = innermostDim(type) == channel ? columns : rows, &outer = &inner == &rows ? columns : rows;
    inner.isApart = &inner == &rows || !groupColumns;
    Value task = k.task, count = c.expr(inner.parts());
    inner.part = c.rem(task, count), task = c.div(task, count);
    Value outerCount = c.expr(outer.parts());
    outer.part = c.rem(task, outerCount);
    Indices base = e.zeros(type.getRank());
    delinearize(c, c.div(task, outerCount), batchLoops, base);
    for (int64_t i = 0; i < rows.each; ++i) {
      Place place = placeOf(rows, i);
      Indices index = base;
      delinearize(c, place.position, rowLoops, index);
      rowIndices.push_back(index), rowIsInside.push_back(place.isInside);
    }
    for (int64_t i = 0; i < columns.each; ++i) {
      Place place = placeOf(columns, i);
      columnAt.push_back(place.position), columnIsInside.push_back(place.isInside);
    }
    store(window ? convolve() : isa<MatMulNBitsOp>(op) ? multiplyBits() : multiply());
    Grid grid;
    grid.tasks = size::simplified(iterations(batchLoops, k.context()) * rows.parts() * columns.parts());
    return grid;
  }

private:
  // Rows or columns, `each` of which a task computes: neighbours, or as many apart as there are parts.
  struct Axis {
    AffineExpr count;
    int64_t each;
    bool isApart = false;
    Value part = {};
    AffineExpr parts() const { return size::simplified(count.ceilDiv(each)); }
  };
  struct Place {
    Value position, isInside; // null where it always is
  };

  Place placeOf(const Axis &axis, int64_t i) {
    Value position =
        axis.isApart ? c.add(axis.part, c.mul(c.expr(axis.parts()), i)) : c.add(c.mul(axis.part, axis.each), i);
    std::optional<int64_t> known = constantSize(axis.count);
    if (i == 0 || (known && *known % axis.each == 0))
      return {position, {}};
    Value last = c.sub(c.expr(axis.count), c.i64(1));
    return {c.min(position, last), c.cmp(arith::CmpIPredicate::sle, position, last)};
  }

  Value widened(Value x) { return x.getType() == acc ? x : arith::ExtFOp::create(c.b, c.loc, acc, x).getResult(); }
  Value add(Value x, Value y) { return isFloat ? arith::AddFOp::create(c.b, c.loc, x, y).getResult() : c.add(x, y); }
  Value multiplyAdd(Value x, Value y, Value sum) {
    return isFloat ? LLVM::FMulAddOp::create(c.b, c.loc, x, y, sum).getResult() : c.add(sum, c.mul(x, y));
  }
  SmallVector<Value> zeros() { return SmallVector<Value>(rowIndices.size() * columnAt.size(), c.number(acc, 0)); }

  // Adds a step of the reduction to all sums, from the functions of a row and of a column.
  SmallVector<Value> step(ValueRange sums, llvm::function_ref<Value(size_t)> row,
                          llvm::function_ref<Value(size_t)> column) {
    SmallVector<Value> factors, next;
    for (size_t j = 0; j < columnAt.size(); ++j)
      factors.push_back(column(j));
    for (size_t i = 0; i < rowIndices.size(); ++i) {
      Value x = row(i);
      for (auto [j, factor] : llvm::enumerate(factors))
        next.push_back(multiplyAdd(x, factor, sums[i * factors.size() + j]));
    }
    return next;
  }
  SmallVector<Value> overSteps(Value count, ValueRange sums, Code::CarryBody body) {
    return sumInBlocks(
        c, count, longestChain, 1, sums, zeros(), [&](Value x, Value y) { return add(x, y); },
        [&](Value from, Value to, ValueRange carried) { return c.loop(from, to, 1, carried, body); });
  }

  // The index of an operand of a product: that of the result in all but the last two dimensions.
  Indices operandIndex(Value operand, ArrayRef<Index> result, Value row, Value column) {
    Indices index = e.broadcast(cast<RankedTensorType>(operand.getType()), result);
    index[index.size() - 2] = {row, 0}, index.back() = {column, 0};
    return index;
  }

  SmallVector<Value> multiply() {
    return overSteps(c.expr(sizesOf(left).back()), zeros(), [&](Value at, ValueRange sums) {
      return step(
          sums,
          [&](size_t i) {
            const Indices &result = rowIndices[i];
            return widened(e.element(left, operandIndex(left, result, result[type.getRank() - 2].base, at), 1));
          },
          [&](size_t j) { return widened(e.element(right, operandIndex(right, rowIndices[0], at, columnAt[j]), 1)); });
    });
  }

  // The matrix has a row for each column of the result, of small integers that are packed into bytes and shifted and
  // scaled in blocks.
  SmallVector<Value> multiplyBits() {
    auto product = cast<MatMulNBitsOp>(op);
    int64_t bits = product.getBits();
    Type f32 = c.b.getF32Type();
    auto number = [&](Value tensor, Value row, Value position) -> Value {
      Value byte = e.element(tensor, Indices{{row, 0}, {c.div(position, c.i64(8 / bits)), 0}}, 1);
      if (bits < 8) {
        Value shift =
            arith::TruncIOp::create(c.b, c.loc, byte.getType(), c.mul(c.rem(position, c.i64(8 / bits)), bits));
        byte = arith::AndIOp::create(c.b, c.loc, arith::ShRUIOp::create(c.b, c.loc, byte, shift).getResult(),
                                     c.integer(byte.getType(), (1 << bits) - 1));
      }
      return arith::UIToFPOp::create(c.b, c.loc, f32, byte);
    };
    auto elementAt = [&](Value tensor, Value row, Value column) {
      Value x = e.element(tensor, Indices{{row, 0}, {column, 0}}, 1);
      return x.getType() == f32 ? x : arith::ExtFOp::create(c.b, c.loc, f32, x).getResult();
    };
    auto weight = [&](Value column, Value at) -> Value {
      Value block = c.div(at, c.i64(product.getBlockSize())), zeros = product.getZeroPoints();
      Value zero = isa<NoneType>(zeros.getType())                ? c.number(f32, 1 << (bits - 1))
                   : isa<FloatType>(getElementTypeOrSelf(zeros)) ? elementAt(zeros, column, block)
                                                                 : number(zeros, column, block);
      Value shifted = arith::SubFOp::create(c.b, c.loc, number(product.getWeight(), column, at), zero);
      return arith::MulFOp::create(c.b, c.loc, shifted, elementAt(product.getScales(), column, block));
    };
    return overSteps(c.i64(product.getK()), zeros(), [&](Value at, ValueRange sums) {
      return step(
          sums,
          [&](size_t i) {
            Indices index = rowIndices[i];
            index.back() = {at, 0};
            return widened(e.element(left, index, 1));
          },
          [&](size_t j) { return weight(columnAt[j], at); });
    });
  }

  SmallVector<Value> convolve() {
    int64_t spatial = window->kernel.size(), taps = 1;
    for (int64_t size : window->kernel)
      taps *= size;
    Sizes input = sizesOf(left), weight = sizesOf(right);
    std::optional<int64_t> depth = constantSize(weight[1]);
    bool isOneChain = depth && *depth * taps <= longestChain;
    Value bias = cast<ConvOp>(op).getBias();
    SmallVector<Value> first = zeros();
    if (!isa<NoneType>(bias.getType()))
      for (size_t j = 0; j < columnAt.size(); ++j) {
        Value start = widened(e.element(bias, Index{columnAt[j], 0}, 1));
        for (size_t i = 0; i < rowIndices.size(); ++i)
          first[i * columnAt.size() + j] = start;
      }
    Value firstChannel = groupColumns ? c.mul(c.div(columnAt[0], c.i64(groupColumns)), c.expr(weight[1])) : c.i64(0);
    Indices tap = e.zeros(2 + spatial);
    SmallVector<Indices> from = rowIndices;
    std::function<SmallVector<Value>(int64_t, SmallVector<Value>, ValueRange)> nest =
        [&](int64_t d, SmallVector<Value> isInside, ValueRange sums) -> SmallVector<Value> {
      if (d < spatial)
        return c.loop(c.i64(0), c.i64(window->kernel[d]), 1, sums, [&](Value t, ValueRange carried) {
          tap[2 + d] = {t, 0};
          SmallVector<Value> here = isInside;
          for (auto [i, row] : llvm::enumerate(rowIndices)) {
            Value at = c.sub(c.add(c.mul(row[2 + d].base, window->strides[d]), c.mul(t, window->dilations[d])),
                             c.i64(window->padsBegin[d]));
            from[i][2 + d] = {at, 0};
            if (window->padsBegin[d] == 0 && window->padsEnd[d] == 0)
              continue;
            Value inside = c.cmp(arith::CmpIPredicate::ult, at, c.expr(input[2 + d]));
            here[i] = here[i] ? c.both(here[i], inside) : inside;
          }
          return nest(d + 1, here, carried);
        });
      auto channels = [&](Value channel, ValueRange carried) {
        tap[1] = {channel, 0};
        auto element = [&](size_t i) {
          from[i][1] = {c.add(firstChannel, channel), 0};
          return widened(e.element(left, from[i], 1));
        };
        return step(
            carried,
            [&](size_t i) {
              return isInside[i] ? c.when(
                                       isInside[i], [&] { return element(i); }, [&] { return c.number(acc, 0); })
                                 : element(i);
            },
            [&](size_t j) {
              tap[0] = {columnAt[j], 0};
              return widened(e.element(right, tap, 1));
            });
      };
      if (isOneChain)
        return c.loop(c.i64(0), c.expr(weight[1]), 1, sums, channels);
      SmallVector<Value> both;
      for (auto [before, part] : llvm::zip_equal(sums, overSteps(c.expr(weight[1]), zeros(), channels)))
        both.push_back(add(before, part));
      return both;
    };
    return nest(0, SmallVector<Value>(rowIndices.size()), first);
  }

  void store(ArrayRef<Value> sums) {
    Type element = registerType(type.getElementType());
    for (auto [i, row] : llvm::enumerate(rowIndices))
      for (size_t j = 0; j < columnAt.size(); ++j) {
        Value value = sums[i * columnAt.size() + j], isInside = rowIsInside[i];
        if (value.getType() != element)
          value = arith::TruncFOp::create(c.b, c.loc, element, value);
        Indices index = row;
        index[channel] = {columnAt[j], 0};
        if (columnIsInside[j])
          isInside = isInside ? c.both(isInside, columnIsInside[j]) : columnIsInside[j];
        isInside ? c.when(isInside, [&] { k.storeAnchor(index, value, 1); }) : k.storeAnchor(index, value, 1);
      }
  }

  KernelBody &k;
  const ProductSchedule &schedule;
  Emitter &e;
  Code &c;
  Operation *op;
  Value left, right;
  RankedTensorType type;
  Sizes sizes;
  int64_t channel;
  int64_t groupColumns = 0; // 0 without groups
  bool isFloat;
  Type acc;
  std::optional<Window> window;           // of convolutions
  SmallVector<Loop> batchLoops, rowLoops; // batches have right operands of their own
  SmallVector<Indices> rowIndices;        // of the task
  SmallVector<Value> rowIsInside, columnAt, columnIsInside;
};

} // namespace

Grid emitProduct(KernelBody &k, const ProductSchedule &schedule) { return Product(k, schedule).emit(); }

} // namespace fathom
