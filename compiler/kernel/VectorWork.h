// What the ops of a kernel cost for one vector of elements, for estimates.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/target/Target.h"

namespace fathom {

struct VectorWork {
  double instructions = 0;
  double latency = 0; // cycles until the last of them is through
  double live = 2;    // registers that they occupy
};

// One op, unless it is an anchor.
VectorWork opWork(mlir::Operation *op);
// All elementwise ops of the kernel that `op` belongs to, with the loads of operands and the stores of results.
VectorWork kernelWork(mlir::Operation *op);
// Cycles of the math functions that are, or are likely to be, computed behind the op in its kernel.
double consumerCycles(mlir::Operation *op, const Target &target);
// Cycles of the elementwise ops that compute a contraction's left operand inside its kernel, and of so many of them.
double producerCycles(mlir::Operation *op, const Target &target);
double cyclesOfProducers(int64_t ops, const Target &target);
// Whether estimates of the two are the same: equal ops, side by side, on operands that differ in their values only.
bool costAlike(mlir::Operation *a, mlir::Operation *b);
// What a kernel reads and writes, at the sizes that are likely.
double kernelBytes(mlir::Operation *op);

// How many instructions a kernel may have for a vector, beside its anchor's. In a kernel of that size the stores and
// loads that a larger one would save are a few thousandths, while its code leaves the first-level cache. Behind an
// anchor code is emitted for each register of a tile.
constexpr int64_t maxMapInstructions = 1024, maxAnchoredInstructions = 256;

} // namespace fathom
