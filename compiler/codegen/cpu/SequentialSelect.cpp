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

// A box by its corners and area.
struct Box {
  Value low[2], high[2], area;
};

class Boxes {
public:
  Boxes(KernelBody &k, NonMaxSuppressionOp op, const Buffer &selected)
      : e(k.e), c(k.e.c), op(op), selected(selected), f32(c.b.getF32Type()) {}

  Box load(Value batch, Value row) {
    Value v[4];
    for (int64_t i = 0; i < 4; ++i)
      v[i] = e.element(op.getBoxes(), Indices{{batch, 0}, {row, 0}, {c.i64(i), 0}}, 1);
    Box box;
    for (int axis = 0; axis < 2; ++axis) {
      if (op.getCenterPointBox()) {
        Value half = arith::MulFOp::create(c.b, c.loc, v[2 + axis], c.number(f32, 0.5));
        box.low[axis] = arith::SubFOp::create(c.b, c.loc, v[axis], half);
        box.high[axis] = arith::AddFOp::create(c.b, c.loc, v[axis], half);
      } else {
        box.low[axis] = arith::MinimumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
        box.high[axis] = arith::MaximumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
      }
    }
    return withArea(box);
  }

  // While a class is being looked at, the corners of its selected boxes lie in their result rows, where batch and class
  // go in the end: the comparison with all of them reads memory in order.
  void keep(Value row, const Box &box, Value index) {
    Value corners[] = {box.low[0], box.low[1], box.high[0], box.high[1]};
    for (auto [i, corner] : llvm::enumerate(corners))
      c.store(corner, selected.pointer, c.add(c.mul(row, 6), i), f32);
    e.store(selected, Indices{{row, 0}, {c.i64(2), 0}}, index, 1);
  }
  Box kept(Value row) {
    Value at = c.mul(row, 6);
    auto corner = [&](int64_t i) { return c.load(selected.pointer, c.add(at, i), f32); };
    return {{corner(0), corner(1)}, {corner(2), corner(3)}, Value()};
  }
  void label(Value row, Value batch, Value category) {
    e.store(selected, Indices{{row, 0}, {c.i64(0), 0}}, batch, 1);
    e.store(selected, Indices{{row, 0}, {c.i64(1), 0}}, category, 1);
  }

  // Whether intersection over union exceeds the threshold. Most pairs do not meet at all.
  Value overlaps(const Box &a, Box b, Value threshold) {
    Value low[2], high[2], meet;
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = arith::MaximumFOp::create(c.b, c.loc, a.low[axis], b.low[axis]);
      high[axis] = arith::MinimumFOp::create(c.b, c.loc, a.high[axis], b.high[axis]);
      Value crosses = arith::CmpFOp::create(c.b, c.loc, F::OGT, high[axis], low[axis]);
      meet = meet ? c.both(meet, crosses) : crosses;
    }
    return c.when(
        meet,
        [&] {
          Value both = arith::MulFOp::create(c.b, c.loc, extent(low[0], high[0]), extent(low[1], high[1]));
          Value sum = arith::AddFOp::create(c.b, c.loc, a.area, withArea(b).area);
          Value ratio = arith::DivFOp::create(c.b, c.loc, both, arith::SubFOp::create(c.b, c.loc, sum, both));
          return Value(arith::CmpFOp::create(c.b, c.loc, F::OGT, ratio, threshold));
        },
        [&] { return truth(false); });
  }
  Value truth(bool value) { return arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(value)); }

private:
  Value extent(Value low, Value high) { return arith::SubFOp::create(c.b, c.loc, high, low); }
  Box withArea(Box box) {
    box.area = arith::MulFOp::create(c.b, c.loc, extent(box.low[0], box.high[0]), extent(box.low[1], box.high[1]));
    return box;
  }

  Emitter &e;
  Code &c;
  NonMaxSuppressionOp op;
  const Buffer &selected;
  Type f32;
};

} // namespace

// Class by class, candidates by falling score; one stays unless a box that stayed before overlaps it.
Grid emitNonMaxSuppression(KernelBody &k) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<NonMaxSuppressionOp>(k.anchor);
  const Buffer *selected = nullptr, *count = nullptr;
  for (auto [result, output] : llvm::zip(k.returned, k.outputs))
    (result == op.getSelected() ? selected : count) = &output;
  Boxes boxes(k, op, *selected);
  auto scalar = [&](Value operand) -> Value {
    if (isa<NoneType>(operand.getType()))
      return c.number(c.b.getF32Type(), 0);
    return e.element(operand, e.zeros(cast<RankedTensorType>(operand.getType()).getRank()), 1);
  };
  Value iou = scalar(op.getIouThreshold()), least = scalar(op.getScoreThreshold());
  bool hasLeast = !isa<NoneType>(op.getScoreThreshold().getType());
  Value limit = e.integerAt(op.getMaxOutput(), e.zeros(cast<RankedTensorType>(op.getMaxOutput().getType()).getRank()));
  Value room = e.size(op.getSelected(), 0), candidates = e.size(op.getScores(), 2), classes = e.size(op.getScores(), 1);
  Type i64 = c.b.getI64Type(), i1 = c.b.getI1Type();

  // Whether no box in [first, end) of the selected ones overlaps; stops at the first that does.
  auto isFree = [&](const Box &box, Value first, Value end) {
    auto search = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64, i1}, ValueRange{first, boxes.truth(true)},
        [&](OpBuilder &, Location, ValueRange at) {
          scf::ConditionOp::create(c.b, c.loc, c.both(at[1], c.cmp(P::slt, at[0], end)), at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          Value hit = boxes.overlaps(box, boxes.kept(at[0]), iou);
          Value isClear = arith::XOrIOp::create(c.b, c.loc, hit, boxes.truth(true));
          scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), isClear});
        });
    return search.getResult(1);
  };
  auto selectClass = [&](Value batch, Value category, Value first) {
    auto loop = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64, i64}, ValueRange{c.i64(0), first},
        [&](OpBuilder &, Location, ValueRange at) {
          Value more = c.both(c.cmp(P::slt, at[0], candidates),
                              c.both(c.cmp(P::slt, c.sub(at[1], first), limit), c.cmp(P::slt, at[1], room)));
          scf::ConditionOp::create(c.b, c.loc, more, at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          Indices where{{batch, 0}, {category, 0}, {at[0], 0}};
          Value row = e.checkedIndex(e.integerAt(op.getOrder(), where), candidates);
          where[2] = {row, 0};
          Value counts = boxes.truth(true);
          if (hasLeast)
            counts = arith::CmpFOp::create(c.b, c.loc, F::OGT, e.element(op.getScores(), where, 1), least);
          Box box = boxes.load(batch, row);
          Value stays = c.when(counts, [&] { return isFree(box, first, at[1]); }, [&] { return counts; });
          c.when(stays, [&] { boxes.keep(at[1], box, row); });
          scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), c.select(stays, c.add(at[1], 1), at[1])});
        });
    Value end = loop.getResult(1);
    c.loop(first, end, 1, [&](Value row) { boxes.label(row, batch, category); });
    return end;
  };
  Value total =
      c.loop(c.i64(0), e.size(op.getScores(), 0), 1, ValueRange{c.i64(0)}, [&](Value batch, ValueRange outer) {
        return c.loop(c.i64(0), classes, 1, outer, [&](Value category, ValueRange before) {
          return SmallVector<Value>{selectClass(batch, category, before[0])};
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
  // Rows along the innermost dimension are moved in vectors; written along it, they are single elements.
  SmallVector<int64_t> within{axis};
  if (axis != rank - 1)
    within.push_back(rank - 1);
  auto overRow = [&](Indices &index, llvm::function_ref<void(int64_t lanes)> body) {
    if (axis == rank - 1)
      return body(1);
    vectorLoop(c, c.i64(0), e.size(op.getResult(), rank - 1), 4 * e.target.lanes(32), e.target.lanes(32),
               [&](Value i, int64_t lanes) {
                 index[rank - 1] = {i, lanes > 1 ? 1 : 0};
                 body(lanes);
               });
  };
  return overElements(k, loopsOver(type, {}, within), rank, [&](Indices &index) {
    Value first = c.i64(0);
    if (!isa<NoneType>(op.getWriteIndices().getType()))
      first = e.integerAt(op.getWriteIndices(), Indices{index[0]});
    auto copyRows = [&] {
      c.loop(c.i64(0), length, 1, [&](Value i) {
        index[axis] = {i, 0};
        overRow(index, [&](int64_t lanes) {
          e.store(k.outputs[0], index, e.element(op.getPastCache(), index, lanes), lanes);
        });
      });
    };
    if (e.isBuffer(op.getPastCache())) {
      Value same = LLVM::ICmpOp::create(c.b, c.loc, LLVM::ICmpPredicate::ne, e.buffer(op.getPastCache()).pointer,
                                        k.outputs[0].pointer);
      c.when(same, copyRows);
    } else {
      copyRows();
    }
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
      Value at = c.add(first, i);
      at = isCircular ? c.rem(at, length) : at;
      overRow(index, [&](int64_t lanes) {
        index[axis] = {i, 0};
        Value values = e.element(op.getUpdate(), index, lanes);
        index[axis] = {at, 0};
        e.store(k.outputs[0], index, values, lanes);
      });
    });
  });
}

} // namespace fathom
