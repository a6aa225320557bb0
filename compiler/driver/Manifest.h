// What an artifact says of itself: versions, flags, target, sizes, kernels.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/package/MemoryPlan.h"

namespace fathom {

inline constexpr llvm::StringLiteral compilerVersion = "0.1.0";

llvm::json::Object describeArtifact(const Program &program, const MemoryPlan &memory, const CompileOptions &options);

} // namespace fathom
