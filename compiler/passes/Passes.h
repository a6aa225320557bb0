// The passes by name: those of this folder, and the deciding steps of compiler/plan.
#pragma once

#include "compiler/graph/Rewrite.h"
#include "mlir/Pass/Pass.h"

namespace fathom {

#define GEN_PASS_DECL
#include "compiler/passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/passes/Passes.h.inc"

inline void registerPasses() { registerFathomPasses(); }

// The pass dynamic-to-static; whether it changed anything.
mlir::FailureOr<bool> resolvePins(mlir::ModuleOp module);
// The pass hoist-invariants.
void hoistInvariants(mlir::func::FuncOp main);

} // namespace fathom
