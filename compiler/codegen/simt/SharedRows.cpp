// Reductions, softmaxes and normalisations whose rows are shared by the items of a group: neighbours read neighbouring
// elements, and what they have found is combined in local memory, halves first.
#include "compiler/codegen/simt/GroupKernel.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/RowAxes.h"

using namespace mlir;

namespace fathom {

// Items that share a row of so many elements: each has a few.
static int64_t itemsFor(std::optional<int64_t> elements, const Gpu &gpu) {
  if (!elements)
    return gpu.mostRowItems;
  int64_t items = llvm::PowerOf2Ceil(*elements / gpu.rowElementsOfItem);
  return std::clamp(items, gpu.leastRowItems, gpu.mostRowItems);
}

bool sharesRows(Operation *anchor, const KernelClass &klass, const Target &target) {
  if (!klass.sharesRows)
    return false;
  auto type = cast<RankedTensorType>(anchor->getOperand(0).getType());
  SmallVector<int64_t> axes = rowAxes(anchor);
  std::optional<int64_t> elements = 1;
  for (int64_t axis : axes) {
    std::optional<int64_t> size = graph::constantSize(graph::sizesOf(type)[axis]);
    elements = elements && size ? std::optional(*elements * *size) : std::nullopt;
  }
  int64_t innermost = innermostDim(type);
  // Else neighbouring items have neighbouring rows.
  return innermost >= 0 && llvm::is_contained(axes, innermost) && (!elements || *elements >= target.gpu.sharedRow);
}

FailureOr<Grid> emitSharedRows(func::FuncOp kernel, ClassEmitter emit, const Schedule &schedule, StringRef name,
                               unsigned symbolCount, const Target &target, ModuleOp loops) {
  SimtFunction f(kernel, name, symbolCount, target, loops);
  Code &c = f.c;
  auto type = cast<RankedTensorType>(f.body.anchor->getOperand(0).getType());
  AffineExpr elements = getAffineConstantExpr(1, kernel.getContext());
  for (int64_t axis : rowAxes(f.body.anchor))
    elements = elements * graph::sizesOf(type)[axis];
  int64_t items = std::min(itemsFor(graph::constantSize(graph::size::simplified(elements)), target.gpu),
                           int64_t(llvm::bit_floor(uint64_t(target.gpu.groupItems))));
  auto combined = [&](Value own, llvm::function_ref<Value(Value, Value)> combine) {
    Type element = own.getType();
    Value local = allocateLocal(f.e, element, items);
    c.store(own, local, f.item, element);
    for (int64_t half = items / 2; half; half /= 2) {
      emitBarrier(c);
      c.when(c.cmp(arith::CmpIPredicate::slt, f.item, c.i64(half)), [&] {
        Value other = c.load(local, c.add(f.item, half), element);
        c.store(combine(c.load(local, f.item, element), other), local, f.item, element);
      });
    }
    emitBarrier(c);
    return c.load(local, c.i64(0), element);
  };
  Team team{f.item, items, combined};
  f.e.team = &team;
  f.body.task = f.group, f.body.tasksEnd = c.add(f.group, 1), f.body.isHeld = c.integer(c.b.getI1Type(), 0);
  // A row is a group's.
  Schedule ofRow = schedule;
  ofRow.set("lanes", 1), ofRow.set("grain", 1);
  Grid grid = emit(f.body, ofRow);
  f.end();
  if (f.e.failed || !grid.tasks)
    return failure();
  grid.groupItems = items;
  return grid;
}

} // namespace fathom
