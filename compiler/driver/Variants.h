// One artifact with code for several CPUs.
#pragma once

#include "compiler/driver/Compilation.h"

namespace fathom {

// What plans a module's kernels for the target of the options.
using PlanModule = llvm::function_ref<mlir::FailureOr<std::unique_ptr<Compilation>>(
    mlir::ModuleOp module, const CompileOptions &options, CompileReport &report)>;

// Compiles an imported module for all variants of the options. Each has its own kernels, plan of memory and manifest;
// weights that are packed alike are stored once.
llvm::LogicalResult compileVariants(mlir::ModuleOp module, const CompileOptions &options, llvm::StringRef path,
                                    CompileReport &report, PlanModule plan);

} // namespace fathom
