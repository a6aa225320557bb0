// Assigns a layout to every tensor of a graph and inserts the relayouts that this needs.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/schedule/Plan.h"
#include "compiler/target/Target.h"

namespace fathom {

// Convolutions run channels-last with their padding as a halo of their input, weights are packed for the register tile,
// transposes become views. `plan` may be null; what it says wins where it is legal and is an error otherwise.
llvm::LogicalResult assignLayouts(mlir::func::FuncOp main, const Target &target, const Plan *plan);

// The order of dimensions in memory that a result of this type takes over from the op's operands: that of the first of
// its rank that is not row-major.
llvm::SmallVector<int64_t> flowingOrder(mlir::Operation *op, mlir::RankedTensorType type);

// Whether the op's results are row-major whatever its operands are.
bool keepsRows(mlir::Operation *op);

// Whether the op only reinterprets its operand's buffer, or a part of it.
bool isView(mlir::Operation *op);
// Images with their channels innermost.
llvm::SmallVector<int64_t> channelsLast(int64_t rank);
// The order in memory of a transpose's or reshape's result where its input is of this type; nothing where it has none,
// or lies in no one stretch.
std::optional<llvm::SmallVector<int64_t>> viewedOrder(mlir::Operation *view, mlir::RankedTensorType input);
// The value whose buffer a view reads, through all views.
mlir::Value bufferRoot(mlir::Value value);
// The op's name in plans.
llvm::StringRef opName(mlir::Operation *op);

} // namespace fathom
