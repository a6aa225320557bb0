// What the kernel classes share: task ranges, result stores, row-wise iteration and reductions.
#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/common/Sums.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

bool KernelBody::onlyElementwise() {
  return llvm::all_of(kernel.getBody().front().without_terminator(), [&](Operation &op) {
    return &op == anchor || op.hasTrait<graph::Elementwise>() ||
           isa<graph::NoneOp, graph::IdentityOp, graph::RelayoutOp>(op);
  });
}

SmallVector<const Layout *> KernelBody::alignedLayouts() {
  SmallVector<const Layout *> layouts;
  for (const Buffer &output : outputs)
    layouts.push_back(&output.layout);
  for (Value argument : kernel.getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != anchor; }))
      layouts.push_back(&e.buffer(argument).layout);
  return layouts;
}

Range partRange(Code &c, Value part, const Units &units) {
  if (graph::isConstant(units.parts(), 1))
    return {c.i64(0), c.expr(units.count)};
  Value low = c.mul(part, units.each), high = c.add(low, units.each);
  if (auto constant = graph::constantSize(units.count); constant && *constant % units.each == 0)
    return {low, high};
  return {low, c.min(high, c.expr(units.count))};
}

AffineExpr Units::parts() const { return graph::size::simplified(count.ceilDiv(each)); }

Range KernelBody::taskRange(Grid &grid, AffineExpr count, int64_t each) {
  Units units{count, each};
  grid.tasks = units.parts();
  return partRange(e.c, task, units);
}

std::pair<Range, Range> KernelBody::taskRange(Grid &grid, Units inner, Units outer) {
  AffineExpr parts = inner.parts();
  grid.tasks = graph::size::simplified(parts * outer.parts());
  Value count = e.c.expr(parts);
  return {partRange(e.c, e.c.rem(task, count), inner), partRange(e.c, e.c.div(task, count), outer)};
}

TaskGroup KernelBody::taskGroup(Grid &grid, AffineExpr groups, int64_t groupTasks) {
  grid.tasks = graph::size::simplified(groups * groupTasks);
  grid.groupTasks = groupTasks;
  // What is known of them is a constant.
  if (groupTasks == 1)
    return {
        graph::isConstant(groups, 1) ? e.c.i64(0) : task, {e.c.i64(0), e.c.i64(1)}, e.c.integer(e.c.b.getI1Type(), 0)};
  if (graph::isConstant(groups, 1))
    return {e.c.i64(0), {task, tasksEnd}, isHeld};
  Value group = e.c.div(task, e.c.i64(groupTasks)), before = e.c.mul(group, groupTasks);
  return {group, {e.c.sub(task, before), e.c.sub(tasksEnd, before)}, isHeld};
}

void prefetchRun(Emitter &e, const Buffer &buffer, ArrayRef<Index> index, int64_t dim, int64_t count) {
  int64_t inLine = lineBytes / elementBytes(buffer.type.getElementType());
  Indices at = llvm::to_vector(index);
  for (int64_t i = 0; i < count; i += inLine) {
    at[dim] = {e.c.add(index[dim].base, i)};
    e.prefetch(buffer, at);
  }
  // The last ones may lie on a line more.
  if (inLine % count && count % inLine) {
    at[dim] = {e.c.add(index[dim].base, count - 1)};
    e.prefetch(buffer, at);
  }
}

void KernelBody::prefetchOperands(ArrayRef<Index> index, int64_t dim, int64_t count) {
  if (!onlyElementwise())
    return;
  for (Value argument : kernel.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()) || graph::sizesOf(argument) != graph::sizesOf(returned[0]) ||
        llvm::all_of(argument.getUsers(), [&](Operation *user) { return user == anchor; }))
      continue;
    prefetchRun(e, e.buffer(argument), index, dim, count);
  }
}

Span clip(Code &c, const graph::Window &window, int64_t d, Value position, AffineExpr size) {
  int64_t dilation = window.dilations[d], pad = window.padsBegin[d];
  Value origin = c.sub(c.mul(position, window.strides[d]), c.i64(pad));
  auto ceilDiv = [&](Value x) {
    return dilation == 1 ? x : c.b.createOrFold<arith::CeilDivSIOp>(c.loc, x, c.i64(dilation));
  };
  Value low = c.max(c.i64(0), ceilDiv(c.sub(c.i64(0), origin)));
  Value high = c.max(low, c.min(c.i64(window.kernel[d]), ceilDiv(c.sub(c.expr(size), origin))));
  if (pad == 0)
    low = c.i64(0);
  return {low, high, origin};
}

void KernelBody::storeResults(ArrayRef<Index> index, int64_t lanes) {
  e.computeAndStore(returned, outputs, index, lanes);
}

void KernelBody::storeAnchor(ArrayRef<Index> index, Value values, int64_t lanes) {
  e.bind(anchor->getResult(0), [=](ArrayRef<Index>, int64_t) { return values; });
  storeResults(index, lanes);
}

void KernelBody::clearHalos(AffineExpr tasks) {
  for (const Buffer &output : outputs)
    if (output.layout.hasHalo())
      e.clearHalo(output, {task, tasksEnd}, e.c.expr(tasks));
}

bool Reducer::lanesReduced() const { return llvm::is_contained(axes, innermostDim(type)); }

Value combineLanes(Code &c, Value vector, Reducer::Combine combine) {
  while (auto type = dyn_cast<VectorType>(vector.getType())) {
    int64_t half = type.getNumElements() / 2;
    if (half == 1)
      return combine(c.extract(vector, 0), c.extract(vector, 1));
    Value low = vector::ExtractStridedSliceOp::create(c.b, c.loc, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{half},
                                                      ArrayRef<int64_t>{1});
    Value high = vector::ExtractStridedSliceOp::create(c.b, c.loc, vector, ArrayRef<int64_t>{half},
                                                       ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
    vector = combine(low, high);
  }
  return vector;
}

SmallVector<Loop> Reducer::shared() const {
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(axes, d))
      kept.push_back(d);
  return loopsOver(type, {}, kept);
}

Value Reducer::reduce(Indices index, int64_t lanes, Value identity, Combine combine, Item item) {
  Code &c = e.c;
  if (e.team) {
    SmallVector<Loop> loops = shared();
    auto own = c.loop(e.team->item, c.expr(iterations(loops, type.getContext())), e.team->items, identity,
                      [&](Value position, ValueRange carried) {
                        delinearize(c, position, loops, index);
                        return SmallVector<Value>{combine(carried[0], item(index, 1))};
                      });
    return e.team->combined(own[0], combine);
  }
  SmallVector<int64_t> outer;
  int64_t innermost = innermostDim(type);
  for (int64_t d : layoutOf(type).order)
    if (llvm::is_contained(axes, d) && d != innermost)
      outer.push_back(d);
  // One loop over an axis, or blocks of it.
  auto chain = [&](Value count, ValueRange values, ValueRange identities,
                   llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return sumInBlocks(c, count, longestChain, 1, values, identities, combine,
                       [&](Value from, Value to, ValueRange sums) { return c.loop(from, to, 1, sums, body); });
  };
  // Nests loops over the outer axes around `inner`. Each starts from `init` and is combined as a whole: sums of sums
  // round less than one long chain.
  size_t loops = outer.size() + (lanesReduced() ? 1 : 0);
  using Inner = llvm::function_ref<SmallVector<Value>(ValueRange)>;
  std::function<SmallVector<Value>(size_t, ValueRange, Inner)> nest = [&](size_t i, ValueRange init, Inner inner) {
    if (i == outer.size())
      return inner(init);
    return chain(c.expr(graph::sizesOf(type)[outer[i]]), init, init, [&](Value iv, ValueRange values) {
      index[outer[i]] = {iv, 0};
      if (i + 1 == loops)
        return inner(values);
      SmallVector<Value> both;
      for (auto [before, part] : llvm::zip(values, nest(i + 1, init, inner)))
        both.push_back(combine(before, part));
      return both;
    });
  };
  if (!lanesReduced())
    return nest(0, c.splat(identity, lanes),
                [&](ValueRange values) { return SmallVector<Value>{combine(values[0], item(index, lanes))}; })[0];

  Value size = c.expr(graph::sizesOf(type)[innermost]);
  bool vectors = wide > 1 && (!Code::constant(size) || *Code::constant(size) >= wide);
  SmallVector<Value> init{identity};
  if (vectors)
    init.push_back(c.splat(identity, wide));
  SmallVector<Value> sums = nest(0, init, [&](ValueRange values) {
    SmallVector<Value> next = llvm::to_vector(values);
    Value tail = c.i64(0);
    if (vectors) {
      tail = c.sub(size, c.rem(size, c.i64(wide)));
      next[1] = chain(c.div(size, c.i64(wide)), next[1], init[1], [&](Value iv, ValueRange acc) {
        index[innermost] = {c.mul(iv, wide), 1};
        return SmallVector<Value>{combine(acc[0], item(index, wide))};
      })[0];
    }
    next[0] = chain(c.sub(size, tail), next[0], identity, [&](Value iv, ValueRange acc) {
      index[innermost] = {c.add(tail, iv), 0};
      return SmallVector<Value>{combine(acc[0], item(index, 1))};
    })[0];
    return next;
  });
  return vectors ? combine(combineLanes(c, sums[1], combine), sums[0]) : sums[0];
}

void Reducer::visit(Indices index, int64_t lanes, llvm::function_ref<void(ArrayRef<Index>, int64_t)> body) {
  Code &c = e.c;
  if (e.team) {
    SmallVector<Loop> loops = shared();
    return c.loop(e.team->item, c.expr(iterations(loops, type.getContext())), e.team->items, [&](Value position) {
      delinearize(c, position, loops, index);
      body(index, 1);
    });
  }
  SmallVector<int64_t> order;
  for (int64_t d : layoutOf(type).order)
    if (llvm::is_contained(axes, d))
      order.push_back(d);
  bool lanesInside = lanesReduced();
  std::function<void(size_t)> nest = [&](size_t i) {
    if (i == order.size())
      return body(index, lanes);
    Value size = c.expr(graph::sizesOf(type)[order[i]]);
    if (lanesInside && i + 1 == order.size())
      return vectorLoop(c, c.i64(0), size, wide, narrow, [&](Value iv, int64_t n) {
        index[order[i]] = {iv, n > 1 ? 1 : 0};
        body(index, n);
      });
    c.loop(c.i64(0), size, 1, [&](Value iv) {
      index[order[i]] = {iv, 0};
      nest(i + 1);
    });
  };
  nest(0);
}

Grid overRows(KernelBody &k, const SweepSchedule &schedule, RankedTensorType type, ArrayRef<int64_t> axes,
              llvm::function_ref<void(Indices, int64_t)> body) {
  Code &c = k.e.c;
  Grid grid;
  int64_t innermost = innermostDim(type);
  bool lanesKept = innermost >= 0 && !llvm::is_contained(axes, innermost);
  SmallVector<int64_t> without = llvm::to_vector(axes);
  if (lanesKept)
    without.push_back(innermost);
  SmallVector<Loop> loops = loopsOver(type, {}, without);
  AffineExpr rows = iterations(loops, k.context());
  if (!lanesKept) {
    auto [low, high] = k.taskRange(grid, rows, schedule.grain);
    c.loop(low, high, 1, [&](Value row) {
      Indices index = k.e.zeros(type.getRank());
      delinearize(c, row, loops, index);
      body(index, 1);
    });
    return grid;
  }
  // Lanes run along a kept dimension: a task is a stretch of it for one row.
  auto [stretch, row] = k.taskRange(grid, {graph::sizesOf(type)[innermost], schedule.grain}, {rows, 1});
  Indices index = k.e.zeros(type.getRank());
  delinearize(c, row.first, loops, index);
  // Every vector passes the whole column below it: what is left is halved instead of passed in many narrow ones.
  SmallVector<int64_t> widths;
  for (int64_t lanes = schedule.lanes; lanes > 1 && (widths.empty() || lanes >= k.e.target.lanes(32)); lanes /= 2)
    widths.push_back(lanes);
  widths.push_back(1);
  vectorLoop(c, stretch.first, stretch.second, widths, [&](Value iv, int64_t lanes) {
    index[innermost] = {iv, lanes > 1 ? 1 : 0};
    body(index, lanes);
  });
  return grid;
}

Buffer operandBuffer(KernelBody &k, Value operand) {
  if (k.e.isBuffer(operand))
    return k.e.buffer(operand);
  auto type = cast<RankedTensorType>(operand.getType());
  return {Value(), type, layoutOf(type)};
}

} // namespace fathom
