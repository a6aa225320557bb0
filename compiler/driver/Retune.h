// Gives a program's kernels schedules that tuning finds, or that a database knows, and plans it anew with these.
#pragma once

#include "compiler/driver/Compilation.h"

namespace fathom {

// Whether there may be any: not where a plan says all, nor where constants are computed for this machine.
bool mayRetune(const CompileOptions &options);

// What tuning writes to; a problem is a warning, and then nothing is kept.
std::unique_ptr<tune::ScheduleDatabase> openToKeep(const CompileOptions &options, mlir::Location loc);

// Makes an artifact of the graph with a plan.
using BuildArtifact = llvm::function_ref<llvm::LogicalResult(const Plan &plan, llvm::StringRef path)>;

// `module` is planned; `graph` is it as it was before, and is used up. `plan` plans the module as the context says.
llvm::LogicalResult retune(mlir::ModuleOp module, mlir::ModuleOp graph, const CompileOptions &options,
                           Compilation &compilation, llvm::function_ref<llvm::LogicalResult()> plan,
                           BuildArtifact build, CompileReport &report);

} // namespace fathom
