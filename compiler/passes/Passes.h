// The passes by name: those of this folder, and the deciding steps of compiler/plan.
#pragma once

#include "compiler/graph/Rewrite.h"
#include "compiler/passes/GraphPass.h"

namespace fathom {

#define GEN_PASS_DECL
#include "compiler/passes/Passes.h.inc"

// Makes the passes known to MLIR's parser of pipelines; doing it again does no harm.
void registerPasses();
// Adds a pass that is none of Passes.td.
void registerGraphPass(mlir::PassAllocatorFunction make);

// One of each, in the order in which they were registered.
llvm::ArrayRef<std::unique_ptr<GraphPass>> registeredPasses();
// The pass as one of ours, or null.
GraphPass *asGraphPass(mlir::Pass &pass);

} // namespace fathom
