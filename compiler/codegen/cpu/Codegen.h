// From a kernel (a function of graph ops) with its schedule to loops, LLVM IR and an object file.
#pragma once

#include "compiler/codegen/common/KernelBody.h"
#include "compiler/codegen/common/LowerLoops.h"
#include "compiler/kernel/Backend.h"

namespace fathom {

// Emits into `loops` (a module) the kernel's function `name` and its task entry `name.task`; null tasks on an error,
// which was reported. The argument block of a task holds the pointers of the kernel's arguments, then of its results,
// then the values of the symbols.
mlir::FailureOr<Grid> emitKernel(mlir::func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                                 llvm::StringRef name, unsigned symbolCount, const CodegenOptions &options,
                                 mlir::ModuleOp loops);

// Lowers loop-level code to LLVM's IR and optimises it.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp loops, llvm::LLVMContext &context,
                                          const CodegenOptions &options);
// Makes the functions' code that of the machine, whatever they were for.
void setTarget(llvm::Module &module, const Target &target);
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace fathom
