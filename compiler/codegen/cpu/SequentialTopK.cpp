// The k largest or smallest elements along an axis, by insertion into a sorted list that lies in the result.
#include "compiler/codegen/cpu/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid emitTopK(KernelBody &k) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<TopKOp>(k.anchor);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type element = type.getElementType();
  int64_t axis = *normalizeAxis(op.getAxis(), type.getRank());
  Value count = e.size(op.getValues(), axis);
  // A result that nobody reads has no buffer; either one is enough to know the list.
  const Buffer *values = nullptr, *indices = nullptr;
  for (auto [result, output] : llvm::zip(k.returned, k.outputs))
    (result == op.getValues() ? values : indices) = &output;

  auto better = [&](Value x, Value y) -> Value {
    if (isa<FloatType>(element))
      return arith::CmpFOp::create(c.b, c.loc, op.getLargest() ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
                                   x, y);
    using P = arith::CmpIPredicate;
    bool isUnsigned = element.isUnsignedInteger();
    return c.cmp(op.getLargest() ? (isUnsigned ? P::ugt : P::sgt) : (isUnsigned ? P::ult : P::slt), x, y);
  };
  return overElements(k, loopsOver(type, {}, {axis}), type.getRank(), [&](Indices &row) {
    auto at = [&](Value position) {
      Indices index = row;
      index[axis] = {position, 0};
      return index;
    };
    auto listed = [&](Value position) {
      if (values)
        return e.load(*values, at(position), 1);
      return e.element(op.getInput(), at(e.load(*indices, at(position), 1)), 1);
    };
    auto move = [&](const Buffer *buffer, Value from, Value to) {
      if (buffer)
        e.store(*buffer, at(to), e.load(*buffer, at(from), 1), 1);
    };
    c.loop(c.i64(0), e.size(op.getInput(), axis), 1, [&](Value i) {
      Value x = e.element(op.getInput(), at(i), 1);
      Value length = c.min(i, count);
      // Strictly better ones move up, so that of equal elements the first stays in front. A full list loses its last.
      auto loop = scf::WhileOp::create(
          c.b, c.loc, TypeRange{c.b.getI64Type()}, ValueRange{length},
          [&](OpBuilder &, Location, ValueRange carried) {
            Value place = carried[0], positive = c.cmp(arith::CmpIPredicate::sgt, place, c.i64(0));
            Value goesOn =
                c.when(positive, [&] { return better(x, listed(c.sub(place, c.i64(1)))); }, [&] { return positive; });
            scf::ConditionOp::create(c.b, c.loc, goesOn, ValueRange{place});
          },
          [&](OpBuilder &, Location, ValueRange carried) {
            Value previous = c.sub(carried[0], c.i64(1));
            c.when(c.cmp(arith::CmpIPredicate::slt, carried[0], count), [&] {
              move(values, previous, carried[0]);
              move(indices, previous, carried[0]);
            });
            scf::YieldOp::create(c.b, c.loc, previous);
          });
      Value place = loop.getResult(0);
      c.when(c.cmp(arith::CmpIPredicate::slt, place, count), [&] {
        if (values)
          e.store(*values, at(place), x, 1);
        if (indices)
          e.store(*indices, at(place), i, 1);
      });
    });
  });
}

} // namespace fathom
