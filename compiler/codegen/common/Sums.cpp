// Loops over the blocks of long sums.
#include "compiler/codegen/common/Sums.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fathom {
namespace {

// Places on the stack that stay in memory: accesses are volatile.
class StackPlaces {
public:
  StackPlaces(Code &c, ValueRange values, Operation *behind) : c(c), types(values.getTypes()) {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointAfter(behind);
    auto pointer = LLVM::LLVMPointerType::get(c.b.getContext());
    for (Type type : types)
      places.push_back(LLVM::AllocaOp::create(c.b, c.loc, pointer, type, c.i32(1)));
  }

  Value load(size_t i) const {
    return LLVM::LoadOp::create(c.b, c.loc, types[i], places[i], /*alignment=*/0, /*isVolatile=*/true);
  }
  void store(ValueRange values) const {
    for (auto [value, place] : llvm::zip_equal(values, places))
      LLVM::StoreOp::create(c.b, c.loc, value, place, /*alignment=*/0, /*isVolatile=*/true);
  }

private:
  Code &c;
  SmallVector<Type> types;
  SmallVector<Value> places;
};

} // namespace

SmallVector<Value> sumInBlocks(Code &c, Value count, int64_t most, int64_t unit, ValueRange sums, ValueRange none,
                               AddSums add, SumBody body, Operation *stack) {
  std::optional<int64_t> known = Code::constant(count);
  if (known && *known <= most)
    return body(c.i64(0), count, sums);
  int64_t each = known ? llvm::divideCeil(*known, llvm::divideCeil(*known, most)) : most;
  each = llvm::alignTo(each, unit);
  bool isEven = known && *known % each == 0;
  auto block = [&](Value from) {
    Value to = c.add(from, each);
    return body(from, isEven ? to : c.min(to, count), none);
  };
  if (!stack)
    return c.loop(c.i64(0), count, each, sums, [&](Value from, ValueRange carried) {
      SmallVector<Value> next;
      for (auto [total, part] : llvm::zip_equal(carried, block(from)))
        next.push_back(add(total, part));
      return next;
    });
  // What is carried from block to block is in memory: nothing but the last block's totals leaves in registers.
  StackPlaces places(c, sums, stack);
  bool fromZero = llvm::all_of(sums, [](Value sum) { return matchPattern(sum, m_AnyZeroFloat()); });
  if (!fromZero)
    places.store(sums);
  return c.loop(c.i64(0), count, each, sums, [&](Value from, ValueRange) {
    SmallVector<Value> parts = block(from);
    auto added = [&] {
      SmallVector<Value> next;
      for (auto [i, part] : llvm::enumerate(parts))
        next.push_back(add(places.load(i), part));
      return next;
    };
    SmallVector<Value> next;
    if (fromZero) {
      Value isFirst = c.cmp(arith::CmpIPredicate::eq, from, c.i64(0));
      auto branch = scf::IfOp::create(c.b, c.loc, ValueRange(parts).getTypes(), isFirst, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(c.b, c.loc, parts);
      c.b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(c.b, c.loc, added());
      next.assign(branch.getResults().begin(), branch.getResults().end());
    } else {
      next = added();
    }
    c.when(c.cmp(arith::CmpIPredicate::slt, c.add(from, each), count), [&] { places.store(next); });
    return next;
  });
}

} // namespace fathom
