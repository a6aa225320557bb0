// Sorting in place by a heap: n log n steps at worst, and no memory beside the list.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;

namespace fathom {

using P = arith::CmpIPredicate;

void siftDown(Code &c, const SortedList &list, Value place, Value length, ValueRange entry) {
  // Later entries move up until the entry comes after both of those below it.
  SmallVector<Type, 2> types(2, c.b.getI64Type());
  auto loop = scf::WhileOp::create(
      c.b, c.loc, types, ValueRange{place},
      [&](OpBuilder &, Location, ValueRange at) {
        Value left = c.add(c.mul(at[0], 2), 1), right = c.add(left, 1), end = c.i64(-1);
        Value next = c.when(
            c.cmp(P::slt, left, length),
            [&] {
              Value later = c.when(
                  c.cmp(P::slt, right, length),
                  [&] { return c.select(list.isAfter(list.load(right), list.load(left)), right, left); },
                  [&] { return left; });
              return c.select(list.isAfter(list.load(later), entry), later, end);
            },
            [&] { return end; });
        scf::ConditionOp::create(c.b, c.loc, c.cmp(P::sge, next, c.i64(0)), ValueRange{at[0], next});
      },
      [&](OpBuilder &, Location, ValueRange at) {
        list.store(at[0], list.load(at[1]));
        scf::YieldOp::create(c.b, c.loc, at[1]);
      });
  list.store(loop.getResult(0), entry);
}

void makeHeap(Code &c, const SortedList &list, Value length) {
  Value parents = c.div(length, c.i64(2));
  c.loop(c.i64(0), parents, 1, [&](Value i) {
    Value place = c.sub(c.sub(parents, c.i64(1)), i);
    siftDown(c, list, place, length, list.load(place));
  });
}

void sortHeap(Code &c, const SortedList &list, Value length) {
  c.loop(c.i64(1), length, 1, [&](Value i) {
    Value end = c.sub(length, i);
    SmallVector<Value> entry = list.load(end);
    list.store(end, list.load(c.i64(0)));
    siftDown(c, list, c.i64(0), end, entry);
  });
}

Value isLess(Code &c, Type element, Value x, Value y) {
  if (!isa<FloatType>(element))
    return c.cmp(element.isUnsignedInteger() || element.isInteger(1) ? P::ult : P::slt, x, y);
  using F = arith::CmpFPredicate;
  Value isNumber = arith::CmpFOp::create(c.b, c.loc, F::ORD, x, x);
  return c.both(isNumber, arith::CmpFOp::create(c.b, c.loc, F::ULT, x, y));
}

} // namespace fathom
