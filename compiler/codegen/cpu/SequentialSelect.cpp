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

// Boxes by their corners and areas, one in each lane.
struct Box {
  Value low[2], high[2], area;
};

// The boxes of a class that were selected. While the class is being looked at, their corners lie in their result rows,
// where batch and class go in the end, so that comparing with all of them reads memory in order: vector by vector where
// there are enough rows for that, which then hold all first corners, all second ones, and so on, and all indices.
class SelectedBoxes {
public:
  SelectedBoxes(KernelBody &k, NonMaxSuppressionOp op, const Buffer &rows)
      : e(k.e), c(k.e.c), op(op), memory(rows.pointer), f32(c.b.getF32Type()), i64(c.b.getI64Type()),
        lanes(e.target.lanes(32)) {}

  Box candidate(Value batch, Value row) {
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

  // Adds a box as row `end` behind those in [first, end).
  void add(Value first, Value end, const Box &box, Value index) {
    Value corners[] = {box.low[0], box.low[1], box.high[0], box.high[1]};
    for (auto [i, corner] : llvm::enumerate(corners))
      c.store(corner, memory, c.add(c.mul(end, 6), i), f32);
    c.store(index, memory, c.add(c.mul(end, 3), 2), i64);
    Value next = c.add(end, 1);
    c.when(c.cmp(P::eq, wholeVectors(first, next), next), [&] { gather(c.sub(next, c.i64(lanes))); });
  }

  // Whether no box in [first, end) overlaps; stops at the first that does.
  Value isFree(const Box &box, Value first, Value end, Value threshold) {
    Value rest = wholeVectors(first, end);
    return noneOverlaps(box, first, rest, lanes, threshold, noneOverlaps(box, rest, end, 1, threshold, truth(true)));
  }

  // Turns all of them into results.
  void label(Value first, Value end, Value batch, Value category) {
    auto finish = [&](Value row, Value index) {
      Value values[] = {batch, category, index};
      for (auto [i, value] : llvm::enumerate(values))
        c.store(value, memory, c.add(c.mul(row, 3), i), i64);
    };
    Value rest = wholeVectors(first, end);
    c.loop(first, rest, lanes, [&](Value start) {
      // In order: no row is as far ahead as the indices of the rows behind it.
      c.loop(lanes, [&](Value i) {
        finish(c.add(start, i), c.load(memory, c.add(c.add(c.mul(start, 3), 2 * lanes), i), i64));
      });
    });
    c.loop(rest, end, 1, [&](Value row) { finish(row, c.load(memory, c.add(c.mul(row, 3), 2), i64)); });
  }

  Value truth(bool value) { return arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(value)); }

private:
  // Where the rows begin that do not fill a vector.
  Value wholeVectors(Value first, Value end) {
    return c.add(first, c.mul(c.div(c.sub(end, first), c.i64(lanes)), lanes));
  }

  // Brings `lanes` rows into the order of vectors.
  void gather(Value start) {
    SmallVector<Value> corners(4, c.undefined(vectorType(f32, lanes)));
    Value indices = c.undefined(vectorType(i64, lanes));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value row = c.add(start, lane);
      for (auto [i, corner] : llvm::enumerate(corners))
        corner = c.insert(c.load(memory, c.add(c.mul(row, 6), i), f32), corner, lane);
      indices = c.insert(c.load(memory, c.add(c.mul(row, 3), 2), i64), indices, lane);
    }
    for (auto [i, corner] : llvm::enumerate(corners))
      c.store(corner, memory, c.add(c.mul(start, 6), i * lanes), f32);
    c.store(indices, memory, c.add(c.mul(start, 3), 2 * lanes), i64);
  }

  // `width` boxes from a row on.
  Box load(Value row, int64_t width) {
    auto corner = [&](int64_t i) { return c.load(memory, c.add(c.mul(row, 6), i * width), f32, width); };
    return withArea({{corner(0), corner(1)}, {corner(2), corner(3)}, Value()});
  }

  // Whether none of [first, end) overlaps, nor `others`; `width` at a time.
  Value noneOverlaps(const Box &box, Value first, Value end, int64_t width, Value threshold, Value others) {
    auto search = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64, c.b.getI1Type()}, ValueRange{first, others},
        [&](OpBuilder &, Location, ValueRange at) {
          scf::ConditionOp::create(c.b, c.loc, c.both(at[1], c.cmp(P::slt, at[0], end)), at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          Value hit = anyOverlaps(splat(box, width), load(at[0], width), c.splat(threshold, width));
          Value isClear = arith::XOrIOp::create(c.b, c.loc, hit, truth(true));
          scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], width), isClear});
        });
    return search.getResult(1);
  }

  // Whether intersection over union exceeds the threshold in any lane. Most pairs do not meet at all, which corners of
  // opposite sides tell at once.
  Value anyOverlaps(const Box &a, const Box &b, Value threshold) {
    Value near;
    for (int axis = 0; axis < 2; ++axis)
      for (Value crosses : {exceeds(a.high[axis], b.low[axis]), exceeds(b.high[axis], a.low[axis])})
        near = near ? Value(arith::AndIOp::create(c.b, c.loc, near, crosses)) : crosses;
    return c.when(any(near), [&] { return any(overlaps(a, b, threshold)); }, [&] { return truth(false); });
  }
  Value overlaps(const Box &a, const Box &b, Value threshold) {
    Box shared;
    for (int axis = 0; axis < 2; ++axis) {
      shared.low[axis] = arith::MaximumFOp::create(c.b, c.loc, a.low[axis], b.low[axis]);
      shared.high[axis] = arith::MinimumFOp::create(c.b, c.loc, a.high[axis], b.high[axis]);
    }
    shared = withArea(shared);
    Value sum = arith::AddFOp::create(c.b, c.loc, a.area, b.area);
    Value all = arith::SubFOp::create(c.b, c.loc, sum, shared.area);
    Value result = exceeds(arith::DivFOp::create(c.b, c.loc, shared.area, all), threshold);
    for (int axis = 0; axis < 2; ++axis)
      result = arith::AndIOp::create(c.b, c.loc, result, exceeds(shared.high[axis], shared.low[axis]));
    return result;
  }
  Value exceeds(Value x, Value y) { return arith::CmpFOp::create(c.b, c.loc, F::OGT, x, y); }
  Value any(Value flags) {
    return isa<VectorType>(flags.getType())
               ? Value(vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::OR, flags))
               : flags;
  }

  Box withArea(Box box) {
    Value sides[2];
    for (int axis = 0; axis < 2; ++axis)
      sides[axis] = arith::SubFOp::create(c.b, c.loc, box.high[axis], box.low[axis]);
    box.area = arith::MulFOp::create(c.b, c.loc, sides[0], sides[1]);
    return box;
  }
  Box splat(Box box, int64_t width) {
    for (Value *value : {&box.low[0], &box.low[1], &box.high[0], &box.high[1], &box.area})
      *value = c.splat(*value, width);
    return box;
  }

  Emitter &e;
  Code &c;
  NonMaxSuppressionOp op;
  Value memory;
  Type f32, i64;
  int64_t lanes;
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
  SelectedBoxes boxes(k, op, *selected);
  auto scalar = [&](Value operand) -> Value {
    if (isa<NoneType>(operand.getType()))
      return c.number(c.b.getF32Type(), 0);
    return e.element(operand, e.zeros(cast<RankedTensorType>(operand.getType()).getRank()), 1);
  };
  Value iou = scalar(op.getIouThreshold()), least = scalar(op.getScoreThreshold());
  bool hasLeast = !isa<NoneType>(op.getScoreThreshold().getType());
  Value limit = e.integerAt(op.getMaxOutput(), e.zeros(cast<RankedTensorType>(op.getMaxOutput().getType()).getRank()));
  Value room = e.size(op.getSelected(), 0), candidates = e.size(op.getScores(), 2), classes = e.size(op.getScores(), 1);
  Type i64 = c.b.getI64Type();

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
          Box box = boxes.candidate(batch, row);
          Value stays = c.when(counts, [&] { return boxes.isFree(box, first, at[1], iou); }, [&] { return counts; });
          c.when(stays, [&] { boxes.add(first, at[1], box, row); });
          scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), c.select(stays, c.add(at[1], 1), at[1])});
        });
    Value end = loop.getResult(1);
    boxes.label(first, end, batch, category);
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
