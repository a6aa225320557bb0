// Views: ops that only reinterpret their operand's buffer, or a part of it.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

bool isView(mlir::Operation *op);
// The value whose buffer a view reads, through all views.
mlir::Value bufferRoot(mlir::Value value);

// Images with their channels innermost.
llvm::SmallVector<int64_t> channelsLast(int64_t rank);
// The order in memory of a transpose's or reshape's result where its input is of this type; nothing where it has none,
// or lies in no one stretch.
std::optional<llvm::SmallVector<int64_t>> viewedOrder(mlir::Operation *view, mlir::RankedTensorType input);

// Whether the value is a constant, possibly seen through views.
bool isConstantValue(mlir::Value value);
// The same, possibly seen through one relayout too: its layout is made when the artifact is written.
bool isPackedWeight(mlir::Value value);
// What all constants of a module or function take.
int64_t constantBytes(mlir::Operation *root);

} // namespace fathom
