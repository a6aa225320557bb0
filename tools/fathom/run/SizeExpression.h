// Numbers of a manifest that depend on symbolic dimensions.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace fathom {

using Sizes = llvm::StringMap<int64_t>; // of symbolic dimensions by name

// A number, or an expression in prefix form such as ["*", 2, "batch"]. Nothing where a size is not known.
std::optional<double> evaluate(const llvm::json::Value *value, const Sizes &sizes);

} // namespace fathom
