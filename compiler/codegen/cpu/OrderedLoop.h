// Loops of multiply-adds in the assembler of AArch64, with an order of their loads that is Fathom's. LLVM orders such
// loops by its own model, which puts loads side by side, where they hold up what comes behind them, or so early that
// registers are spilled; a loop that it must not touch has no copies between iterations either.
#pragma once

#include "compiler/codegen/common/Emitter.h"
#include "compiler/codegen/cpu/LoadOrder.h"

namespace fathom {

struct OrderedLoop {
  // Addresses that advance by as many bytes in each iteration.
  struct Stream {
    mlir::Value pointer;
    int64_t bytes;
  };
  // A vector of four floats of a stream, so many bytes behind its address; a multiple of 16.
  struct Load {
    int64_t stream, bytes;
  };
  struct MultiplyAdd {
    int64_t sum, vector, factors, lane; // sum + vector * factors[lane], where both vectors are numbers of loads
  };
  // An iteration: the multiply-adds in their order, and cache lines to ask for.
  llvm::SmallVector<Stream> streams;
  llvm::SmallVector<Load> loads;
  llvm::SmallVector<MultiplyAdd> body;
  llvm::SmallVector<Load> ahead;

  // Chooses the order of the loads beside so many sums: up to `distance` multiply-adds ahead of their first use, where
  // there are registers. False: there are too few of them.
  bool order(int64_t sums, int64_t distance, const Target &target);
  // What the sums are after `iterations`, of which there is at least one.
  llvm::SmallVector<mlir::Value> emit(Code &c, mlir::Value iterations, mlir::ValueRange sums) const;

private:
  struct Text;
  void describe(mlir::Operation *assembly) const;

  llvm::SmallVector<int64_t> sorted; // loads by their first use
  LoadOrder loadOrder;               // of these
};

} // namespace fathom
