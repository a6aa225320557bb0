// bf16 in f32 and by integers, for all machines but those with AArch64's instructions for it.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

// Rewrites arithmetic on bf16 to arithmetic on f32, and conversions and selections to integers. x86-64 has no
// arithmetic on bf16, AVX512-BF16's conversions take denormals for zeros, unlike all other machines', and LLVM 22
// computes one lane at a time without them, and fails on some shuffles and odd vectors with them. On AArch64 without
// its instructions, LLVM rounds vectors that lie half-way to the odd neighbour.
llvm::LogicalResult expandBf16(mlir::ModuleOp loops);

} // namespace fathom
