// What an artifact says of itself: versions, flags, target, sizes, kernels.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/package/MemoryPlan.h"

namespace fathom {

inline constexpr llvm::StringLiteral compilerVersion = "0.1.0";

// JSON; of devices with the size of the kernels' programs.
std::string printManifest(const Program &program, const MemoryPlan &memory, const CompileOptions &options,
                          llvm::ArrayRef<std::string> programs);

} // namespace fathom
