// Code of loops: indices of flat positions, and vectors along a range.
#pragma once

#include "compiler/codegen/common/Emitter.h"
#include "compiler/kernel/LoopSpace.h"

namespace fathom {

// Sets the indices that a flat position in the loops stands for.
void delinearize(Code &c, mlir::Value position, llvm::ArrayRef<Loop> loops, Indices &index);

// for i in [lower, upper): vectors of `wide`, then of `narrow` lanes, then single elements.
void vectorLoop(Code &c, mlir::Value lower, mlir::Value upper, int64_t wide, int64_t narrow,
                llvm::function_ref<void(mlir::Value, int64_t lanes)> body);
// The same for all these widths in turn, of which the last is 1.
void vectorLoop(Code &c, mlir::Value lower, mlir::Value upper, llvm::ArrayRef<int64_t> widths,
                llvm::function_ref<void(mlir::Value, int64_t lanes)> body);

} // namespace fathom
