// A thin builder for loop-level code: 64-bit index arithmetic that folds as it goes, loops, and loads and stores of
// scalars or vectors.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fathom {

// The type an element has in registers: signless integers, i1 for bool.
mlir::Type registerType(mlir::Type element);
// The type it has in memory: a bool is a byte.
mlir::Type memoryType(mlir::Type element);
// The type of `lanes` elements in registers; one lane is a scalar.
mlir::Type vectorType(mlir::Type element, int64_t lanes);

using Range = std::pair<mlir::Value, mlir::Value>; // [first, second)

class Code {
public:
  Code(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  // A region of the code, by its depth and a number of its own. What was emitted in one that is still open can be used.
  struct Region {
    size_t depth;
    unsigned number;
  };
  Region region() const { return {open.size(), open.empty() ? 0 : open.back()}; }
  bool isOpen(Region region) const {
    return region.depth == 0 || (region.depth <= open.size() && open[region.depth - 1] == region.number);
  }

  // Values of the symbols of the module or kernel, by index; null where one has none yet.
  llvm::SmallVector<mlir::Value> symbols;

  mlir::Value i64(int64_t value);
  mlir::Value i32(int32_t value);
  // A number of the given register type, splat if that is a vector.
  mlir::Value number(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  // The value of a size expression.
  mlir::Value expr(mlir::AffineExpr expr);
  // One step of it, from the values of its parts.
  mlir::Value binary(mlir::AffineExprKind kind, mlir::Value x, mlir::Value y);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, i64(y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y) { return mul(x, i64(y)); }
  // Quotient and remainder of numbers that are not negative.
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  // The value if it is a compile-time constant.
  static std::optional<int64_t> constant(mlir::Value value);

  using Body = llvm::function_ref<void(mlir::Value)>;
  using CarryBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  // for i in [lower, upper) by step; a loop that is known to run once is not a loop, one that never runs is nothing.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, Body body);
  void loop(int64_t count, Body body) { loop(i64(0), i64(count), 1, body); }
  llvm::SmallVector<mlir::Value> loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange init,
                                      CarryBody body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value when(mlir::Value condition, llvm::function_ref<mlir::Value()> yes, llvm::function_ref<mlir::Value()> no);
  using Several = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> whenAll(mlir::Value condition, Several yes, Several no);

  // Asks for the cache line with element `index` of a buffer, which may lie outside of it.
  enum class CacheLevel { Second = 2, First = 3 };
  void prefetch(mlir::Value pointer, mlir::Value index, mlir::Type element, CacheLevel level);
  // The address of element `index` of a buffer, and of one that may lie outside of it. A pointer's type says in which
  // memory it points (0: a CPU's; the others as LLVM numbers them for GPUs), and addresses keep it.
  mlir::Value address(mlir::Value pointer, mlir::Value index, mlir::Type element);
  mlir::Value addressOutside(mlir::Value pointer, mlir::Value index, mlir::Type element);
  // The same pointer, which the back end holds in a register: it would else split what it knows of the pointer into
  // parts that it adds up again and again.
  mlir::Value whole(mlir::Value pointer);
  // The back end moves no load from behind it ahead: in long straight code it would load more than the registers hold.
  void keepLoadsBehind();
  mlir::Value load(mlir::Value pointer, mlir::Value index, mlir::Type element, int64_t lanes = 1);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value index, mlir::Type element);
  void memset(mlir::Value pointer, mlir::Value bytes);

  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value scalar, mlir::Value vector, int64_t lane);
  mlir::Value undefined(mlir::Type type);

private:
  // What loops and branches build, as a region that is open meanwhile.
  void within(llvm::function_ref<void()> build);

  llvm::SmallVector<unsigned> open; // the regions around what is emitted now
  unsigned regions = 0;
};

} // namespace fathom
