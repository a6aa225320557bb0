// Attributes of inline assembly that is a loop: what its text says to an assembler alone.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace fathom {

// The operands end with an address for each stream and a count: the iterations without the last.
namespace assembly_loop {
constexpr llvm::StringLiteral streams = "streams"; // how many bytes each address moves in an iteration
constexpr llvm::StringLiteral loads = "loads";     // of vectors: stream and bytes behind its address, one after another
constexpr int64_t loadBytes = 16;                  // of each
} // namespace assembly_loop

} // namespace fathom
