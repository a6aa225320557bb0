// Softmaxes and layer normalisation: several passes over a row while it is in cache.
#include "compiler/codegen/common/FloatMath.h"
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/kernel/RowAxes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

int64_t laneCount(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

// A row's statistic is a scalar when the lanes are reduced; elements come in lanes.
Value spread(Code &c, Value statistic, int64_t lanes) {
  return laneCount(statistic) == lanes ? statistic : c.splat(statistic, lanes);
}

Value anyLane(Code &c, Value condition) {
  if (laneCount(condition) == 1)
    return condition;
  return vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::OR, condition);
}

// So many times the spread is a mean whose rounding counts: below, it is that of a few elements.
constexpr double farMean = 2;

bool isHalf(Type type) { return type.getIntOrFloatBitWidth() == 16; }

Value convert(Code &c, Value x, Type to) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from == to)
    return x;
  auto vector = dyn_cast<VectorType>(x.getType());
  Type type = vector ? Type(vector.clone(to)) : to;
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(c.b, c.loc, type, x);
  return arith::TruncFOp::create(c.b, c.loc, type, x);
}

} // namespace

Grid emitSoftmax(KernelBody &k, const RowSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  Operation *op = k.anchor;
  Float f{c, op->hasAttr("graph.fast")};
  Value input = op->getOperand(0);
  auto type = cast<RankedTensorType>(input.getType());
  Type element = type.getElementType(), acc = isHalf(element) ? Type(c.b.getF32Type()) : element;
  int64_t axis = rowAxes(op).front();
  Reducer reducer{e, type, {axis}, schedule.lanes, e.target.lanes(32)};
  // Exponentials are kept in the result's buffer between the passes when it has their type.
  bool keep = isa<SoftmaxOp>(op) && element == acc && k.outputs[0].type.getElementType() == acc;
  return overRows(k, schedule, type, {axis}, [&](Indices row, int64_t lanes) {
    auto item = [&](ArrayRef<Index> index, int64_t n) { return convert(c, e.element(input, index, n), acc); };
    Value top =
        reducer.reduce(row, lanes, c.number(acc, -INFINITY), [&](Value x, Value y) { return f.max(x, y); }, item);
    auto add = [&](Value x, Value y) { return f.add(x, y); };
    if (isa<HardmaxOp>(op)) {
      // One at the first maximum: its position is the smallest index that attains it.
      Reducer positions{e, type, {axis}, 1, 1};
      Value size = c.expr(sizesOf(type)[axis]);
      Value first = positions.reduce(
          row, lanes, size, [&](Value x, Value y) -> Value { return arith::MinSIOp::create(c.b, c.loc, x, y); },
          [&](ArrayRef<Index> index, int64_t n) -> Value {
            Value hit = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OEQ, item(index, n), spread(c, top, n));
            return c.select(hit, c.splat(index[axis].base, n), c.splat(size, n));
          });
      return positions.visit(row, lanes, [&](ArrayRef<Index> index, int64_t n) {
        Value here = arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::eq, c.splat(index[axis].base, n),
                                           spread(c, first, n));
        Type out = vectorType(element, n);
        Value value = c.select(here, c.number(out, 1), c.number(out, 0));
        e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return value; });
        k.storeResults(index, n);
      });
    }
    Value total = reducer.reduce(row, lanes, c.number(acc, 0), add, [&](ArrayRef<Index> index, int64_t n) {
      Value x = f.expBelow(item(index, n), spread(c, top, n));
      if (keep)
        e.store(k.outputs[0], index, x, n);
      return x;
    });
    Value statistic = isa<SoftmaxOp>(op) ? f.div(c.number(total.getType(), 1), total) : f.log(total);
    reducer.visit(row, lanes, [&](ArrayRef<Index> index, int64_t n) {
      Value s = spread(c, statistic, n), value;
      // Large elements are near each other rather than near the logarithm, which a sum with one of them would lose.
      if (isa<LogSoftmaxOp>(op))
        value = f.sub(f.sub(item(index, n), spread(c, top, n)), s);
      else
        value = f.mul(keep ? e.load(k.outputs[0], index, n) : f.expBelow(item(index, n), spread(c, top, n)), s);
      value = convert(c, value, element);
      e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return value; });
      k.storeResults(index, n);
    });
  });
}

Grid emitLayerNorm(KernelBody &k, const RowSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  Float f{c};
  Operation *op = k.anchor;
  auto layerNorm = dyn_cast<LayerNormalizationOp>(op);
  Value input = op->getOperand(0), scale = op->getOperand(1);
  auto type = cast<RankedTensorType>(input.getType());
  Type element = type.getElementType(), acc = isHalf(element) ? Type(c.b.getF32Type()) : element;
  SmallVector<int64_t> axes = rowAxes(op);
  double epsilon = op->getAttrOfType<FloatAttr>("epsilon").getValueAsDouble();
  AffineExpr count = getAffineConstantExpr(1, k.context());
  for (int64_t axis : axes)
    count = count * sizesOf(type)[axis];
  Reducer reducer{e, type, axes, schedule.lanes, e.target.lanes(32)};
  auto add = [&](Value x, Value y) { return f.add(x, y); };
  return overRows(k, schedule, type, axes, [&](Indices row, int64_t lanes) {
    auto item = [&](ArrayRef<Index> index, int64_t n) { return convert(c, e.element(input, index, n), acc); };
    Value n = arith::SIToFPOp::create(c.b, c.loc, acc, c.expr(count));
    auto mean = [&](Reducer::Item what) {
      Value total = reducer.reduce(row, lanes, c.number(acc, 0), add, what);
      return f.div(total, c.splat(n, laneCount(total)));
    };
    Value center = layerNorm ? mean(item) : Value();
    auto centered = [&](ArrayRef<Index> index, int64_t m) {
      Value x = item(index, m);
      return center ? f.sub(x, spread(c, center, m)) : x;
    };
    // Two passes: the mean of squared differences does not cancel.
    Value variance = mean([&](ArrayRef<Index> index, int64_t m) {
      Value x = centered(index, m);
      return f.mul(x, x);
    });
    // The mean itself is off by a few roundings of its size, which matters where that is far above the spread:
    // differences from it are exact there, and a third pass sums up how far off it is.
    if (layerNorm) {
      Value isFar = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OGT, f.mul(center, center),
                                          f.mul(variance, c.number(variance.getType(), farMean * farMean)));
      auto corrected = [&] {
        Value none = c.number(center.getType(), 0), nearer = f.add(center, c.select(isFar, mean(centered), none));
        Value moved = f.sub(nearer, center);
        return SmallVector<Value>{nearer, f.max(f.sub(variance, f.mul(moved, moved)), none)};
      };
      auto both = c.whenAll(anyLane(c, isFar), corrected, [&] { return SmallVector<Value>{center, variance}; });
      center = both[0], variance = both[1];
    }
    Value root = math::SqrtOp::create(c.b, c.loc, f.add(variance, c.number(variance.getType(), epsilon)));
    Value inverse = f.div(c.number(root.getType(), 1), root);
    // The statistics are results of their own when the model asks for them.
    for (auto [value, output] : llvm::zip(k.returned, k.outputs)) {
      if (value.getDefiningOp() != op || cast<OpResult>(value).getResultNumber() == 0)
        continue;
      Value statistic = cast<OpResult>(value).getResultNumber() == 1 ? center : inverse;
      e.store(output, row, convert(c, statistic, output.type.getElementType()), lanes);
    }
    reducer.visit(row, lanes, [&](ArrayRef<Index> index, int64_t m) {
      Value x = f.mul(centered(index, m), spread(c, inverse, m));
      auto operand = [&](Value tensor) {
        return convert(c, e.element(tensor, e.broadcast(cast<RankedTensorType>(tensor.getType()), index), m), acc);
      };
      x = f.mul(x, operand(scale));
      if (layerNorm && !isa<NoneType>(layerNorm.getBias().getType()))
        x = f.add(x, operand(layerNorm.getBias()));
      x = convert(c, x, element);
      e.bind(op->getResult(0), [=](ArrayRef<Index>, int64_t) { return x; });
      for (auto [value, output] : llvm::zip(k.returned, k.outputs))
        if (value.getDefiningOp() != op || cast<OpResult>(value).getResultNumber() == 0)
          e.store(output, index, e.element(value, index, m), m);
    });
  });
}

} // namespace fathom
