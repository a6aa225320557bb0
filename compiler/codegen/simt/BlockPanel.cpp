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
    for (int64_t v = 0; v < (operand.alongDepth ? 1 : vector); ++v)
      slot.at.push_back(operand.locate(c.add(row, v)));
    slots.push_back(std::move(slot));
  }
}

Value BlockPanel::place(Value stage, Value step, Value row) {
  return c.add(c.add(c.mul(stage, blockK * pitch), c.mul(step, pitch)), row);
}

SmallVector<Value> BlockPanel::fetch(Value first) {
  std::optional<int64_t> known = graph::constantSize(operand.depth);
  SmallVector<Value> values;
  for (Slot &slot : slots) {
    BlockOperand::Step step{first, slot.step, 0};
    Value isInside;
    if (!known || *known % blockK) {
      step = {c.add(first, slot.step), c.i64(0), 0};
      isInside = c.cmp(arith::CmpIPredicate::slt, step.block, c.expr(operand.depth));
      if (!operand.mayBeEmpty)
        step.block = c.select(isInside, step.block, c.i64(0));
    }
    Emitter::Request request(k.e);
    for (int64_t v = 0; v < operand.vector; ++v) {
      step.beside = operand.alongDepth ? v : 0;
      auto load = [&] { return operand.elementAt(slot.at[operand.alongDepth ? 0 : v], step); };
      Value zero = c.number(registerType(operand.element), 0);
      values.push_back(!isInside    ? load()
                       : operand.mayBeEmpty ? c.when(isInside, load, [&] { return zero; })
                                    : c.select(isInside, load(), zero));
    }
  }
  return values;
}

void BlockPanel::put(ValueRange values, Value stage) {
  for (auto [i, slot] : llvm::enumerate(slots)) {
    auto body = [&, i = i, &slot = slot] {
      for (int64_t v = 0; v < operand.vector; ++v) {
        Value step = operand.alongDepth ? c.add(slot.step, v) : slot.step, row = operand.alongDepth ? slot.row : c.add(slot.row, v);
        c.store(values[i * operand.vector + v], local, place(stage, step, row), operand.element);
      }
    };
    slot.isThere ? c.when(slot.isThere, body) : body();
  }
}

Value BlockPanel::get(Value stage, int64_t step, Value row, int64_t offset) {
  return c.load(local, c.add(c.add(c.mul(stage, blockK * pitch), row), step * pitch + offset), operand.element);
}

} // namespace fathom
