// How PolyDL (Tavarageri et al.: PolyDL: Polyhedral Optimizations for Creation of High-performance DL Primitives) ranks
// variants of loops: a baseline for studies (bench/tune/polydl.py), which nothing else uses.
#pragma once

#include "compiler/analysis/LoopTree.h"
#include <array>

namespace fathom {

// The bytes that are touched between two uses of the same data, for each reuse: of a tensor that another iteration of a
// loop touches again, what an iteration touches; of one that several parts of a body touch, what the body touches.
std::vector<double> workingSets(const LoopTree &tree, int64_t line);

// The sums of those that fit the first cache, the second, and so on, the smallest first, each into the first cache that
// has room for it; what fits none is in memory, the last one.
constexpr size_t workingSetLevels = 4;
using WorkingSetsByLevel = std::array<double, workingSetLevels>;
WorkingSetsByLevel placed(std::vector<double> sets, llvm::ArrayRef<double> caches);

} // namespace fathom
