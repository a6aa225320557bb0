// Kernels that select by data: which elements are not zero, which boxes stay, where a cache is written.
#include "compiler/codegen/cpu/Sequential.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

using P = arith::CmpIPredicate;
using F = arith::CmpFPredicate;

static Grid oneTask(KernelBody &k) { return Grid{getAffineConstantExpr(1, k.context()), 0}; }

// Whether an element is not zero; NaN is not.
static Value isNonZero(Code &c, Type element, Value x) {
  if (isa<FloatType>(element))
    return arith::CmpFOp::create(c.b, c.loc, F::UNE, x, c.number(x.getType(), 0));
  return element.isInteger(1) ? x : c.cmp(P::ne, x, c.integer(x.getType(), 0));
}

Grid emitNonZero(KernelBody &k) {
  Code &c = k.e.c;
  auto op = cast<NonZeroOp>(k.anchor);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Value room = k.e.size(op.getResult(), 1);
  // Indices come in row-major order, whatever the layout.
  SmallVector<Loop> loops;
  for (auto [d, size] : llvm::enumerate(sizesOf(type)))
    loops.push_back({int64_t(d), size});
  c.loop(c.i64(0), c.expr(iterations(loops, k.context())), 1, ValueRange{c.i64(0)}, [&](Value position, ValueRange n) {
    Indices index = k.e.zeros(type.getRank());
    delinearize(c, position, loops, index);
    Value counts = isNonZero(c, type.getElementType(), k.e.element(op.getInput(), index, 1));
    // Were the count wrong, it must not become a write out of bounds.
    counts = c.both(counts, c.cmp(P::slt, n[0], room));
    c.when(counts, [&] {
      for (int64_t d = 0; d < type.getRank(); ++d)
        k.e.store(k.outputs[0], Indices{{c.i64(d), 0}, {n[0], 0}}, index[d].base, 1);
    });
    return SmallVector<Value>{c.select(counts, c.add(n[0], 1), n[0])};
  });
  return oneTask(k);
}

namespace {

struct Box {
  Value low[2], high[2], area;
};

// Corners in order and area of the box in a row, in single precision at least.
class Boxes {
public:
  Boxes(KernelBody &k, NonMaxSuppressionOp op) : k(k), c(k.e.c), op(op) {
    element = cast<RankedTensorType>(op.getBoxes().getType()).getElementType();
    wide = element.getIntOrFloatBitWidth() < 32 ? Type(c.b.getF32Type()) : element;
  }
  Box load(Value batch, Value row) {
    Value v[4];
    for (int64_t i = 0; i < 4; ++i)
      v[i] = widened(k.e.element(op.getBoxes(), Indices{{batch, 0}, {row, 0}, {c.i64(i), 0}}, 1));
    Box box;
    for (int axis = 0; axis < 2; ++axis) {
      if (op.getCenterPointBox()) {
        Value half = arith::MulFOp::create(c.b, c.loc, v[2 + axis], c.number(wide, 0.5));
        box.low[axis] = arith::SubFOp::create(c.b, c.loc, v[axis], half);
        box.high[axis] = arith::AddFOp::create(c.b, c.loc, v[axis], half);
      } else {
        box.low[axis] = arith::MinimumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
        box.high[axis] = arith::MaximumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
      }
    }
    box.area = arith::MulFOp::create(c.b, c.loc, extent(box.low[0], box.high[0]), extent(box.low[1], box.high[1]));
    return box;
  }
  // Whether intersection over union exceeds the threshold, without dividing.
  Value overlaps(const Box &a, const Box &b, Value threshold) {
    Value sides[2], zero = c.number(wide, 0);
    for (int axis = 0; axis < 2; ++axis) {
      Value low = arith::MaximumFOp::create(c.b, c.loc, a.low[axis], b.low[axis]);
      Value high = arith::MinimumFOp::create(c.b, c.loc, a.high[axis], b.high[axis]);
      sides[axis] = arith::MaximumFOp::create(c.b, c.loc, extent(low, high), zero);
    }
    Value both = arith::MulFOp::create(c.b, c.loc, sides[0], sides[1]);
    Value sum = arith::AddFOp::create(c.b, c.loc, a.area, b.area);
    Value either = arith::SubFOp::create(c.b, c.loc, sum, both);
    Value ratio = arith::DivFOp::create(c.b, c.loc, both, either);
    return arith::CmpFOp::create(c.b, c.loc, F::OGT, ratio, threshold);
  }
  Value widened(Value x) { return x.getType() == wide ? x : Value(arith::ExtFOp::create(c.b, c.loc, wide, x)); }
  Type wide;

private:
  Value extent(Value low, Value high) { return arith::SubFOp::create(c.b, c.loc, high, low); }
  KernelBody &k;
  Code &c;
  NonMaxSuppressionOp op;
  Type element;
};

} // namespace

// Class by class, candidates by falling score; one stays unless a box that stayed before overlaps it.
Grid emitNonMaxSuppression(KernelBody &k) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<NonMaxSuppressionOp>(k.anchor);
  Boxes boxes(k, op);
  auto scalar = [&](Value operand, Type type) -> Value {
    if (isa<NoneType>(operand.getType()))
      return c.number(type, 0);
    Value x = e.element(operand, e.zeros(cast<RankedTensorType>(operand.getType()).getRank()), 1);
    if (x.getType() == type)
      return x;
    bool grows = x.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
    return grows ? Value(arith::ExtFOp::create(c.b, c.loc, type, x))
                 : Value(arith::TruncFOp::create(c.b, c.loc, type, x));
  };
  Value iou = scalar(op.getIouThreshold(), boxes.wide), least = scalar(op.getScoreThreshold(), boxes.wide);
  bool hasLeast = !isa<NoneType>(op.getScoreThreshold().getType());
  Value limit = e.integerAt(op.getMaxOutput(), e.zeros(cast<RankedTensorType>(op.getMaxOutput().getType()).getRank()));
  const Buffer *selected = nullptr, *count = nullptr;
  for (auto [result, output] : llvm::zip(k.returned, k.outputs))
    (result == op.getSelected() ? selected : count) = &output;
  Value room = e.size(op.getSelected(), 0), candidates = e.size(op.getScores(), 2), classes = e.size(op.getScores(), 1);
  auto rowOf = [&](Value row) { return e.load(*selected, Indices{{row, 0}, {c.i64(2), 0}}, 1); };

  Value total =
      c.loop(c.i64(0), e.size(op.getScores(), 0), 1, ValueRange{c.i64(0)}, [&](Value batch, ValueRange outer) {
        return c.loop(c.i64(0), classes, 1, outer, [&](Value category, ValueRange before) {
          Value first = before[0];
          auto loop = scf::WhileOp::create(
              c.b, c.loc, TypeRange{c.b.getI64Type(), c.b.getI64Type()}, ValueRange{c.i64(0), first},
              [&](OpBuilder &, Location, ValueRange at) {
                Value more = c.both(c.cmp(P::slt, at[0], candidates),
                                    c.both(c.cmp(P::slt, c.sub(at[1], first), limit), c.cmp(P::slt, at[1], room)));
                scf::ConditionOp::create(c.b, c.loc, more, at);
              },
              [&](OpBuilder &, Location, ValueRange at) {
                Indices where{{batch, 0}, {category, 0}, {at[0], 0}};
                Value row = e.checkedIndex(e.integerAt(op.getOrder(), where), candidates);
                where[2] = {row, 0};
                Value stays = arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(true));
                if (hasLeast)
                  stays = arith::CmpFOp::create(c.b, c.loc, F::OGT, boxes.widened(e.element(op.getScores(), where, 1)),
                                                least);
                Box box = boxes.load(batch, row);
                stays = c.loop(first, at[1], 1, ValueRange{stays}, [&](Value earlier, ValueRange still) {
                  Value keeps = c.when(
                      still[0],
                      [&] {
                        Value hit = boxes.overlaps(box, boxes.load(batch, rowOf(earlier)), iou);
                        return Value(arith::XOrIOp::create(
                            c.b, c.loc, hit, arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(true))));
                      },
                      [&] { return still[0]; });
                  return SmallVector<Value>{keeps};
                })[0];
                c.when(stays, [&] {
                  for (auto [i, value] : llvm::enumerate(ArrayRef<Value>{batch, category, row}))
                    e.store(*selected, Indices{{at[1], 0}, {c.i64(i), 0}}, value, 1);
                });
                scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), c.select(stays, c.add(at[1], 1), at[1])});
              });
          return SmallVector<Value>{loop.getResult(1)};
        });
      })[0];
  if (count)
    e.store(*count, Indices{{c.i64(0), 0}}, total, 1);
  return oneTask(k);
}

// Copies the cache, unless it is the result's own memory, and writes the new rows.
Grid emitTensorScatter(KernelBody &k) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<TensorScatterOp>(k.anchor);
  auto type = op.getType();
  int64_t rank = type.getRank(), axis = *normalizeAxis(op.getAxis(), rank);
  Value length = e.size(op.getPastCache(), axis), rows = e.size(op.getUpdate(), axis);
  return overElements(k, loopsOver(type, {}, {axis}), rank, [&](Indices &index) {
    auto copyRow = [&] {
      c.loop(c.i64(0), length, 1, [&](Value i) {
        index[axis] = {i, 0};
        e.store(k.outputs[0], index, e.element(op.getPastCache(), index, 1), 1);
      });
    };
    if (e.isBuffer(op.getPastCache())) {
      Value same = LLVM::ICmpOp::create(c.b, c.loc, LLVM::ICmpPredicate::ne, e.buffer(op.getPastCache()).pointer,
                                        k.outputs[0].pointer);
      c.when(same, copyRow);
    } else {
      copyRow();
    }
    Value first = c.i64(0);
    if (!isa<NoneType>(op.getWriteIndices().getType()))
      first = e.integerAt(op.getWriteIndices(), Indices{index[0]});
    bool isCircular = op.getMode() == "circular";
    // The last row written must lie inside, too.
    Value last = c.sub(length, rows);
    Value outside =
        isCircular
            ? c.cmp(P::slt, first, c.i64(0))
            : Value(arith::OrIOp::create(c.b, c.loc, c.cmp(P::slt, first, c.i64(0)), c.cmp(P::sgt, first, last)));
    e.raise(outside, FATHOM_FAULT_INDEX);
    first = c.select(outside, c.i64(0), first);
    c.loop(c.i64(0), rows, 1, [&](Value i) {
      index[axis] = {i, 0};
      Value value = e.element(op.getUpdate(), index, 1), at = c.add(first, i);
      index[axis] = {isCircular ? c.rem(at, length) : at, 0};
      e.store(k.outputs[0], index, value, 1);
    });
  });
}

} // namespace fathom
