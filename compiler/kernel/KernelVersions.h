// Several schedules for one kernel of symbolic size: the code that runs is chosen by the size at run time.
#pragma once

#include "compiler/kernel/KernelClass.h"

namespace fathom {

// The rows of a contraction: of one product where each has its own right operand, else of all of them; pixels of all
// images of a convolution. Null where the number overflows.
mlir::AffineExpr contractRows(mlir::Operation *anchor);

// Where the size is known only at run time, replaces `schedule` by one that serves most sizes, and gives more for sizes
// at which that would be a good deal slower than one made for them.
std::vector<Version> chooseVersions(mlir::func::FuncOp kernel, const KernelClass &klass, mlir::Operation *anchor,
                                    const Target &target, Schedule &schedule);

// Checks versions as checkSchedule does schedules, and that each of them can be chosen.
llvm::Error checkVersions(llvm::ArrayRef<Version> versions, const KernelClass &klass, mlir::Operation *anchor,
                          const Target &target);

} // namespace fathom
