// The classes of kernels on a CPU: which one an op gets, and what emits it.
#pragma once

#include "compiler/codegen/common/ClassEmitters.h"

namespace fathom {

llvm::ArrayRef<const KernelClass *> cpuKernelClasses();
// Null of what is computed on demand: a map.
const KernelClass *cpuClassOf(mlir::Operation *anchor);
// Its anchor's, or without one a map, or one that changes the order of elements.
const KernelClass *cpuClassOf(mlir::func::FuncOp kernel);

ClassEmitter emitterOf(const KernelClass &klass);

} // namespace fathom
