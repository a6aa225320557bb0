// Distinct elements of a vector or rows of a matrix, found by sorting their indices in the memory of the first result.
#include "compiler/codegen/common/Sequential.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

using P = arith::CmpIPredicate;

// -1, 0 or 1: how two rows compare, by their first elements that differ.
static Value compareRows(KernelBody &k, UniqueOp op, Value a, Value b) {
  Code &c = k.e.c;
  auto type = cast<RankedTensorType>(op.getInput().getType());
  bool isVector = type.getRank() == 1;
  auto compare = [&](Value column) {
    auto at = [&](Value row) {
      return k.e.element(op.getInput(), isVector ? Indices{{row, 0}} : Indices{{row, 0}, {column, 0}}, 1);
    };
    Value x = at(a), y = at(b);
    return c.select(isLess(c, type.getElementType(), x, y), c.i64(-1),
                    c.select(isLess(c, type.getElementType(), y, x), c.i64(1), c.i64(0)));
  };
  if (isVector)
    return compare(Value());
  Value columns = k.e.size(op.getInput(), 1);
  SmallVector<Type, 2> types(2, c.b.getI64Type());
  auto loop = scf::WhileOp::create(
      c.b, c.loc, types, ValueRange{c.i64(0), c.i64(0)},
      [&](OpBuilder &, Location, ValueRange at) {
        Value goesOn = c.both(c.cmp(P::eq, at[1], c.i64(0)), c.cmp(P::slt, at[0], columns));
        scf::ConditionOp::create(c.b, c.loc, goesOn, at);
      },
      [&](OpBuilder &, Location, ValueRange at) {
        Value order = compare(at[0]);
        scf::YieldOp::create(c.b, c.loc, ValueRange{c.add(at[0], 1), order});
      });
  return loop.getResult(1);
}

// The position of a number in a sorted list of `length` that has it.
static Value find(Code &c, llvm::function_ref<Value(Value)> load, Value length, Value number) {
  SmallVector<Type, 2> types(2, c.b.getI64Type());
  auto loop = scf::WhileOp::create(
      c.b, c.loc, types, ValueRange{c.i64(0), length},
      [&](OpBuilder &, Location, ValueRange range) {
        Value isOpen = c.cmp(P::sgt, c.sub(range[1], range[0]), c.i64(1));
        scf::ConditionOp::create(c.b, c.loc, isOpen, range);
      },
      [&](OpBuilder &, Location, ValueRange range) {
        Value middle = c.div(c.add(range[0], range[1]), c.i64(2)), isAbove = c.cmp(P::sgt, load(middle), number);
        scf::YieldOp::create(c.b, c.loc,
                             ValueRange{c.select(isAbove, range[0], middle), c.select(isAbove, middle, range[1])});
      });
  return loop.getResult(0);
}

Grid emitUnique(KernelBody &k, const SequentialSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<UniqueOp>(k.anchor);
  Grid grid{getAffineConstantExpr(1, k.context()), 0};
  llvm::SmallDenseMap<Value, const Buffer *> buffers;
  for (auto [result, output] : llvm::zip(k.returned, k.outputs))
    buffers[result] = &output;
  const Buffer *first = buffers.lookup(op.getFirst()), *inverse = buffers.lookup(op.getInverse()),
               *counts = buffers.lookup(op.getCounts()), *count = buffers.lookup(op.getCount());
  if (!first) {
    // The importer counts by the first result, so that it is always there.
    fathom::emitError(op, ErrorCode::Internal) << "the first result has no memory to sort in";
    return e.failed = true, grid;
  }
  auto load = [&](const Buffer *buffer, Value position) { return e.load(*buffer, Indices{{position, 0}}, 1); };
  auto store = [&](const Buffer *buffer, Value position, Value value) {
    if (buffer)
      e.store(*buffer, Indices{{position, 0}}, value, 1);
  };
  Value size = e.size(op.getInput(), 0);

  // Indices sorted by their rows; equal rows in order of their indices.
  SortedList rows;
  rows.load = [&](Value position) { return SmallVector<Value>{load(first, position)}; };
  rows.store = [&](Value position, ValueRange entry) { store(first, position, entry[0]); };
  rows.isAfter = [&](ValueRange a, ValueRange b) {
    Value order = compareRows(k, op, a[0], b[0]), isLater = c.cmp(P::sgt, a[0], b[0]);
    return c.select(c.cmp(P::eq, order, c.i64(0)), isLater, c.cmp(P::sgt, order, c.i64(0)));
  };
  c.loop(c.i64(0), size, 1, [&](Value i) { store(first, i, i); });
  makeHeap(c, rows, size);
  sortHeap(c, rows, size);

  // A run of equal rows is one group, whose index overwrites what was read before.
  Value total = c.loop(c.i64(0), size, 1, ValueRange{c.i64(0), c.i64(0)}, [&](Value i, ValueRange before) {
    Value row = load(first, i), leader = before[1];
    Value isSame = c.when(
        c.cmp(P::sgt, i, c.i64(0)), [&] { return c.cmp(P::eq, compareRows(k, op, row, leader), c.i64(0)); },
        [&] { return c.integer(c.b.getI1Type(), 0); });
    Value groups = c.select(isSame, before[0], c.add(before[0], 1)), group = c.sub(groups, c.i64(1));
    leader = c.select(isSame, leader, row);
    store(first, group, leader);
    if (counts) {
      Value others = c.when(isSame, [&] { return load(counts, group); }, [&] { return c.i64(0); });
      store(counts, group, c.add(others, 1));
    }
    store(inverse, row, op.getSorted() ? group : leader);
    return SmallVector<Value>{groups, leader};
  })[0];

  // In order of appearance: groups sorted by their first index, by which every element then finds its own.
  if (!op.getSorted()) {
    SortedList groups;
    groups.load = [&](Value position) {
      SmallVector<Value> entry{load(first, position)};
      if (counts)
        entry.push_back(load(counts, position));
      return entry;
    };
    groups.store = [&](Value position, ValueRange entry) {
      store(first, position, entry[0]);
      if (counts)
        store(counts, position, entry[1]);
    };
    groups.isAfter = [&](ValueRange a, ValueRange b) { return c.cmp(P::sgt, a[0], b[0]); };
    makeHeap(c, groups, total);
    sortHeap(c, groups, total);
    if (inverse)
      c.loop(c.i64(0), size, 1, [&](Value i) {
        store(inverse, i, find(c, [&](Value at) { return load(first, at); }, total, load(inverse, i)));
      });
  }
  c.loop(total, size, 1, [&](Value i) { store(first, i, c.i64(-1)); });
  store(count, c.i64(0), total);
  return grid;
}

} // namespace fathom
