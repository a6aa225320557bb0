// Assigns a layout to every tensor of a graph and inserts the relayouts that this needs.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/schedule/Plan.h"
#include "compiler/target/Target.h"

namespace fathom {

// Convolutions run channels-last with their padding as a halo of their input, weights are packed for the register tile,
// transposes become views. `plan` may be null; what it says wins where it is legal and is an error otherwise.
llvm::LogicalResult assignLayouts(mlir::func::FuncOp main, const Target &target, const Plan *plan);

// Whether the op only reinterprets its operand's buffer.
bool isView(mlir::Operation *op);
// The op's name in plans.
llvm::StringRef opName(mlir::Operation *op);

} // namespace fathom
