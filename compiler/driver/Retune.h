// Gives a program's kernels schedules that tuning finds, or that a database knows, and plans it anew with these.
#pragma once

#include "compiler/driver/Compilation.h"

namespace fathom {

// Whether there may be any: not where a plan says all, nor where constants are computed for this machine.
bool mayRetune(const CompileOptions &options);

// `module` is planned; `graph` is it as it was before, and is used up. `plan` plans the module as the context says.
llvm::LogicalResult retune(mlir::ModuleOp module, mlir::ModuleOp graph, const CompileOptions &options,
                           Compilation &compilation, llvm::function_ref<llvm::LogicalResult()> plan,
                           CompileReport &report);

} // namespace fathom
