// Kernels whose elements depend on each other or on data in ways that no tile can share, one emitter per family.
#pragma once

#include "compiler/codegen/cpu/Kernels.h"

namespace fathom {

Grid emitCumSum(KernelBody &k);
Grid emitScatterElements(KernelBody &k);
Grid emitScatterND(KernelBody &k);
Grid emitTopK(KernelBody &k);
Grid emitConvTranspose(KernelBody &k);
Grid emitNonZero(KernelBody &k);
Grid emitNonMaxSuppression(KernelBody &k);
Grid emitTensorScatter(KernelBody &k);
Grid emitMatMulNBits(KernelBody &k);

// Runs `body` once for every element of `loops`, split into tasks of the schedule's grain; `index` has the given rank.
Grid overElements(KernelBody &k, llvm::ArrayRef<Loop> loops, int64_t rank,
                  llvm::function_ref<void(Indices &index)> body);

// x + y for elements of a type; 16-bit floats in single precision.
mlir::Value addElements(Code &c, mlir::Type element, mlir::Value x, mlir::Value y);

} // namespace fathom
