// Kernels for machines that run the same scalar code in many work items. What an element is, is the Emitter's; here is
// how a work item finds its elements, where buffers are and what becomes of a fault. Back ends lower or print it.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

// Memories, as LLVM numbers them for GPUs.
constexpr unsigned globalMemory = 1;

// Emits a kernel of class map: task t is the work item with gpu.global_id x of t, and those behind the last task do
// nothing. The function takes pointers to operands, to results and to a number (i32) that becomes the code of a fault
// if there is one, all in global memory, then the values of the symbols (i64). It returns nothing.
mlir::FailureOr<Grid> emitSimtMap(mlir::func::FuncOp kernel, const Schedule &schedule, llvm::StringRef name,
                                  unsigned symbolCount, const Target &target, mlir::ModuleOp loops);

} // namespace fathom
