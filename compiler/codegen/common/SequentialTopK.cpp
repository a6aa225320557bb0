// The k largest or smallest elements along an axis. The results are a heap of the best so far with the worst of them at
// its root, which a better element replaces; in the end the heap is sorted.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Grid emitTopK(KernelBody &k, const SequentialSchedule &schedule) {
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

  auto isBetter = [&](Value x, Value y) {
    return op.getLargest() ? isLess(c, element, y, x) : isLess(c, element, x, y);
  };
  return overElements(k, schedule, loopsOver(type, {}, {axis}), type.getRank(), [&](Indices &row) {
    auto at = [&](Value position) {
      Indices index = row;
      index[axis] = {position, 0};
      return index;
    };
    auto input = [&](Value position) { return e.element(op.getInput(), at(position), 1); };
    // An entry is the element and, where indices are kept, its index.
    SortedList list;
    list.load = [&](Value position) {
      SmallVector<Value> entry;
      Value index = indices ? e.load(*indices, at(position), 1) : Value();
      entry.push_back(values ? e.load(*values, at(position), 1) : input(index));
      if (indices)
        entry.push_back(index);
      return entry;
    };
    list.store = [&](Value position, ValueRange entry) {
      if (values)
        e.store(*values, at(position), entry[0], 1);
      if (indices)
        e.store(*indices, at(position), entry[1], 1);
    };
    // Of equal elements the one with the lower index comes first.
    list.isAfter = [&](ValueRange a, ValueRange b) -> Value {
      Value isWorse = isBetter(b[0], a[0]);
      if (!indices)
        return isWorse;
      Value isLater = c.cmp(arith::CmpIPredicate::sgt, a[1], b[1]), isFalse = c.integer(c.b.getI1Type(), 0);
      return c.select(isWorse, isWorse, c.select(isBetter(a[0], b[0]), isFalse, isLater));
    };
    auto entryAt = [&](Value position) {
      SmallVector<Value> entry{input(position)};
      if (indices)
        entry.push_back(position);
      return entry;
    };
    c.loop(c.i64(0), count, 1, [&](Value i) { list.store(i, entryAt(i)); });
    makeHeap(c, list, count);
    Value isKept = c.cmp(arith::CmpIPredicate::sgt, count, c.i64(0));
    c.when(isKept, [&] {
      c.loop(count, e.size(op.getInput(), axis), 1, [&](Value i) {
        SmallVector<Value> entry = entryAt(i);
        // Later elements of the same value are not better.
        c.when(isBetter(entry[0], list.load(c.i64(0))[0]), [&] { siftDown(c, list, c.i64(0), count, entry); });
      });
    });
    sortHeap(c, list, count);
  });
}

} // namespace fathom
