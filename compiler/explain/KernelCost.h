// What a kernel has to do at least (floating point operations, and bytes that go from and to memory), and what it is
// estimated to take.
#pragma once

#include "compiler/kernel/KernelClass.h"

namespace fathom {

// Expressions over the kernel's symbols; null where a number would overflow.
struct KernelCost {
  mlir::AffineExpr flop;
  mlir::AffineExpr bytes;
};

// Of a kernel as a function of graph ops. A multiply-add is two operations and every other arithmetic on a float one,
// however long it takes; comparisons, conversions, integers and movement are none. An operand is read once, or as much
// of it as is selected, and a result written once.
KernelCost costOf(mlir::func::FuncOp kernel);

// Where the cycles go that a kernel is estimated to take at the sizes that are likely, on one thread and on all that
// the target has.
struct KernelEstimate {
  cost::Parts alone, together;
};
KernelEstimate estimateOf(mlir::func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                          const Target &target);

// The operations of one op alone.
mlir::AffineExpr flopOf(mlir::Operation *op);

} // namespace fathom
