// The estimates of kernels by their own code, as text.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/plan/Program.h"

namespace fathom {

// Of all kernels, or of those that CompileOptions::kernel names, to CompileOptions::text. The report gets what the
// steps took, of all threads together.
llvm::LogicalResult emitCosts(const Program &program, const CompileOptions &options, CompileReport &report);

} // namespace fathom
