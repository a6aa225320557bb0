// What a kernel has to do at least: floating point operations, and bytes that go from and to memory.
#pragma once

#include "compiler/graph/Graph.h"

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

// The operations of one op alone.
mlir::AffineExpr flopOf(mlir::Operation *op);

} // namespace fathom
