// Fetching, staging and reading a factor.
#include "compiler/codegen/simt/BlockPanel.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

BlockPanel::BlockPanel(GroupKernel &k, const BlockContractSchedule &schedule, BlockOperand of, Value firstRow)
    : k(k), c(k.c), operand(std::move(of)), blockK(schedule.blockK), byRows(schedule.fragments && operand.alongDepth) {
  int64_t vector = operand.vector, along = byRows ? blockK : operand.extent;
  pitch = along + localPad(schedule.fragments, byRows, elementBytes(operand.element()));
  stageElements = pitch * (byRows ? operand.extent : blockK);
  // What is transposed on its way is not copied, nor what is computed.
  copies = schedule.stages > 1 && (byRows || !operand.alongDepth) && k.canCopy(operand.tensor, operand.dim, vector);
  local = allocateLocal(k.e, operand.element(), schedule.stages * stageElements);
  // An item's vectors are as many apart as there are items.
  int64_t across = (operand.alongDepth ? blockK : operand.extent) / vector;
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

Value BlockPanel::address(Value stage, Value step, Value row) {
  Value outer = byRows ? row : step, inner = byRows ? step : row;
  return c.add(c.add(c.mul(stage, stageElements), c.mul(outer, pitch)), inner);
}

// Steps behind the last one count as zeros.
BlockOperand::Place BlockPanel::placeOf(const Slot &slot, Value first) {
  std::optional<int64_t> known = graph::constantSize(operand.depth);
  if (known && *known % blockK == 0)
    return operand.place(slot.at, {first, slot.step});
  Value step = c.add(first, slot.step), isInside = c.cmp(arith::CmpIPredicate::slt, step, c.expr(operand.depth));
  if (!operand.mayBeEmpty)
    step = c.select(isInside, step, c.i64(0));
  BlockOperand::Place place = operand.place(slot.at, {step, c.i64(0)});
  place.isInside = place.isInside ? c.both(place.isInside, isInside) : isInside;
  return place;
}

SmallVector<Value> BlockPanel::fetch(Value first, Value stage) {
  Value zero = c.number(registerType(operand.element()), 0);
  SmallVector<Value> values;
  for (Slot &slot : slots) {
    BlockOperand::Place place = placeOf(slot, first);
    if (copies) {
      auto copy = [&] {
        k.copy(operand.tensor, place.index, operand.vector, local, address(stage, slot.step, slot.row), place.isInside);
      };
      slot.isThere ? c.when(slot.isThere, copy) : copy();
      continue;
    }
    Emitter::Request request(k.e);
    auto load = [&] { return k.elements(operand.tensor, place.index, operand.dim, operand.vector); };
    if (place.isInside && operand.mayBeEmpty) {
      values.push_back(c.when(place.isInside, [&] { return load()[0]; }, [&] { return zero; }));
      continue;
    }
    for (Value value : load())
      values.push_back(place.isInside ? c.select(place.isInside, value, zero) : value);
  }
  return values;
}

void BlockPanel::put(ValueRange values, Value stage) {
  if (copies)
    return;
  for (auto [i, slot] : llvm::enumerate(slots)) {
    ValueRange of = values.slice(i * operand.vector, operand.vector);
    auto body = [&, &slot = slot] {
      if (operand.alongDepth == byRows)
        return k.storeTogether(of, local, address(stage, slot.step, slot.row), operand.element());
      for (auto [v, value] : llvm::enumerate(of))
        c.store(value, local, address(stage, c.add(slot.step, v), slot.row), operand.element());
    };
    slot.isThere ? c.when(slot.isThere, body) : body();
  }
}

SmallVector<Value> BlockPanel::get(Value stage, Value step, Value row, int64_t stepOffset, int64_t rowOffset,
                                   int64_t count) {
  Value at = c.add(address(stage, step, row), distance(stepOffset, rowOffset));
  return k.loadTogether(local, at, operand.element(), count);
}

Value BlockPanel::pointer(Value stage, Value step, Value row, int64_t stepOffset, int64_t rowOffset) {
  return c.address(local, c.add(address(stage, step, row), distance(stepOffset, rowOffset)), operand.element());
}

} // namespace fathom
