// Decides which ops share a kernel.
#pragma once

#include "compiler/graph/Views.h"
#include "compiler/target/Target.h"

namespace fathom {

// The ops of one kernel in program order; the last one's results (and those of multi-result anchors) leave it.
using FusionGroup = llvm::SmallVector<mlir::Operation *>;

// Groups all ops of `main` and of the branches and loops in it that need a kernel, block by block. An anchor takes in
// the elementwise ops that follow it, ops computed on demand are merged with their only consumer.
std::vector<FusionGroup> fuseOps(mlir::func::FuncOp main, const Target &target);

// Whether the op is part of the program and not of a kernel: constants, absent values, views, concatenations in
// place, weights packed ahead of time, control flow.
bool needsNoKernel(mlir::Operation *op);

} // namespace fathom
