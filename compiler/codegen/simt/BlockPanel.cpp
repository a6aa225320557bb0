// Fetching, staging and reading a factor.
#include "compiler/codegen/simt/BlockPanel.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

BlockPanel::BlockPanel(GroupKernel &k, const BlockContractSchedule &schedule, BlockOperand of, Value firstRow)
    : k(k), c(k.c), operand(std::move(of)), blockK(schedule.blockK), pitch(operand.extent + localPad),
      local(k.allocateLocal(operand.element, schedule.stages * blockK * pitch)) {
  // An item's vectors are as many apart as there are items.
  int64_t vector = operand.vector, across = (operand.alongDepth ? blockK : operand.extent) / vector;
  int64_t all = operand.extent * blockK / vector, items = schedule.items();
  for (int64_t first = 0; first < all; first += items) {
    Slot slot;
    Value flat = c.add(k.item, first);
    if (first + items > all) {
      slot.isThere = c.cmp(arith::CmpIPredicate::slt, flat, c.i64(all));
      flat = c.min(flat, c.i64(all - 1));
    }
    slot.row = c.div(flat, c.i64(across)), slot.step = c.mul(c.rem(flat, c.i64(across)), vector);
    if (!operand.alongDepth)
      std::swap(slot.row, slot.step);
    // Rows behind the last one are never stored; what they are computed from only has to be there.
    Value row = c.add(firstRow, slot.row);
    if (std::optional<int64_t> known = graph::constantSize(operand.rows); !known || *known % operand.extent)
      row = c.select(c.cmp(arith::CmpIPredicate::slt, row, c.expr(operand.rows)), row, c.i64(0));
    slot.at = operand.locate(row);
    slots.push_back(std::move(slot));
  }
}

Value BlockPanel::place(Value stage, Value step, Value row) {
  return c.add(c.add(c.mul(stage, blockK * pitch), c.mul(step, pitch)), row);
}

SmallVector<Value> BlockPanel::fetch(Value first) {
  std::optional<int64_t> known = graph::constantSize(operand.depth);
  Value zero = c.number(registerType(operand.element), 0);
  SmallVector<Value> values;
  for (Slot &slot : slots) {
    auto load = [&](const BlockOperand::Step &step) {
      Emitter::Request request(k.e);
      return operand.fetch(slot.at, step);
    };
    if (known && *known % blockK == 0) {
      llvm::append_range(values, load({first, slot.step}));
      continue;
    }
    // Steps behind the last one count as zeros.
    Value step = c.add(first, slot.step), isInside = c.cmp(arith::CmpIPredicate::slt, step, c.expr(operand.depth));
    if (operand.mayBeEmpty) {
      values.push_back(c.when(isInside, [&] { return load({step, c.i64(0)})[0]; }, [&] { return zero; }));
      continue;
    }
    for (Value value : load({c.select(isInside, step, c.i64(0)), c.i64(0)}))
      values.push_back(c.select(isInside, value, zero));
  }
  return values;
}

void BlockPanel::put(ValueRange values, Value stage) {
  for (auto [i, slot] : llvm::enumerate(slots)) {
    ValueRange of = values.slice(i * operand.vector, operand.vector);
    auto body = [&, &slot = slot] {
      if (!operand.alongDepth)
        return k.storeTogether(of, local, place(stage, slot.step, slot.row), operand.element);
      for (auto [v, value] : llvm::enumerate(of))
        c.store(value, local, place(stage, c.add(slot.step, v), slot.row), operand.element);
    };
    slot.isThere ? c.when(slot.isThere, body) : body();
  }
}

SmallVector<Value> BlockPanel::get(Value stage, int64_t step, Value row, int64_t count) {
  Value at = c.add(c.add(c.mul(stage, blockK * pitch), row), step * pitch);
  return k.loadTogether(local, at, operand.element, count);
}

} // namespace fathom
