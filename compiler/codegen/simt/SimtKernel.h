// Kernels for machines that run the same scalar code in many work items. What an element is, is the Emitter's; here is
// where buffers and scratch are, which item has which task, and what becomes of a fault. Back ends lower or print it.
#pragma once

#include "compiler/codegen/common/ClassEmitters.h"
#include "compiler/kernel/Backend.h"

namespace fathom {

// Memories, as LLVM numbers them for GPUs.
constexpr unsigned globalMemory = 1;

// A kernel's function while its code is emitted. It takes pointers to operands, to results, to a number (i32) that
// becomes the code of a fault if there is one, and to scratch, of which group g has the part that begins at
// g * scratchBytes, all in global memory; then the values of the symbols (i64). It returns nothing. A task of its grid
// is a group (gpu.block_id x); items (gpu.thread_id x) with nothing to do, as those of groups behind the last task, do
// nothing.
class SimtFunction {
public:
  SimtFunction(mlir::func::FuncOp kernel, llvm::StringRef name, unsigned symbolCount, const Target &target,
               mlir::ModuleOp loops);
  SimtFunction(const SimtFunction &) = delete;
  SimtFunction &operator=(const SimtFunction &) = delete;

  // Hands on a fault and returns.
  void end();

private:
  mlir::OpBuilder b;
  mlir::func::FuncOp function;
  mlir::Value faultCode;

public:
  Code c;
  Emitter e;
  mlir::Value group, item; // their numbers
  KernelBody body;         // whose scratch is that of all groups, and which has no task yet
};

// Emits a kernel each task of which is computed by one item, in groups of as many as the target says (Gpu::taskItems).
mlir::FailureOr<Grid> emitItems(mlir::func::FuncOp kernel, ClassEmitter emit, const Schedule &schedule,
                                llvm::StringRef name, unsigned symbolCount, const Target &target, mlir::ModuleOp loops);

// Of classes whose tasks are those of items. A map's item computes elements at a distance of as many as there are
// items: neighbours compute neighbouring ones.
Grid emitSimtMap(KernelBody &k, const MapSchedule &schedule);

// Of rows that the items of a group share; whether those of an anchor's kernel are.
mlir::FailureOr<Grid> emitSharedRows(mlir::func::FuncOp kernel, ClassEmitter emit, const Schedule &schedule,
                                     llvm::StringRef name, unsigned symbolCount, const Target &target,
                                     mlir::ModuleOp loops);
bool sharesRows(mlir::Operation *anchor, const KernelClass &klass, const Target &target);

// The same of class block_contract.
mlir::FailureOr<Grid> emitBlockContract(mlir::func::FuncOp kernel, const Schedule &schedule, llvm::StringRef name,
                                        unsigned symbolCount, const Target &target, mlir::ModuleOp loops);

} // namespace fathom
