// What an artifact says of itself: versions, flags, target, sizes, kernels.
#pragma once

#include "compiler/driver/Compile.h"
#include "compiler/package/Artifact.h"

namespace fathom {

inline constexpr llvm::StringLiteral compilerVersion = "0.1.0";

// JSON, also of what the artifact has beside it: programs of devices, code for other CPUs.
std::string printManifest(const Program &program, const MemoryPlan &memory, const CompileOptions &options,
                          const ArtifactInfo &info);

} // namespace fathom
