// Rules of fusion that hold whether groups are found or come from a plan.
#pragma once

#include "compiler/plan/FuseOps.h"

namespace fathom {

class Backend;

// Whether an anchor computes its first operand's elements on demand, each about once: reductions, and products that
// pack their rows.
bool takesProducer(mlir::Operation *anchor);

// The ops that an anchor's class widens an image of bytes by (KernelClass::widensImages), and whether an op is one.
llvm::SmallVector<mlir::Operation *> widenedBy(mlir::Operation *anchor, const Backend &backend);
bool isWidenedByItsReader(mlir::Operation *op, const Backend &backend);

// Whether a Pad computes what it pads on demand, which takes so many instructions: every element once, in vectors where
// the pixels of an image have few channels.
bool padsOnDemand(graph::PadOp pad, int64_t instructions, const Target &target);

// The anchor that decides a group's loops: of an attention's, the last. Null in a map.
mlir::Operation *lastAnchor(llvm::ArrayRef<mlir::Operation *> group);

// Whether both ops' results have the same sizes, in the same order in memory.
bool sameIteration(mlir::Operation *op, mlir::Operation *seed);

// Whether a group is computed element by element, without an anchor.
bool isMap(const FusionGroup &group);

// About how many instructions the ops of a group beside its anchor take for a vector.
int64_t instructionsOf(mlir::Operation *op);
int64_t instructionsOf(llvm::ArrayRef<mlir::Operation *> group);
// The same, counted as often as elements are computed: once for every index at which movement ops in the group ask for
// them. In groups that are found here that is once. It stops counting where it is far too many.
int64_t emittedInstructions(llvm::ArrayRef<mlir::Operation *> group);

// Whether the op, or one inside it, uses a value that one of these ops defines.
template <typename Contains> bool usesAny(mlir::Operation *op, Contains contains) {
  return op
      ->walk([&](mlir::Operation *inner) {
        for (mlir::Value operand : inner->getOperands())
          if (mlir::Operation *def = operand.getDefiningOp(); def && contains(def))
            return mlir::WalkResult::interrupt();
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace fathom
