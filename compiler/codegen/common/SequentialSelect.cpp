// Kernels that select by data: which elements are not zero.
#include "compiler/codegen/common/Sequential.h"

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

Grid emitNonZero(KernelBody &k, const SequentialSchedule &schedule) {
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

} // namespace fathom
