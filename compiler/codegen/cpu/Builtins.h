// Functions that LLVM may call though nobody wrote them.
#pragma once

#include "compiler/target/Target.h"
#include "llvm/IR/Module.h"

namespace fathom {

// memcpy, memset and the like, and conversions of 16-bit floats.
std::unique_ptr<llvm::Module> createBuiltins(llvm::LLVMContext &context, const Target &target);

} // namespace fathom
