// Names of symbols in objects.
#pragma once

#include "compiler/package/Artifact.h"

namespace fathom {

// The same object with this before the name of every symbol that it defines or refers to: what several objects call by
// one name, as functions that LLVM calls of itself, then goes by several.
llvm::Expected<Object> prefixSymbols(const Object &object, llvm::StringRef prefix);

} // namespace fathom
