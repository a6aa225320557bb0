// Threads with a stack of a known size. The compiler may be called from a thread that has little (other languages'
// threads, a small `ulimit -s`), and LLVM, MLIR and size expressions recurse.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstddef>

namespace fathom {

// Runs the function on such a thread and waits for it; in place where this is one already.
void onLargeStack(llvm::function_ref<void()> body);

// Calls the function for all numbers below `count`, in no order, on so many such threads; 0: as many as there are CPUs.
void onLargeStacks(unsigned threads, size_t count, llvm::function_ref<void(size_t)> body);

} // namespace fathom
