// Pooling windows: bounds are clipped to the input, so that padding is never read.
#include "compiler/codegen/common/KernelBody.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
Grid emitPool(KernelBody &k, const PoolSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  Operation *op = k.anchor;
  Value input = op->getOperand(0);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  bool half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  Type acc = half ? Type(c.b.getF32Type()) : registerType(element);
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger();
  Window window = *getWindow(op);
  int64_t spatial = window.kernel.size();
  Sizes sizes = sizesOf(input);
  auto maxPool = dyn_cast<MaxPoolOp>(op);
  auto average = dyn_cast<AveragePoolOp>(op);
  auto lp = dyn_cast<LpPoolOp>(op);
  // By the kernel's result, or by what is computed from them.
  bool wantsIndices = maxPool && maxPool.getIndices() && !maxPool.getIndices().use_empty();

  Grid grid;
  int64_t innermost = innermostDim(type);
  bool lanesOverChannels = e.target.hasVectors() && innermost >= 0 && innermost < 2 && !wantsIndices;
  SmallVector<int64_t> without;
  if (lanesOverChannels)
    without.push_back(innermost);
  SmallVector<Loop> loops = loopsOver(type, {}, without);
  auto [low, high] = k.taskRange(grid, iterations(loops, k.context()), schedule.grain);
  c.loop(low, high, 1, [&](Value row) {
    Indices index = e.zeros(type.getRank());
    delinearize(c, row, loops, index);
    SmallVector<Span> spans;
    Value count = c.i64(1);
    for (int64_t d = 0; d < spatial; ++d) {
      spans.push_back(clip(c, window, d, index[2 + d].base, sizes[2 + d]));
      if (average && average.getCountIncludePad()) {
        // Padding counts, but not what a rounded-up output reaches beyond it.
        Value end = c.sub(c.add(c.expr(sizes[2 + d]), window.padsEnd[d]), spans[d].origin);
        Value taps = c.b.createOrFold<arith::CeilDivSIOp>(c.loc, end, c.i64(window.dilations[d]));
        count = c.mul(count, c.min(c.i64(window.kernel[d]), taps));
      } else {
        count = c.mul(count, c.sub(spans[d].high, spans[d].low));
      }
    }
    auto body = [&](int64_t lanes) {
      Type vector = vectorType(acc, lanes);
      Value init = c.number(vector, 0);
      if (maxPool) {
        unsigned bits = acc.getIntOrFloatBitWidth();
        if (isFloat)
          init = c.number(vector, -INFINITY);
        else
          init =
              c.splat(arith::ConstantOp::create(c.b, c.loc,
                                                c.b.getIntegerAttr(acc, isUnsigned ? APInt::getMinValue(bits)
                                                                                   : APInt::getSignedMinValue(bits))),
                      lanes);
      }
      SmallVector<Value> state{init};
      if (wantsIndices)
        state.push_back(c.i64(-1));
      Indices at = index;
      std::function<SmallVector<Value>(int64_t, SmallVector<Value>)> nest =
          [&](int64_t d, SmallVector<Value> carried) -> SmallVector<Value> {
        if (d < spatial)
          return c.loop(spans[d].low, spans[d].high, 1, carried, [&](Value tap, ValueRange values) {
            at[2 + d] = {c.add(spans[d].origin, c.mul(tap, window.dilations[d])), 0};
            return nest(d + 1, llvm::to_vector(values));
          });
        Value x = e.element(input, at, lanes);
        if (half)
          x = arith::ExtFOp::create(c.b, c.loc, vector, x);
        if (average)
          return {arith::AddFOp::create(c.b, c.loc, carried[0], x)};
        if (lp) {
          Value magnitude = math::AbsFOp::create(c.b, c.loc, x);
          Value power = lp.getP() == 2 ? Value(arith::MulFOp::create(c.b, c.loc, x, x))
                        : lp.getP() == 1
                            ? magnitude
                            : Value(math::PowFOp::create(c.b, c.loc, magnitude, c.number(vector, lp.getP())));
          return {arith::AddFOp::create(c.b, c.loc, carried[0], power)};
        }
        if (!wantsIndices) {
          if (isFloat)
            return {arith::MaximumFOp::create(c.b, c.loc, carried[0], x)};
          return {isUnsigned ? Value(arith::MaxUIOp::create(c.b, c.loc, carried[0], x))
                             : Value(arith::MaxSIOp::create(c.b, c.loc, carried[0], x))};
        }
        // The position within the whole input, in row-major or (storage_order) column-major spatial order.
        Value flat = c.add(c.mul(at[0].base, c.expr(sizes[1])), at[1].base);
        for (int64_t i = 0; i < spatial; ++i) {
          Value stride = c.i64(1);
          for (int64_t j = 0; j < spatial; ++j)
            if (maxPool.getStorageOrder() ? j < i : j > i)
              stride = c.mul(stride, c.expr(sizes[2 + j]));
          at[2 + i].step = 0;
          flat = i == 0 ? c.mul(flat, c.expr(product(ArrayRef(sizes).drop_front(2), k.context()))) : flat;
          flat = c.add(flat, c.mul(at[2 + i].base, stride));
        }
        Value wins =
            isFloat
                ? Value(arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OGT, x, carried[0]))
                : Value(arith::CmpIOp::create(
                      c.b, c.loc, isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, carried[0]));
        wins = arith::OrIOp::create(c.b, c.loc, wins, c.cmp(arith::CmpIPredicate::slt, carried[1], c.i64(0)));
        return {c.select(wins, x, carried[0]), c.select(wins, flat, carried[1])};
      };
      SmallVector<Value> result = nest(0, state);
      Value value = result[0];
      if (average) {
        // A window that lies in the padding sums up nothing: 0, as ONNX Runtime has it.
        Value some = arith::SIToFPOp::create(c.b, c.loc, acc, c.max(count, c.i64(1)));
        value = arith::DivFOp::create(c.b, c.loc, value, c.splat(some, lanes));
      }
      if (lp && lp.getP() != 1)
        value = lp.getP() == 2 ? Value(math::SqrtOp::create(c.b, c.loc, value))
                               : Value(math::PowFOp::create(c.b, c.loc, value, c.number(vector, 1.0 / lp.getP())));
      if (half)
        value = arith::TruncFOp::create(c.b, c.loc, vectorType(element, lanes), value);
      e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return value; });
      if (wantsIndices)
        e.bind(op->getResult(1), [=](ArrayRef<Index>, int64_t) { return result[1]; });
      k.storeResults(index, lanes);
    };
    if (!lanesOverChannels)
      return body(1);
    vectorLoop(c, c.i64(0), c.expr(sizesOf(type)[innermost]), schedule.lanes, e.target.lanes(32),
               [&](Value iv, int64_t lanes) {
                 index[innermost] = {iv, lanes > 1 ? 1 : 0};
                 body(lanes);
               });
  });
  return grid;
}

} // namespace fathom
