// Decides which ops share a kernel.
#pragma once

#include "compiler/graph/Views.h"
#include "compiler/target/Target.h"
#include <functional>

namespace fathom {

// The ops of one kernel in program order; the last one's results (and those of multi-result anchors) leave it.
using FusionGroup = llvm::SmallVector<mlir::Operation *>;

// Asked of an op that could be computed together with what it reads, and told whether that would be done: an anchor
// with the producer of its rows, the first consumer with its anchor, an attention's last product with its scores.
using FusionDecider = std::function<bool(mlir::Operation *reader, bool proposed)>;

// Groups all ops of `main` and of the branches and loops in it that need a kernel, block by block. An anchor takes in
// the elementwise ops that follow it, ops computed on demand are merged with their only consumer.
std::vector<FusionGroup> fuseOps(mlir::func::FuncOp main, const Target &target, const FusionDecider &decide = {});

// Whether the group of an op that a decider is asked of has what it reads.
bool isTogether(mlir::Operation *reader, llvm::ArrayRef<mlir::Operation *> group);

// Whether the op is part of the program and not of a kernel: constants, absent values, views, concatenations in
// place, weights packed ahead of time, control flow.
bool needsNoKernel(mlir::Operation *op);

} // namespace fathom
