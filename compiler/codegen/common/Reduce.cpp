// Reductions along axes, with producers and consumers fused.
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/kernel/RowAxes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// The index of the result that belongs to an index of the input.
Indices keptIndex(Emitter &e, ArrayRef<Index> index, ArrayRef<int64_t> axes, bool keepdims) {
  Indices kept;
  for (auto [d, i] : llvm::enumerate(index)) {
    if (!llvm::is_contained(axes, int64_t(d)))
      kept.push_back(i);
    else if (keepdims)
      kept.push_back({e.c.i64(0), 0});
  }
  return kept;
}

// Where lanes run along what is kept, every step of the innermost axis reads some lines of it and passes the others:
// hardware does not fetch such lines ahead, so that the code does.
void prefetchAhead(Emitter &e, Value tensor, ArrayRef<Index> index, ArrayRef<int64_t> axes, int64_t lanes,
                   int64_t stepsAhead) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t kept = innermostDim(type), inLine = lineBytes / elementBytes(type.getElementType());
  if (llvm::is_contained(axes, kept) || lanes < inLine || !e.isBuffer(tensor))
    return;
  Indices at = llvm::to_vector(index);
  Layout layout = layoutOf(type);
  for (int64_t d : llvm::reverse(layout.order))
    if (llvm::is_contained(axes, d)) {
      at[d].base = e.c.add(at[d].base, stepsAhead);
      break;
    }
  prefetchRun(e, e.buffer(tensor), at, kept, lanes);
}

bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

Type likeLanes(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

} // namespace

Grid emitReduce(KernelBody &k, const RowSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  Operation *op = k.anchor;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  Type element = type.getElementType(), acc = isHalf(element) ? Type(c.b.getF32Type()) : registerType(element);
  bool isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  SmallVector<int64_t> axes = rowAxes(op);
  bool keepdims = op->getAttrOfType<IntegerAttr>("keepdims").getInt();

  auto add = [&](Value x, Value y) {
    return isFloat ? Value(arith::AddFOp::create(c.b, c.loc, x, y)) : Value(arith::AddIOp::create(c.b, c.loc, x, y));
  };
  auto mul = [&](Value x, Value y) {
    return isFloat ? Value(arith::MulFOp::create(c.b, c.loc, x, y)) : Value(arith::MulIOp::create(c.b, c.loc, x, y));
  };
  auto max = [&](Value x, Value y) -> Value {
    if (isFloat)
      return arith::MaximumFOp::create(c.b, c.loc, x, y);
    return isUnsigned ? Value(arith::MaxUIOp::create(c.b, c.loc, x, y))
                      : Value(arith::MaxSIOp::create(c.b, c.loc, x, y));
  };
  auto min = [&](Value x, Value y) -> Value {
    if (isFloat)
      return arith::MinimumFOp::create(c.b, c.loc, x, y);
    return isUnsigned ? Value(arith::MinUIOp::create(c.b, c.loc, x, y))
                      : Value(arith::MinSIOp::create(c.b, c.loc, x, y));
  };
  auto lowest = [&](bool largest) {
    if (isFloat)
      return c.number(acc, largest ? INFINITY : -INFINITY);
    unsigned bits = acc.getIntOrFloatBitWidth();
    APInt value = largest ? (isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits))
                          : (isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits));
    return Value(arith::ConstantOp::create(c.b, c.loc, c.b.getIntegerAttr(acc, value)));
  };
  auto item = [&](ArrayRef<Index> index, int64_t lanes) {
    prefetchAhead(e, op->getOperand(0), index, axes, lanes, schedule.fetchSteps);
    Value x = e.element(op->getOperand(0), index, lanes);
    return isHalf(element) ? Value(arith::ExtFOp::create(c.b, c.loc, likeLanes(x, acc), x)) : x;
  };

  Reducer reducer{e, type, axes, schedule.lanes, e.target.lanes(32)};
  return overRows(k, schedule, type, axes, [&](Indices index, int64_t lanes) {
    auto sum = [&](llvm::function_ref<Value(Value)> f) {
      return reducer.reduce(index, lanes, c.number(acc, 0), add,
                            [&](ArrayRef<Index> i, int64_t n) { return f(item(i, n)); });
    };
    auto square = [&](Value x) { return mul(x, x); };
    auto same = [](Value x) { return x; };
    auto zero = [&](Value like) { return c.number(like.getType(), 0); };
    auto count = [&](Value like) {
      AffineExpr product = getAffineConstantExpr(1, k.context());
      for (int64_t axis : axes)
        product = product * sizesOf(type)[axis];
      Value n = c.expr(product);
      Value number = isFloat             ? Value(arith::SIToFPOp::create(c.b, c.loc, acc, n))
                     : acc.isInteger(64) ? n
                                         : Value(arith::TruncIOp::create(c.b, c.loc, acc, n));
      return c.splat(number, isa<VectorType>(like.getType()) ? cast<VectorType>(like.getType()).getNumElements() : 1);
    };
    Value result = TypeSwitch<Operation *, Value>(op)
                       .Case([&](ReduceSumOp) { return sum(same); })
                       .Case([&](ReduceMeanOp) {
                         Value total = sum(same), n = count(total);
                         if (isFloat)
                           return Value(arith::DivFOp::create(c.b, c.loc, total, n));
                         Value safe = c.max(n, c.integer(n.getType(), 1));
                         return isUnsigned ? Value(arith::DivUIOp::create(c.b, c.loc, total, safe))
                                           : Value(arith::DivSIOp::create(c.b, c.loc, total, safe));
                       })
                       .Case([&](ReduceSumSquareOp) { return sum(square); })
                       .Case([&](ReduceL1Op) {
                         return sum([&](Value x) -> Value {
                           if (isFloat)
                             return math::AbsFOp::create(c.b, c.loc, x);
                           return isUnsigned ? x : max(x, arith::SubIOp::create(c.b, c.loc, zero(x), x));
                         });
                       })
                       .Case([&](ReduceL2Op) -> Value {
                         Value total = sum(square);
                         if (isFloat)
                           return math::SqrtOp::create(c.b, c.loc, total);
                         Type wide = likeLanes(total, c.b.getF64Type());
                         Value exact = isUnsigned ? Value(arith::UIToFPOp::create(c.b, c.loc, wide, total))
                                                  : Value(arith::SIToFPOp::create(c.b, c.loc, wide, total));
                         // Less than half of the bits are left, so that the sign does not matter any more.
                         return arith::FPToSIOp::create(c.b, c.loc, total.getType(),
                                                        math::SqrtOp::create(c.b, c.loc, exact).getResult());
                       })
                       .Case([&](ReduceLogSumOp) { return Value(math::LogOp::create(c.b, c.loc, sum(same))); })
                       .Case([&](ReduceLogSumExpOp) {
                         // Shifted by the maximum so that nothing overflows; an infinite maximum must not become NaN.
                         Value top = reducer.reduce(index, lanes, lowest(false), max, item);
                         Value finite = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OLT,
                                                              math::AbsFOp::create(c.b, c.loc, top).getResult(),
                                                              c.number(top.getType(), INFINITY));
                         Value shift = arith::SelectOp::create(c.b, c.loc, finite, top, zero(top));
                         Value total = sum([&](Value x) -> Value {
                           int64_t n =
                               isa<VectorType>(x.getType()) ? cast<VectorType>(x.getType()).getNumElements() : 1;
                           Value s = isa<VectorType>(shift.getType()) ? shift : c.splat(shift, n);
                           return math::ExpOp::create(c.b, c.loc, arith::SubFOp::create(c.b, c.loc, x, s).getResult());
                         });
                         return add(math::LogOp::create(c.b, c.loc, total), shift);
                       })
                       .Case([&](ReduceMaxOp) { return reducer.reduce(index, lanes, lowest(false), max, item); })
                       .Case([&](ReduceMinOp) { return reducer.reduce(index, lanes, lowest(true), min, item); })
                       .Case([&](ReduceProdOp) { return reducer.reduce(index, lanes, c.number(acc, 1), mul, item); })
                       .Default([](Operation *) { return Value(); });
    if (isHalf(element))
      result = arith::TruncFOp::create(c.b, c.loc, likeLanes(result, element), result);
    e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return result; });
    k.storeResults(keptIndex(e, index, axes, keepdims), lanes);
  });
}

Grid emitArgReduce(KernelBody &k, const RowSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  Operation *op = k.anchor;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  Type element = type.getElementType();
  int64_t axis = rowAxes(op).front();
  bool keepdims = op->getAttrOfType<IntegerAttr>("keepdims").getInt(),
       last = op->getAttrOfType<IntegerAttr>("select_last_index").getInt();
  bool isMax = isa<ArgMaxOp>(op), isFloat = isa<FloatType>(element), isUnsigned = element.isUnsignedInteger();
  auto better = [&](Value x, Value best) -> Value {
    if (isFloat) {
      // A NaN is never better, and nothing is better than it, as in ONNX Runtime.
      auto predicate = isMax ? (last ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OGT)
                             : (last ? arith::CmpFPredicate::OLE : arith::CmpFPredicate::OLT);
      return arith::CmpFOp::create(c.b, c.loc, predicate, x, best);
    }
    using P = arith::CmpIPredicate;
    P predicate = isMax ? (isUnsigned ? (last ? P::uge : P::ugt) : (last ? P::sge : P::sgt))
                        : (isUnsigned ? (last ? P::ule : P::ult) : (last ? P::sle : P::slt));
    return arith::CmpIOp::create(c.b, c.loc, predicate, x, best);
  };
  return overRows(k, schedule, type, {axis}, [&](Indices index, int64_t lanes) {
    Type position = lanes == 1 ? Type(c.b.getI64Type()) : VectorType::get({lanes}, c.b.getI64Type());
    index[axis] = {c.i64(0), 0};
    Value first = e.element(op->getOperand(0), index, lanes);
    SmallVector<Value> best = c.loop(c.i64(1), c.expr(sizesOf(type)[axis]), 1,
                                     ValueRange{first, c.integer(position, 0)}, [&](Value iv, ValueRange carried) {
                                       index[axis] = {iv, 0};
                                       Value x = e.element(op->getOperand(0), index, lanes);
                                       Value wins = better(x, carried[0]);
                                       return SmallVector<Value>{c.select(wins, x, carried[0]),
                                                                 c.select(wins, c.splat(iv, lanes), carried[1])};
                                     });
    e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return best[1]; });
    k.storeResults(keptIndex(e, index, {axis}, keepdims), lanes);
  });
}

} // namespace fathom
