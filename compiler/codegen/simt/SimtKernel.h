// Kernels for machines that run the same scalar code in many work items. What an element is, is the Emitter's; here is
// how a work item finds its elements, where buffers are and what becomes of a fault. Back ends lower or print it.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

// Memories, as LLVM numbers them for GPUs.
constexpr unsigned globalMemory = 1;

// The work items of a group, where nothing in a kernel wants another number.
constexpr int64_t defaultGroupItems = 256;

// A kernel of work items is a function of pointers to operands, to results, to a number (i32) that becomes the code of
// a fault if there is one, and to scratch, of which group g has the part that begins at g * scratchBytes, all in global
// memory; then of the values of the symbols (i64). It returns nothing. A task of its grid is a group (gpu.block_id x);
// items (gpu.thread_id x) with nothing to do, as those of groups behind the last task, do nothing.

// Emits a kernel of class map: an item computes some neighbouring elements.
mlir::FailureOr<Grid> emitSimtMap(mlir::func::FuncOp kernel, const Schedule &schedule, llvm::StringRef name,
                                  unsigned symbolCount, const Target &target, mlir::ModuleOp loops);

} // namespace fathom
