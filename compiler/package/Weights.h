// Brings constants into the layout that kernels read, natively and piece by piece, straight into the output file.
#pragma once

#include "compiler/package/MemoryPlan.h"

namespace fathom {

// Writes the weight's bytes to `out`, which is zeroed and has weight.bytes bytes.
void writeWeight(const Weight &weight, llvm::MutableArrayRef<char> out);

} // namespace fathom
