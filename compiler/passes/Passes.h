// The graph passes, and helpers that their rewrites share.
#pragma once

#include "compiler/graph/Graph.h"
#include "mlir/Pass/Pass.h"

namespace fathom {

#define GEN_PASS_DECL
#include "compiler/passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/passes/Passes.h.inc"

inline void registerPasses() { registerFathomPasses(); }

// Creates an op, runs its shape function and names it after `like` (the op it helps to replace) with a suffix.
template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &b, mlir::Operation *like, llvm::StringRef suffix, Args &&...args);

// Names `op` after `like`'s graph.name with a suffix; an empty suffix takes the name over.
void nameAfter(mlir::Operation *op, mlir::Operation *like, llvm::StringRef suffix);
// The result types of a graph op about to be created are inferred: pass this placeholder.
mlir::Type placeholder(mlir::MLIRContext *context);

mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Operation *like, mlir::DenseElementsAttr value);
mlir::Value makeInts(mlir::OpBuilder &b, mlir::Operation *like, llvm::ArrayRef<int64_t> values);
// A scalar tensor of the given float element type.
mlir::Value makeScalar(mlir::OpBuilder &b, mlir::Operation *like, mlir::Type element, double value);
mlir::Value makeNone(mlir::OpBuilder &b, mlir::Location loc);

// The pass dynamic-to-static; whether it changed anything.
mlir::FailureOr<bool> resolvePins(mlir::ModuleOp module);
// Types follow from operands again after rewrites: the ops that express another may know more of the result's sizes
// than it did. Static sizes need nothing.
mlir::LogicalResult settleTypes(mlir::func::FuncOp function);

// The pass hoist-invariants.
void hoistInvariants(mlir::func::FuncOp main);

// What all constants of a module or function take.
int64_t constantBytes(mlir::Operation *root);
// Whether the value is a constant, possibly seen through views.
bool isConstantValue(mlir::Value value);

template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &b, mlir::Operation *like, llvm::StringRef suffix, Args &&...args) {
  auto op = Op::create(b, like->getLoc(), placeholder(like->getContext()), std::forward<Args>(args)...);
  nameAfter(op, like, suffix);
  // Operands come from ops whose shapes were checked; a failure here is reported on the op and surfaces in
  // verification.
  (void)graph::inferResultTypes(op);
  return op;
}

} // namespace fathom
