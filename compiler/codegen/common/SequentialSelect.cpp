// Kernels that select by data: which elements are not zero, where a cache is written.
#include "compiler/codegen/common/Sequential.h"
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

// Copies the cache, unless it is the result's own memory, and writes the new rows.
Grid emitTensorScatter(KernelBody &k, const SequentialSchedule &schedule) {
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
    int64_t lanes = e.target.lanes(32), most = e.target.hasVectors() ? 4 * lanes : 1;
    vectorLoop(c, c.i64(0), e.size(op.getResult(), rank - 1), most, lanes, [&](Value i, int64_t lanes) {
      index[rank - 1] = {i, lanes > 1 ? 1 : 0};
      body(lanes);
    });
  };
  return overElements(k, schedule, loopsOver(type, {}, within), rank, [&](Indices &index) {
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
