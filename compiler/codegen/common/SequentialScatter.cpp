// Scatters: a copy of the input into which updates are written in their order, which decides where indices repeat.
#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// The element after an update, by ONNX's name of the reduction.
Value combine(Code &c, StringRef reduction, Type element, Value old, Value update) {
  if (reduction == "none")
    return update;
  if (reduction == "add")
    return element.isInteger(1) ? Value(arith::OrIOp::create(c.b, c.loc, old, update))
                                : addElements(c, element, old, update);
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  if (!isa<FloatType>(element)) {
    if (reduction == "mul")
      return c.mul(old, update);
    if (reduction == "max")
      return isUnsigned ? Value(arith::MaxUIOp::create(c.b, c.loc, old, update)) : c.max(old, update);
    return isUnsigned ? Value(arith::MinUIOp::create(c.b, c.loc, old, update)) : c.min(old, update);
  }
  bool isHalf = element.getIntOrFloatBitWidth() == 16;
  auto extend = [&](Value v) {
    Type wide = c.b.getF32Type();
    if (auto vector = dyn_cast<VectorType>(v.getType()))
      wide = vector.clone(wide);
    return isHalf ? arith::ExtFOp::create(c.b, c.loc, wide, v).getResult() : v;
  };
  Value x = extend(old), y = extend(update), result;
  if (reduction == "mul")
    result = arith::MulFOp::create(c.b, c.loc, x, y);
  else if (reduction == "max")
    result = arith::MaximumFOp::create(c.b, c.loc, x, y);
  else
    result = arith::MinimumFOp::create(c.b, c.loc, x, y);
  return isHalf ? arith::TruncFOp::create(c.b, c.loc, old.getType(), result).getResult() : result;
}

void update(KernelBody &k, StringRef reduction, ArrayRef<Index> at, Value value, int64_t lanes) {
  const Buffer &output = k.outputs[0];
  Value old = reduction == "none" ? Value() : k.e.load(output, at, lanes);
  k.e.store(output, at, combine(k.e.c, reduction, output.type.getElementType(), old, value), lanes);
}

void copy(KernelBody &k, Value input, ArrayRef<Index> at, int64_t lanes) {
  k.e.store(k.outputs[0], at, k.e.element(input, at, lanes), lanes);
}

// Where there is no element to update, the index was a fault.
void whenNonEmpty(Emitter &e, Value tensor, ArrayRef<int64_t> dims, llvm::function_ref<void()> body) {
  if (Value some = e.isNonEmpty(tensor, dims))
    e.c.when(some, body);
  else
    body();
}

} // namespace

// Rows along the axis are independent of each other, and updates of a row are written in their order. Where dimensions
// lie inside the axis, a task goes over its rows together, position by position of the axis: so everything is read and
// written as it lies in memory.
Grid emitScatterElements(KernelBody &k, const SequentialSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<ScatterElementsOp>(k.anchor);
  auto type = op.getType();
  int64_t rank = type.getRank(), axis = *normalizeAxis(op.getAxis(), rank);
  Value size = e.size(op.getInput(), axis);
  SmallVector<int64_t> order = layoutOf(type).order;
  SmallVector<Loop> rows = loopsOver(type, {}, {axis}), outside, inside;
  for (const Loop &loop : rows)
    (llvm::find(order, loop.dim) < llvm::find(order, axis) ? outside : inside).push_back(loop);
  Grid grid;
  auto [low, high] = k.taskRange(grid, iterations(rows, k.context()), schedule.grain);
  Indices index = e.zeros(rank);
  // The rows [from, to) of the task among those that differ inside the axis only.
  auto overBlocks = [&](llvm::function_ref<void(Value from, Value to)> body) {
    if (inside.empty())
      return c.loop(low, high, 1, [&](Value row) {
        delinearize(c, row, outside, index);
        body(c.i64(0), c.i64(1));
      });
    // There are no blocks where one is empty.
    Value length = c.max(c.expr(iterations(inside, k.context())), c.i64(1));
    Value end = c.div(c.add(high, c.sub(length, c.i64(1))), length);
    c.loop(c.div(low, length), end, 1, [&](Value block) {
      delinearize(c, block, outside, index);
      Value start = c.mul(block, length);
      body(c.max(c.sub(low, start), c.i64(0)), c.min(c.sub(high, start), length));
    });
  };
  // The copy has its vectors along the axis, or along neighbouring rows.
  overBlocks([&](Value from, Value to) {
    int64_t along = lanesAlong(k, type, Loop{axis, sizesOf(type)[axis]});
    vectorLoop(c, c.i64(0), size, along, along, [&](Value i, int64_t width) {
      index[axis] = {i, width > 1 ? 1 : 0};
      overStretch(k, from, to, inside, lanesAlong(k, type, inside), index,
                  [&](int64_t lanes) { copy(k, op.getInput(), index, lanes * width); });
    });
  });
  auto hasUpdates = [&](ArrayRef<Loop> loops) {
    Value has = arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(true));
    for (const Loop &loop : loops)
      if (sizesOf(op.getIndices())[loop.dim] != sizesOf(type)[loop.dim])
        has = c.both(has, c.cmp(arith::CmpIPredicate::slt, index[loop.dim].base, e.size(op.getIndices(), loop.dim)));
    return has;
  };
  overBlocks([&](Value from, Value to) {
    c.when(hasUpdates(outside), [&] {
      c.loop(c.i64(0), e.size(op.getIndices(), axis), 1, [&](Value i) {
        index[axis] = {i, 0};
        overStretch(k, from, to, inside, 1, index, [&](int64_t) {
          c.when(hasUpdates(inside), [&] {
            Value value = e.element(op.getUpdates(), index, 1);
            Indices at = index;
            at[axis] = {e.checkedIndex(e.integerAt(op.getIndices(), index), size), 0};
            whenNonEmpty(e, op.getInput(), axis, [&] { update(k, op.getReduction(), at, value, 1); });
          });
        });
      });
    });
  });
  return grid;
}

// Positions within the slices that an index selects are independent, so tasks divide the slices.
Grid emitScatterND(KernelBody &k, const SequentialSchedule &schedule) {
  Emitter &e = k.e;
  Code &c = e.c;
  auto op = cast<ScatterNDOp>(k.anchor);
  auto type = op.getType();
  auto indices = cast<RankedTensorType>(op.getIndices().getType()),
       updates = cast<RankedTensorType>(op.getUpdates().getType());
  int64_t rank = type.getRank(), outer = indices.getRank() - 1, depth = indices.getDimSize(outer);
  auto range = [](int64_t from, int64_t to) { return llvm::to_vector(llvm::seq<int64_t>(from, to)); };
  SmallVector<Loop> selected = loopsOver(type, {}, range(depth, rank)), slice = loopsOver(type, {}, range(0, depth));
  SmallVector<Loop> tuples = loopsOver(updates, {}, range(outer, updates.getRank()));
  Grid grid;
  auto [low, high] = k.taskRange(grid, iterations(slice, k.context()), schedule.grain);
  int64_t lanes = lanesAlong(k, type, slice);
  Indices from = e.zeros(rank);
  if (slice.empty()) {
    SmallVector<const Layout *> layouts;
    if (e.isBuffer(op.getInput()))
      layouts = {&k.outputs[0].layout, &e.buffer(op.getInput()).layout};
    SmallVector<Loop> all = loopsOver(type, layouts, {});
    overStretch(k, c.i64(0), c.expr(iterations(all, k.context())), all, lanesAlong(k, type, all), from,
                [&](int64_t width) { copy(k, op.getInput(), from, width); });
  } else {
    c.loop(c.i64(0), c.expr(iterations(selected, k.context())), 1, [&](Value position) {
      delinearize(c, position, selected, from);
      overStretch(k, low, high, slice, lanes, from, [&](int64_t width) { copy(k, op.getInput(), from, width); });
    });
  }
  c.loop(c.i64(0), c.expr(iterations(tuples, k.context())), 1, [&](Value position) {
    Indices tuple = e.zeros(updates.getRank()), index = e.zeros(rank);
    delinearize(c, position, tuples, tuple);
    Indices entry = llvm::to_vector<4>(ArrayRef(tuple).take_front(outer));
    entry.push_back({c.i64(0), 0});
    for (int64_t d = 0; d < depth; ++d) {
      entry.back() = {c.i64(d), 0};
      index[d] = {e.checkedIndex(e.integerAt(op.getIndices(), entry), e.size(op.getInput(), d)), 0};
    }
    whenNonEmpty(e, op.getInput(), range(0, depth), [&] {
      overStretch(k, low, high, slice, lanes, index, [&](int64_t width) {
        for (int64_t d = depth; d < rank; ++d)
          tuple[outer + d - depth] = index[d];
        update(k, op.getReduction(), index, e.element(op.getUpdates(), tuple, width), width);
      });
    });
  });
  return grid;
}

} // namespace fathom
