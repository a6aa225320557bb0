// Long sums are sums of sums: the error of a sum grows with the steps of its longest chain of additions.
#pragma once

#include "compiler/codegen/common/Emitter.h"

namespace fathom {

// The most steps that are added to one sum. Shorter chains round less and cost more: a block of this length takes half
// a percent longer than its steps alone. What it bounds is in docs/dev/numerics.md.
constexpr int64_t longestChain = 512;

// Adds `count` steps to the sums: all at once where they are known to be `most` or fewer, else in blocks of so many,
// each of which begins with `none` and is added as a whole. Blocks are of about one size and multiples of `unit`, which
// may make them that much longer. `body` adds the steps from the first number up to the second to the sums it is given.
// With `stack`, an op at the function's beginning, totals wait in memory there: of sums that fill the registers, the
// back end would save and restore more than that.
using SumBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value, mlir::ValueRange)>;
using AddSums = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
llvm::SmallVector<mlir::Value> sumInBlocks(Code &c, mlir::Value count, int64_t most, int64_t unit,
                                           mlir::ValueRange sums, mlir::ValueRange none, AddSums add, SumBody body,
                                           mlir::Operation *stack = nullptr);

} // namespace fathom
