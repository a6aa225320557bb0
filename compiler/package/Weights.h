// Brings constants into the layout that kernels read, natively and piece by piece, straight into the output file.
#pragma once

#include "compiler/package/MemoryPlan.h"
#include "llvm/Support/Error.h"

namespace fathom {

// Writes the weight's bytes to `out`, which is zeroed and has weight.bytes bytes.
void writeWeight(const Weight &weight, llvm::MutableArrayRef<char> out);

// The same in pieces, each with the bytes that lie before it, so that no second copy of a large weight is in memory.
// What is not written is zero.
llvm::Error writeWeight(const Weight &weight,
                        llvm::function_ref<llvm::Error(llvm::ArrayRef<char> bytes, int64_t before)> write);

} // namespace fathom
