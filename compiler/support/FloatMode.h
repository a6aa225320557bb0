// How far results may differ from those of exact arithmetic: the values of --fp, from the narrowest to the widest. Each
// has what the one before has. What they promise is in docs/dev/numerics.md.
#pragma once

#include "llvm/ADT/StringSwitch.h"

namespace fathom {

enum class FloatMode {
  Strict,  // math functions within 1 ulp, convolutions and products by their definition
  Fast,    // every element keeps a bound of its own: math functions within 4 ulp, Winograd's method
  Fastest, // errors may be as large as those of neighbouring rows: Strassen's method
};

// One of the words of --fp, which the table of options lists.
inline FloatMode parseFloatMode(llvm::StringRef word) {
  return llvm::StringSwitch<FloatMode>(word)
      .Case("strict", FloatMode::Strict)
      .Case("fastest", FloatMode::Fastest)
      .Default(FloatMode::Fast);
}

inline llvm::StringRef name(FloatMode mode) {
  return mode == FloatMode::Strict ? "strict" : mode == FloatMode::Fast ? "fast" : "fastest";
}

} // namespace fathom
