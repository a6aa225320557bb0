// Rows written into a cache, each where an index says.
#include "compiler/codegen/common/Sequential.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

using P = arith::CmpIPredicate;

// Copies the cache, unless it is the result's own memory, and writes the new rows.
Grid emitTensorScatter(KernelBody &k, const TensorScatterSchedule &schedule) {
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
    vectorLoop(c, c.i64(0), e.size(op.getResult(), rank - 1), schedule.lanes, e.target.lanes(32),
               [&](Value i, int64_t lanes) {
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
