// The classes of kernels: which ops anchor them, their knobs, and the family whose space these span.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/Schedule.h"
#include "compiler/target/Target.h"
#include "llvm/Support/Error.h"

namespace fathom {

struct Knob {
  llvm::StringLiteral name;
  int64_t min, max;
  llvm::StringLiteral meaning;
};

struct KernelClass {
  llvm::StringLiteral name;
  llvm::StringLiteral meaning;
  llvm::ArrayRef<Knob> knobs;
  const Family &family;
  bool takesConsumers = true; // whether elementwise ops behind the anchor can be computed with it
  // The size by which versions of a kernel are told apart, and what it counts; null where there are none.
  mlir::AffineExpr (*extent)(mlir::Operation *anchor) = nullptr;
  llvm::StringLiteral extentName = "";
};

// The class of kernels that this op anchors; null, as of what is computed on demand: a map.
const KernelClass &kernelClassOf(mlir::Operation *anchor);
// The class of a kernel: its anchor's, or without one a map, or one that changes the order of elements.
const KernelClass &kernelClassOf(mlir::func::FuncOp kernel);
const KernelClass *findKernelClass(llvm::StringRef name);
llvm::ArrayRef<const KernelClass *> allKernelClasses();

// The value that schedules assume for a size of `op`: the size itself, what the user said is likely, or a guess.
int64_t representative(mlir::Operation *op, mlir::AffineExpr size);

bool isDepthwise(mlir::Operation *op);
// Whether such a convolution leaves out what its windows have beyond the ends of a row, without zeros in memory: the
// tiles there are unrolled, which needs a known width, and few of them.
bool leavesOutEnds(mlir::Operation *depthwise);

// Columns of the panels that weights are packed into.
int64_t panelWidth(const Schedule &schedule);

// Checks that a schedule names exactly the class's knobs and breaks no constraint.
llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, mlir::Operation *anchor,
                          const Target &target);

// The anchor among a kernel's ops, or null.
mlir::Operation *anchorOf(mlir::func::FuncOp kernel);

} // namespace fathom
