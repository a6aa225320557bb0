// Adjoints: what the loss gains where a value grows, gathered from the value's uses, from the last op to the first.
#pragma once

#include "compiler/passes/gradient/Term.h"

namespace fathom::gradient {

class Backward {
public:
  // Ops go where the builder stands, which is behind all that is differentiated.
  explicit Backward(mlir::OpBuilder &builder) : emitter{builder, nullptr} {}

  // Finds what depends on `sources` by numbers that are not whole, of a block's ops.
  void activate(mlir::ValueRange sources, mlir::Block &block);
  bool isActive(mlir::Value value) const { return active.contains(value); }

  // Goes through the block's ops, from the last one on. Refuses an op without a rule.
  llvm::LogicalResult run(mlir::Block &block);

  // The op at hand, for rules.
  mlir::Operation *op() const { return emitter.like; }
  mlir::OpBuilder &builder() { return emitter.builder; }
  Emitter &ops() { return emitter; }
  Term term(mlir::Value value) { return {emitter, value}; }
  // Of the op's result: present where `hasAdjoint`.
  Term adjoint(unsigned result = 0) { return term(adjoints.lookup(op()->getResult(result))); }
  bool hasAdjoint(unsigned result) const { return bool(adjointOf(op()->getResult(result))); }
  mlir::Value adjointOf(mlir::Value value) const { return adjoints.lookup(value); }

  // Adds to the adjoint of an operand, if anybody asks for it. Where the operand was broadcast, this is summed; where
  // the contribution is to be broadcast, it is expanded.
  llvm::LogicalResult add(mlir::Value operand, mlir::Value contribution);
  // Ops to add are only made where somebody asks for them.
  template <typename Function> llvm::LogicalResult addIfActive(mlir::Value operand, Function make) {
    return isActive(operand) ? add(operand, make()) : llvm::success();
  }
  // Without looking at sizes.
  void addExact(mlir::Value value, mlir::Value contribution);
  // Another value takes the place of one: an op was made anew.
  void replace(mlir::Value old, mlir::Value now);

  void setOp(mlir::Operation *like) { emitter.like = like; }

private:
  mlir::FailureOr<mlir::Value> fit(mlir::Value contribution, mlir::Value operand);

  Emitter emitter;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
};

// The product of sizes as a number of an element type.
Term countOf(Backward &back, llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type element);

} // namespace fathom::gradient
