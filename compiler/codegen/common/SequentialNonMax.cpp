// Non-maximum suppression: class by class, candidates by falling score; one stays unless a box that stayed before
// overlaps it by more than a threshold.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

using P = arith::CmpIPredicate;
using F = arith::CmpFPredicate;

struct Box {
  Value low[2], high[2];
};

// The boxes of a class that stayed. They lie in the class's rows of the result until the class is done: the lower
// corner, the negated upper one, the candidate's index and a link, in the bytes of three 64-bit integers.
//
// A box is compared with few of them only: the links are the lists of a hash table (a spatial grid) whose key is a cell
// of the plane and the scale of the cells. The scale is that of the box's longer side, so that a box covers few cells.
// Of boxes whose intersection over union exceeds t, no side of one is longer than 1/t of the other's, and along an axis
// the lower end of one lies at most (1 - t) of the other's side above the other's lower end: the few cells of the few
// scales that can hold such boxes are looked up. The smaller the threshold, the more cells that are; below `leastGrid`
// all boxes are compared with.
class SelectedBoxes {
public:
  SelectedBoxes(Code &code, bool hasVectors, Value rows, Value heads, Value candidates, Value threshold)
      : c(code), hasVectors(hasVectors), rows(rows), heads(heads), threshold(threshold) {
    // As many lists as there are candidates, a power of two.
    Value most = c.max(c.min(candidates, c.i64(mostLists)), c.i64(1)), zeros = clz(c.sub(most, c.i64(1)));
    lists = arith::ShLIOp::create(c.b, c.loc, c.i64(1), c.sub(c.i64(64), zeros));
    // What rounding might add to an overlap must not be missed.
    Value least = arith::MulFOp::create(c.b, c.loc, threshold, f(0.999));
    inverse = arith::DivFOp::create(c.b, c.loc, f(1), least);
    above = arith::SubFOp::create(c.b, c.loc, f(1), least);
    below = arith::MulFOp::create(c.b, c.loc, above, inverse);
    takesGrid = arith::CmpFOp::create(c.b, c.loc, F::OGE, threshold, f(leastGrid));
  }

  // Beyond as many, a list is rather longer: their heads are cleared for every class, and stay in a near cache.
  static constexpr int64_t mostLists = 1 << 14, scratchBytes = mostLists * 4;

  void clear() {
    c.loop(c.i64(0), lists, 1, [&](Value i) { c.store(c.i32(-1), heads, i, i32()); });
  }

  // Adds a box as row `end` of those from `first` on.
  void add(const Box &box, Value first, Value end, Value index) {
    Value corners[] = {box.low[0], box.low[1], negated(box.high[0]), negated(box.high[1])};
    for (auto [i, corner] : llvm::enumerate(corners))
      c.store(corner, rows, c.add(c.mul(end, 6), i), f32());
    Value scale = scaleOf(longerSide(box)), list = listOf(cell(box.low[0], scale), cell(box.low[1], scale), scale);
    c.store(narrow(index), rows, c.add(c.mul(end, 6), 4), i32());
    c.store(c.load(heads, list, i32()), rows, c.add(c.mul(end, 6), 5), i32());
    c.store(narrow(c.sub(end, first)), heads, list, i32());
  }

  // Whether none of the boxes in [first, end) overlaps.
  Value isFree(const Box &box, Value first, Value end) {
    // Lengths that overflow have no end among the cells.
    Value hasCells = arith::CmpFOp::create(c.b, c.loc, F::OLT, longerSide(box), f(1e36));
    return c.when(
        c.both(takesGrid, hasCells), [&] { return isFreeInGrid(box, first); },
        [&] { return whileFree(first, end, [&](Value row) { return isApart(box, row); }); });
  }

  // Turns the rows into results.
  void label(Value first, Value end, Value batch, Value category) {
    c.loop(first, end, 1, [&](Value row) {
      Value values[] = {batch, category, wide(c.load(rows, c.add(c.mul(row, 6), 4), i32()))};
      for (auto [i, value] : llvm::enumerate(values))
        c.store(value, rows, c.add(c.mul(row, 3), i), i64());
    });
  }

private:
  static constexpr double leastGrid = 0.3;

  Value isFreeInGrid(const Box &box, Value first) {
    Value side = longerSide(box);
    Value smallest = scaleOf(arith::DivFOp::create(c.b, c.loc, side, inverse));
    Value largest = scaleOf(arith::MulFOp::create(c.b, c.loc, side, inverse));
    Value from[2], to[2];
    for (int axis = 0; axis < 2; ++axis) {
      Value length = arith::SubFOp::create(c.b, c.loc, box.high[axis], box.low[axis]);
      from[axis] = arith::SubFOp::create(c.b, c.loc, box.low[axis], arith::MulFOp::create(c.b, c.loc, length, below));
      to[axis] = arith::AddFOp::create(c.b, c.loc, box.low[axis], arith::MulFOp::create(c.b, c.loc, length, above));
    }
    return whileFree(smallest, c.add(largest, 1), [&](Value scale) {
      auto overCells = [&](int axis, llvm::function_ref<Value(Value)> body) {
        return whileFree(cell(from[axis], scale), c.add(cell(to[axis], scale), 1), body);
      };
      return overCells(0, [&](Value x) {
        return overCells(1, [&](Value y) { return isFreeInList(box, first, listOf(x, y, scale)); });
      });
    });
  }

  Value isFreeInList(const Box &box, Value first, Value list) {
    auto search = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64(), i1()}, ValueRange{wide(c.load(heads, list, i32())), truth(true)},
        [&](OpBuilder &, Location, ValueRange at) {
          scf::ConditionOp::create(c.b, c.loc, c.both(at[1], c.cmp(P::sge, at[0], c.i64(0))), at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          Value row = c.add(first, at[0]), next = wide(c.load(rows, c.add(c.mul(row, 6), 5), i32()));
          scf::YieldOp::create(c.b, c.loc, ValueRange{next, isApart(box, row)});
        });
    return search.getResult(1);
  }

  // Whether the body is true for all of [low, high); stops where it is not.
  Value whileFree(Value low, Value high, llvm::function_ref<Value(Value)> body) {
    auto search = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64(), i1()}, ValueRange{low, truth(true)},
        [&](OpBuilder &, Location, ValueRange at) {
          scf::ConditionOp::create(c.b, c.loc, c.both(at[1], c.cmp(P::slt, at[0], high)), at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), body(at[0])});
        });
    return search.getResult(1);
  }

  // Whether the box in a row does not overlap by more than the threshold. Most do not meet at all, which one comparison
  // of corners tells.
  Value isApart(const Box &box, Value row) {
    Value ends[] = {box.high[0], box.high[1], negated(box.low[0]), negated(box.low[1])};
    Value other, corners[4], meets;
    if (hasVectors) {
      other = c.load(rows, c.mul(row, 6), f32(), 4);
      Value reach = c.undefined(other.getType());
      for (auto [i, end] : llvm::enumerate(ends))
        reach = c.insert(end, reach, i);
      meets = vector::ReductionOp::create(c.b, c.loc, vector::CombiningKind::AND,
                                          arith::CmpFOp::create(c.b, c.loc, F::OLT, other, reach));
    } else {
      for (auto [i, corner] : llvm::enumerate(corners)) {
        corner = c.load(rows, c.add(c.mul(row, 6), i), f32());
        Value isBelow = arith::CmpFOp::create(c.b, c.loc, F::OLT, corner, ends[i]);
        meets = meets ? c.both(meets, isBelow) : isBelow;
      }
    }
    return c.when(
        meets,
        [&] {
          for (auto [i, corner] : llvm::enumerate(corners))
            corner = hasVectors ? c.extract(other, i) : corner;
          Box there{{corners[0], corners[1]}, {negated(corners[2]), negated(corners[3])}};
          return Value(arith::XOrIOp::create(c.b, c.loc, overlaps(box, there), truth(true)));
        },
        [&] { return truth(true); });
  }

  Value overlaps(const Box &a, const Box &b) {
    Box shared;
    Value result = truth(true);
    for (int axis = 0; axis < 2; ++axis) {
      shared.low[axis] = arith::MaximumFOp::create(c.b, c.loc, a.low[axis], b.low[axis]);
      shared.high[axis] = arith::MinimumFOp::create(c.b, c.loc, a.high[axis], b.high[axis]);
      result = c.both(result, arith::CmpFOp::create(c.b, c.loc, F::OGT, shared.high[axis], shared.low[axis]));
    }
    Value common = area(shared), sum = arith::AddFOp::create(c.b, c.loc, area(a), area(b));
    Value share = arith::DivFOp::create(c.b, c.loc, common, arith::SubFOp::create(c.b, c.loc, sum, common));
    return c.both(result, arith::CmpFOp::create(c.b, c.loc, F::OGT, share, threshold));
  }

  Value sideOf(const Box &box, int axis) { return arith::SubFOp::create(c.b, c.loc, box.high[axis], box.low[axis]); }
  Value area(const Box &box) { return arith::MulFOp::create(c.b, c.loc, sideOf(box, 0), sideOf(box, 1)); }
  Value longerSide(const Box &box) { return arith::MaximumFOp::create(c.b, c.loc, sideOf(box, 0), sideOf(box, 1)); }

  // The exponent of a length, such that a cell of that scale is longer. Neither zero nor infinity has one of its own.
  Value scaleOf(Value length) {
    Value bits = arith::BitcastOp::create(c.b, c.loc, i32(), length);
    bits = arith::AndIOp::create(c.b, c.loc, arith::ShRUIOp::create(c.b, c.loc, bits, c.i32(23)), c.i32(255));
    return c.min(c.max(wide(bits), c.i64(1)), c.i64(250));
  }
  // The cell that a coordinate lies in. What is too far out for an integer, or is no number, shares a cell with others.
  Value cell(Value coordinate, Value scale) {
    Value bits = arith::ShLIOp::create(c.b, c.loc, narrow(c.sub(c.i64(253), scale)), c.i32(23));
    Value perLength = arith::BitcastOp::create(c.b, c.loc, f32(), bits);
    Value place = arith::MulFOp::create(c.b, c.loc, coordinate, perLength);
    place =
        arith::MaxNumFOp::create(c.b, c.loc, arith::MinNumFOp::create(c.b, c.loc, place, f(1 << 30)), f(-(1 << 30)));
    // Rounding towards zero keeps their order, which is all that counts.
    return arith::FPToSIOp::create(c.b, c.loc, i64(), place);
  }
  Value listOf(Value x, Value y, Value scale) {
    Value mixed = c.add(c.add(c.mul(x, 73856093), c.mul(y, 19349663)), c.mul(scale, 83492791));
    mixed = arith::XOrIOp::create(c.b, c.loc, mixed, arith::ShRUIOp::create(c.b, c.loc, mixed, c.i64(15)));
    return arith::AndIOp::create(c.b, c.loc, mixed, c.sub(lists, c.i64(1)));
  }

  Type f32() { return c.b.getF32Type(); }
  Type i64() { return c.b.getI64Type(); }
  Type i32() { return c.b.getI32Type(); }
  Type i1() { return c.b.getI1Type(); }
  Value f(double value) { return c.number(f32(), value); }
  Value truth(bool value) { return arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(value)); }
  Value negated(Value x) { return arith::NegFOp::create(c.b, c.loc, x); }
  Value wide(Value x) { return arith::ExtSIOp::create(c.b, c.loc, i64(), x); }
  Value narrow(Value x) { return arith::TruncIOp::create(c.b, c.loc, i32(), x); }
  Value clz(Value x) { return LLVM::CountLeadingZerosOp::create(c.b, c.loc, i64(), x, /*is_zero_poison=*/false); }

  Code &c;
  bool hasVectors;
  Value rows, heads, threshold;
  Value lists;                 // in the hash table
  Value inverse, above, below; // of a side: how long another one may be, how far the lower ends may lie apart
  Value takesGrid;
};

// A candidate by its corners.
Box candidateBox(Emitter &e, NonMaxSuppressionOp op, Value batch, Value row) {
  Code &c = e.c;
  Value v[4];
  for (int64_t i = 0; i < 4; ++i)
    v[i] = e.element(op.getBoxes(), Indices{{batch, 0}, {row, 0}, {c.i64(i), 0}}, 1);
  Box box;
  for (int axis = 0; axis < 2; ++axis) {
    if (op.getCenterPointBox()) {
      Value half = arith::MulFOp::create(c.b, c.loc, v[2 + axis], c.number(c.b.getF32Type(), 0.5));
      box.low[axis] = arith::SubFOp::create(c.b, c.loc, v[axis], half);
      box.high[axis] = arith::AddFOp::create(c.b, c.loc, v[axis], half);
    } else {
      box.low[axis] = arith::MinimumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
      box.high[axis] = arith::MaximumFOp::create(c.b, c.loc, v[axis], v[2 + axis]);
    }
  }
  return box;
}

} // namespace

Grid emitNonMaxSuppression(KernelBody &k, const SequentialSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<NonMaxSuppressionOp>(k.anchor);
  const Buffer *selected = nullptr, *counts = nullptr;
  for (auto [result, output] : llvm::zip_equal(k.returned, k.outputs))
    (result == op.getSelected() ? selected : counts) = &output;
  auto scalar = [&](Value operand) -> Value {
    if (isa<NoneType>(operand.getType()))
      return c.number(c.b.getF32Type(), 0);
    return e.element(operand, e.zeros(cast<RankedTensorType>(operand.getType()).getRank()), 1);
  };
  Value least = scalar(op.getScoreThreshold());
  bool hasLeast = !isa<NoneType>(op.getScoreThreshold().getType());
  Value limit = e.integerAt(op.getMaxOutput(), e.zeros(cast<RankedTensorType>(op.getMaxOutput().getType()).getRank()));
  Value candidates = e.size(op.getScores(), 2), classes = e.size(op.getScores(), 1);
  Value each = e.size(op.getSelected(), 2); // rows of a class
  SelectedBoxes boxes(c, e.target.hasVectors(), selected->pointer, k.scratch, candidates, scalar(op.getIouThreshold()));
  Type i64 = c.b.getI64Type(), i1 = c.b.getI1Type();

  auto scores = cast<RankedTensorType>(op.getScores().getType());
  Grid grid = overElements(k, schedule, loopsOver(scores, {}, {2}), 3, [&](Indices &index) {
    Value batch = index[0].base, category = index[1].base;
    Value first = c.mul(c.add(c.mul(batch, classes), category), each);
    Value most = c.add(first, c.min(c.max(limit, c.i64(0)), each));
    boxes.clear();
    auto loop = scf::WhileOp::create(
        c.b, c.loc, TypeRange{i64, i64, i1}, ValueRange{c.i64(0), first, c.integer(i1, 1)},
        [&](OpBuilder &, Location, ValueRange at) {
          Value more = c.both(c.cmp(P::slt, at[0], candidates), c.cmp(P::slt, at[1], most));
          scf::ConditionOp::create(c.b, c.loc, c.both(more, at[2]), at);
        },
        [&](OpBuilder &, Location, ValueRange at) {
          Indices where{index[0], index[1], {at[0], 0}};
          Value row = e.checkedIndex(e.integerAt(op.getOrder(), where), candidates);
          where[2] = {row, 0};
          Value isEnough = c.integer(i1, 1), goesOn = isEnough;
          if (hasLeast) {
            Value score = e.element(op.getScores(), where, 1);
            isEnough = arith::CmpFOp::create(c.b, c.loc, F::OGT, score, least);
            // Those behind have no higher score, unless this one is no number.
            goesOn = arith::CmpFOp::create(c.b, c.loc, F::UGT, score, least);
          }
          Box box = candidateBox(e, op, batch, row);
          Value stays = c.when(isEnough, [&] { return boxes.isFree(box, first, at[1]); }, [&] { return isEnough; });
          c.when(stays, [&] { boxes.add(box, first, at[1], row); });
          scf::YieldOp::create(c.b, c.loc,
                               ValueRange{c.add(at[0], 1), c.select(stays, c.add(at[1], 1), at[1]), goesOn});
        });
    Value end = loop.getResult(1);
    boxes.label(first, end, batch, category);
    if (counts)
      e.store(*counts, Indices{index[0], index[1]}, c.sub(end, first), 1);
  });
  grid.scratchBytes = SelectedBoxes::scratchBytes;
  return grid;
}

} // namespace fathom
