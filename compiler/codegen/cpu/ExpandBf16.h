// bf16 on x86-64, in f32 and by integers.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

// Rewrites arithmetic on bf16 to arithmetic on f32, and conversions and selections to integers. There is no arithmetic
// on bf16 there, AVX512-BF16's conversions take denormals for zeros, unlike all other machines', and LLVM 22 computes
// one lane at a time without them, and fails on some shuffles and odd vectors with them.
llvm::LogicalResult expandBf16(mlir::ModuleOp loops);

} // namespace fathom
