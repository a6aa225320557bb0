// Whether an attention is one kernel or three, by what either is estimated to cost.
#pragma once

#include "compiler/kernel/Attention.h"
#include "compiler/target/Target.h"

namespace fathom {

// Cycles of one thread at the sizes that are likely: of one kernel, and of the products and the softmax as kernels of
// their own, which store the scores between them.
struct AttentionCosts {
  int64_t fused = 0, apart = 0;

  bool isFused() const { return fused <= apart; }
};
AttentionCosts attentionCosts(Attention attention, const Target &target);

// The choice is made once, before layouts depend on it, and noted at the products and the softmax for those who follow
// it and those who explain it.
void noteAttentionCosts(mlir::func::FuncOp main, const Target &target);
void noteCosts(Attention attention, const AttentionCosts &costs);
std::optional<AttentionCosts> notedCosts(mlir::Operation *op);
void removeNotedCosts(mlir::Operation *op);
// By the note; without one nothing is left out because it would be slower.
bool isWorthFusing(Attention attention);

} // namespace fathom
