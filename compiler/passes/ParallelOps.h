// Ops that do the same with one input and weights of their own, and what follows them: they become one op, of whose
// result each takes its part.
#pragma once

#include "compiler/passes/Passes.h"

namespace fathom {

// Sets of ops of a block that `alike` says are of one kind, two or more each, in the order of their first ops. Null:
// the op is of none.
using ParallelOps = llvm::SmallVector<mlir::Operation *, 4>;
std::vector<ParallelOps> parallelOps(mlir::Block &block, llvm::function_ref<mlir::Attribute(mlir::Operation *)> alike);
// What ops of the same name have in common: the input and the attributes, and what else is said.
mlir::Attribute commonKey(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> others);

// Operand number `operand` of each of these ops, which is a constant: where it comes later, it is moved in front of
// `before`.
llvm::SmallVector<mlir::Value> constantsOf(llvm::ArrayRef<mlir::Operation *> ops, unsigned operand,
                                           mlir::Operation *before);

// Replaces the results of the ops, which lie behind each other along the axis of `whole`, by parts of it. Elementwise
// ops that follow all of them, with constants for their parts, are computed of the whole.
void replaceByParts(mlir::OpBuilder &b, mlir::Value whole, llvm::ArrayRef<mlir::Operation *> ops, int64_t axis);

} // namespace fathom
